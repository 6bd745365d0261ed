// The store: names, rings, appends and aggregates. The checkpoint is in checkpoint.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "framework/series/statistics.hpp"
#include "framework/series/store_impl.hpp"

namespace koord::koordlet {

namespace {

constexpr double kCpuBase = 1e-3;            // a thousandth of a CPU
constexpr double kMemoryBase = 1024 * 1024;  // a MiB
constexpr double kMilliBase = 1;
constexpr double kRatioBase = 1e-3;

struct Row {
  Metric metric;
  std::string_view name;
  bool node_level;
  double base;  // of its digests
};
// In the order of the enum. The names are those of checkpoints: they stay.
constexpr std::array<Row, kMetrics> kRows = {{
    {Metric::node_cpu, "node_cpu", true, kCpuBase},
    {Metric::node_memory, "node_memory", true, kMemoryBase},
    {Metric::node_memory_with_page_cache, "node_memory_with_page_cache", true, kMemoryBase},
    {Metric::node_numa_cpu, "node_numa_cpu", true, kCpuBase},
    {Metric::node_numa_memory, "node_numa_memory", true, kMemoryBase},
    {Metric::system_cpu, "system_cpu", true, kCpuBase},
    {Metric::system_memory, "system_memory", true, kMemoryBase},
    {Metric::system_numa_cpu, "system_numa_cpu", true, kCpuBase},
    {Metric::system_numa_memory, "system_numa_memory", true, kMemoryBase},
    {Metric::pod_cpu, "pod_cpu", false, kCpuBase},
    {Metric::pod_memory, "pod_memory", false, kMemoryBase},
    {Metric::pod_memory_with_page_cache, "pod_memory_with_page_cache", false, kMemoryBase},
    {Metric::pod_throttled, "pod_throttled", false, kRatioBase},
    {Metric::container_cpu, "container_cpu", false, kCpuBase},
    {Metric::container_memory, "container_memory", false, kMemoryBase},
    {Metric::container_memory_with_page_cache, "container_memory_with_page_cache", false, kMemoryBase},
    {Metric::container_throttled, "container_throttled", false, kRatioBase},
    {Metric::host_application_cpu, "host_application_cpu", false, kCpuBase},
    {Metric::host_application_memory, "host_application_memory", false, kMemoryBase},
    {Metric::host_application_memory_with_page_cache, "host_application_memory_with_page_cache", false,
     kMemoryBase},
    {Metric::be_cpu_usage, "be_cpu_usage", true, kMilliBase},
    {Metric::be_cpu_request, "be_cpu_request", true, kMilliBase},
    {Metric::be_cpu_real_limit, "be_cpu_real_limit", true, kMilliBase},
    {Metric::node_memory_with_hot_pages, "node_memory_with_hot_pages", true, kMemoryBase},
    {Metric::pod_memory_with_hot_pages, "pod_memory_with_hot_pages", false, kMemoryBase},
    {Metric::host_application_memory_with_hot_pages, "host_application_memory_with_hot_pages", false,
     kMemoryBase},
    {Metric::node_gpu_core, "node_gpu_core", true, kMilliBase},
    {Metric::node_gpu_memory, "node_gpu_memory", true, kMemoryBase},
    {Metric::pod_gpu_core, "pod_gpu_core", false, kMilliBase},
    {Metric::pod_gpu_memory, "pod_gpu_memory", false, kMemoryBase},
}};

const Row& row(Metric metric) { return kRows[static_cast<std::size_t>(metric)]; }

Error no_series() { return Error(Code::not_found, "no such series"); }
Error no_sample() { return Error(Code::not_found, "no sample in the window"); }

}  // namespace

std::string_view name(Metric metric) { return row(metric).name; }
std::string gpu_entity(std::string_view uuid, std::string_view pod_uid) {
  return pod_uid.empty() ? std::string(uuid) : fmt::format("{}/{}", pod_uid, uuid);
}
bool is_node_level(Metric metric) { return row(metric).node_level; }

std::optional<Metric> metric_of_name(std::string_view name) {
  for (const Row& r : kRows)
    if (r.name == name) return r.metric;
  return std::nullopt;
}

SeriesStore::Impl::Impl(Limits l)
    : limits(l),
      // One more for the tick at the window's edge, one for jitter.
      capacity(static_cast<std::size_t>(l.window / l.period) + 2),
      ticks(capacity, l.period) {
  scratch_.reserve(capacity);
}

float* SeriesStore::Impl::new_ring() {
  if (rings_of_last_slab_ == kRingsOfSlab) {
    // Large enough to be pages of its own: what no sample has reached takes no memory.
    slabs_.push_back(std::make_unique_for_overwrite<float[]>(kRingsOfSlab * capacity));
    rings_of_last_slab_ = 0;
  }
  return slabs_.back().get() + capacity * rings_of_last_slab_++;
}

Result<SeriesId> SeriesStore::Impl::open(Metric metric, std::string_view entity, bool claim) {
  const auto it = by_name_.find(Key{metric, entity});
  if (it != by_name_.end()) {
    slots[it->second].claimed |= claim;
    return SeriesId{it->second, slots[it->second].generation};
  }
  if (entity.size() > kMaxEntity) return Error(Code::too_large, "the name of a series is too long");
  if (size >= limits.max_series)
    return Error(Code::too_large, fmt::format("more than {} series", limits.max_series));
  std::uint32_t index = 0;
  if (free.empty()) {
    index = static_cast<std::uint32_t>(slots.size());
    slots.emplace_back().ring = new_ring();
  } else {
    index = free.back();
    free.pop_back();
  }
  Slot& slot = slots[index];
  slot.metric = metric;
  slot.entity = entity;
  slot.open = true;
  slot.claimed = claim;
  slot.empty = true;
  if (row(metric).node_level && limits.digest_window > limits.window)
    slot.digests = std::make_unique<DigestRing>(
        static_cast<std::size_t>(limits.digest_window / kDigestStep) + 1, row(metric).base);
  by_name_.emplace(Key{metric, slot.entity}, index);
  ++size;
  return SeriesId{index, slot.generation};
}

SeriesId SeriesStore::Impl::find(Metric metric, std::string_view entity) const {
  const auto it = by_name_.find(Key{metric, entity});
  return it == by_name_.end() ? SeriesId{} : SeriesId{it->second, slots[it->second].generation};
}

const SeriesStore::Impl::Slot* SeriesStore::Impl::slot(SeriesId id) const {
  if (!id || id.index >= slots.size()) return nullptr;
  const Slot& slot = slots[id.index];
  return slot.open && slot.generation == id.generation ? &slot : nullptr;
}

void SeriesStore::Impl::close(SeriesId id) {
  if (slot(id)) close(id.index);
}

void SeriesStore::Impl::close(std::uint32_t index) {
  Slot& slot = slots[index];
  by_name_.erase(Key{slot.metric, slot.entity});
  slot.open = false;
  slot.digests.reset();
  if (++slot.generation == 0) slot.generation = 1;
  free.push_back(index);
  --size;
}

void SeriesStore::Impl::clear() {
  for (std::uint32_t i = 0; i < slots.size(); ++i)
    if (slots[i].open) close(i);
  ticks.clear();
}

void SeriesStore::Impl::append(Slot& slot, MonoTime at, float value) {
  std::uint32_t tick = 0;
  if (std::isnan(value) || !ticks.tick_at(at, tick)) return;
  if (!slot.empty && tick == slot.last) {  // the same tick again: a digest has it already
    slot.ring[tick % capacity] = value;
    return;
  }
  put(slot, tick, value);
  if (slot.digests) slot.digests->add(at, value);
}

void SeriesStore::Impl::put(Slot& slot, std::uint32_t tick, float value) {
  if (slot.empty || tick - slot.last >= capacity) {
    slot.empty = false;
    slot.first = tick;
  } else {
    for (std::uint32_t missed = slot.last + 1; missed < tick; ++missed)
      slot.ring[missed % capacity] = std::numeric_limits<float>::quiet_NaN();
  }
  slot.last = tick;
  slot.ring[tick % capacity] = value;
}

Result<Aggregate> SeriesStore::Impl::aggregate_ring(const Slot& slot, MonoTime now,
                                                    nanoseconds window) const {
  if (slot.empty) return no_sample();
  scratch_.clear();
  const std::uint32_t begin = std::max(first_kept(slot), ticks.first_after(now - window));
  std::uint32_t end = std::min(slot.last + 1, ticks.first_after(now));
  std::uint32_t first = end;
  std::uint32_t last = begin;
  for (std::uint32_t tick = begin; tick < end; ++tick) {
    const float value = at(slot, tick);
    if (std::isnan(value)) continue;
    if (scratch_.empty()) first = tick;
    last = tick;
    scratch_.push_back(value);
  }
  if (scratch_.empty()) return no_sample();
  Aggregate out = aggregate_of(scratch_);
  out.last = static_cast<double>(at(slot, last));
  out.span = ticks.at(last) - ticks.at(first);
  return out;
}

Result<Aggregate> SeriesStore::Impl::aggregate_digests(const Slot& slot, MonoTime now,
                                                       nanoseconds window) const {
  DigestSum sum(slot.digests->base());
  MonoTime first = MonoTime::max();
  MonoTime last = MonoTime::min();
  slot.digests->each(now - window, now, [&](const Digest& digest) {
    sum.add(digest);
    first = std::min(first, DigestRing::start_of(digest.minute));
    last = std::max(last, DigestRing::start_of(digest.minute) + kDigestStep);
  });
  if (sum.empty()) return no_sample();
  Aggregate out = sum.aggregate();
  out.span = std::min(last, now) - std::max(first, now - window);
  const auto recent = aggregate_ring(slot, now, limits.window);
  out.last = recent ? recent->last : out.avg;
  return out;
}

Result<Aggregate> SeriesStore::Impl::aggregate(const Slot& slot, MonoTime now, nanoseconds window) const {
  if (window > nanoseconds(0) && window <= limits.window) return aggregate_ring(slot, now, window);
  if (window > nanoseconds(0) && slot.digests && window <= limits.digest_window)
    return aggregate_digests(slot, now, window);
  const auto kept =
      std::chrono::duration_cast<std::chrono::seconds>(slot.digests ? limits.digest_window : limits.window);
  return Error(Code::invalid, fmt::format("a window of {}s is not kept: {} goes back {}s",
                                          std::chrono::duration_cast<std::chrono::seconds>(window).count(),
                                          row(slot.metric).name, kept.count()));
}

std::size_t SeriesStore::Impl::bytes() const {
  std::size_t bytes = slabs_.size() * kRingsOfSlab * capacity * sizeof(float) + capacity * sizeof(MonoTime);
  for (const Slot& slot : slots)
    if (slot.digests) bytes += slot.digests->bytes();
  return bytes;
}

SeriesStore::SeriesStore(Limits limits) : impl_(std::make_unique<Impl>(limits)) {}
SeriesStore::~SeriesStore() = default;

Result<SeriesId> SeriesStore::open(Metric metric, std::string_view entity) {
  return impl_->open(metric, entity, true);
}
SeriesId SeriesStore::find(Metric metric, std::string_view entity) const {
  return impl_->find(metric, entity);
}
void SeriesStore::close(SeriesId id) { impl_->close(id); }

void SeriesStore::append(SeriesId id, MonoTime at, double value) {
  if (Impl::Slot* const slot = impl_->slot(id)) impl_->append(*slot, at, static_cast<float>(value));
}

Result<Aggregate> SeriesStore::aggregate(SeriesId id, MonoTime now, nanoseconds window) const {
  const Impl::Slot* const slot = std::as_const(*impl_).slot(id);
  if (!slot) return no_series();
  return impl_->aggregate(*slot, now, window);
}

Result<Aggregate> SeriesStore::aggregate(Metric metric, std::string_view entity, MonoTime now,
                                         nanoseconds window) const {
  return aggregate(find(metric, entity), now, window);
}

std::size_t SeriesStore::size() const { return impl_->size; }
std::size_t SeriesStore::bytes() const { return impl_->bytes(); }

void SeriesStore::close_unclaimed() {
  for (std::uint32_t i = 0; i < impl_->slots.size(); ++i)
    if (impl_->slots[i].open && !impl_->slots[i].claimed) impl_->close(i);
}

}  // namespace koord::koordlet
