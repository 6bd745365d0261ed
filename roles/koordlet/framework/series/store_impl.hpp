// What a SeriesStore is made of: slots with rings of one size, names to find them by.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "framework/series/digest.hpp"
#include "framework/series/series.hpp"
#include "framework/series/tick_times.hpp"

namespace koord::koordlet {

/// The metric of a name that name() gives; nothing for an unknown one.
std::optional<Metric> metric_of_name(std::string_view name);

class SeriesStore::Impl {
 public:
  static constexpr std::size_t kMaxEntity = 512;  // bytes of a name

  struct Slot {
    Metric metric = Metric::node_cpu;
    std::string entity;
    std::uint32_t generation = 1;
    bool open = false;
    bool claimed = false;  // opened, not just restored
    /// The ticks of the first and the last sample; meaningless while empty.
    bool empty = true;
    std::uint32_t first = 0, last = 0;
    float* ring = nullptr;
    std::unique_ptr<DigestRing> digests;  // node-level series only
  };

  explicit Impl(Limits limits);

  Result<SeriesId> open(Metric metric, std::string_view entity, bool claim);
  SeriesId find(Metric metric, std::string_view entity) const;
  void close(SeriesId id);
  void close(std::uint32_t index);
  const Slot* slot(SeriesId id) const;
  Slot* slot(SeriesId id) { return const_cast<Slot*>(std::as_const(*this).slot(id)); }
  void append(Slot& slot, MonoTime at, float value);
  void put(Slot& slot, std::uint32_t tick, float value);
  Result<Aggregate> aggregate(const Slot& slot, MonoTime now, nanoseconds window) const;
  void clear();

  /// The ticks of a slot that the ring still has: [first, last].
  std::uint32_t first_kept(const Slot& slot) const { return std::max(slot.first, ticks.oldest()); }
  float at(const Slot& slot, std::uint32_t tick) const { return slot.ring[tick % capacity]; }

  Limits limits;
  std::size_t capacity;  // samples of a ring
  TickTimes ticks;
  std::deque<Slot> slots;  // references into it stay good
  std::size_t size = 0;
  std::vector<std::uint32_t> free;

  std::size_t bytes() const;

 private:
  struct Key {
    Metric metric;
    std::string_view entity;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct HashKey {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::string_view>{}(key.entity) * kMetrics + static_cast<std::size_t>(key.metric);
    }
  };
  Result<Aggregate> aggregate_ring(const Slot& slot, MonoTime now, nanoseconds window) const;
  Result<Aggregate> aggregate_digests(const Slot& slot, MonoTime now, nanoseconds window) const;
  float* new_ring();

  static constexpr std::size_t kRingsOfSlab = 64;
  std::vector<std::unique_ptr<float[]>> slabs_;
  std::size_t rings_of_last_slab_ = kRingsOfSlab;
  std::unordered_map<Key, std::uint32_t, HashKey> by_name_;
  mutable std::vector<float> scratch_;
};

}  // namespace koord::koordlet
