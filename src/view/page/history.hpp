// History: what one node's tiers and pods used over the last half hour, in a few KiB.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/clock.hpp"

namespace koord::json {
class Writer;
}

namespace koord::view {

inline constexpr std::array<std::string_view, 6> kTiers = {"koord-prod", "koord-mid", "koord-batch",
                                                           "koord-free", "none",      "system"};
/// The place of a tier among them; what is none of them counts as "none".
std::size_t tier_index(std::string_view name);

/// What was used at a time.
struct Usage {
  std::array<double, kTiers.size()> cpu{}, memory{};  // cores, bytes
  double lent_cpu = 0;                                // cores
};
struct PodUsage {
  std::string name;  // namespace/name
  std::size_t tier = 0;
  double cpu = 0;  // cores
};

/// Amounts are kept in hundredths of a core, up to 655, and in 64 MiB, up to 4 TiB. Bounded whatever it is
/// told: samples by number (where they come faster every second one is forgotten once it is full), pods to
/// those that use most.
class History {
 public:
  static constexpr std::size_t kSamples = 64, kPods = 16, kLongestName = 320;
  static constexpr std::chrono::minutes kWindow{30};

  /// A time that is not after the last one says nothing.
  void add(MonoTime at, const Usage& usage, std::span<const PodUsage> pods);

  std::size_t size() const { return samples_.size(); }
  std::size_t pods() const { return pods_.size(); }
  /// Members of the open object: "seconds" (before `now`, the oldest first), "cpu" and "memory" by tier,
  /// "lent", "pods".
  void write(json::Writer& json, MonoTime now) const;

 private:
  struct Sample {
    MonoTime at;
    std::array<std::uint16_t, kTiers.size()> cpu, memory;
    std::uint16_t lent;
  };
  struct Track {
    std::string name;
    std::uint8_t tier = 0;
    std::vector<std::uint16_t> cpu;  // beside samples_
  };
  void erase_old(MonoTime at);
  void thin();
  void take_pods(std::span<const PodUsage> pods);

  std::vector<Sample> samples_;
  std::vector<Track> pods_;
  nanoseconds gap_{0};  // two samples are as far apart, but for the newest
};

}  // namespace koord::view
