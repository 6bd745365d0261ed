// Reading a cgroup's statistics, tick by tick.
#include "collectors/groups/group_sampler.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "framework/sampler/sampler.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

/// memory.numa_stat is longer with each node.
constexpr std::size_t kFewNodes = 2;

}  // namespace

GroupSampler::GroupSampler(const CollectorContext& context)
    : context_(context),
      version_(context.cgroups.version()),
      series_(context.series),
      short_lists_(has_short_lists()) {}

bool GroupSampler::has_short_lists() const {
  std::string_view text;
  if (version_ == host::CgroupVersion::v2 ||
      context_.reader.read_once(host::Knob::memory_numa_stat, "", text) != Outcome::good)
    return false;
  std::vector<std::uint64_t> nodes;
  return host::parse_numa_use(text, context_.config.page_size) &&
         host::parse_numa_stat(text, version_, context_.config.page_size, nodes) && nodes.size() <= kFewNodes;
}

void GroupSampler::start_tick() { quotas_.take(); }

void GroupSampler::open(GroupState& state, const GroupMetrics& metrics, std::string_view entity) {
  state.cpu_series = context_.open(metrics.cpu, entity);
  state.memory_series = context_.open(metrics.memory, entity);
  if (context_.config.page_cache)
    state.page_cache_series = context_.open(metrics.memory_with_page_cache, entity);
  if (metrics.throttled) state.throttled_series = context_.open(*metrics.throttled, entity);
}

void GroupSampler::moved(GroupState& state) {
  for (Fd* fd : {&state.cpu_usage, &state.cpu_stat, &state.memory}) {
    context_.reader.released(*fd);
    fd->reset();
  }
  unwatch(state);
  forget(state);
}

void GroupSampler::unwatch(GroupState& state) {
  if (state.quota == GroupState::Quota::unwatched) return;
  state.quota = GroupState::Quota::unwatched;
  quotas_.forget(std::exchange(state.quota_watch, WriteWatch::kNone));
}

void GroupSampler::forget(GroupState& state) {
  state.used.forget();
  state.periods.forget();
  state.throttled_periods.forget();
  state.last_cpu = state.last_memory = kUnknown;
}

void GroupSampler::close(GroupState& state) {
  moved(state);
  for (const SeriesId id :
       {state.cpu_series, state.memory_series, state.page_cache_series, state.throttled_series})
    series_.close(id);
  state = GroupState{};
}

void GroupSampler::sample(GroupState& state, std::string_view group, MonoTime at) {
  state.now = Usage{};
  state.present = false;
  state.complete = true;
  if (state.readable) {
    sample_cpu(state, group, at);
    sample_memory(state, group);
  }
  if (!state.present) {  // gone: it uses nothing, and one of the same name begins anew
    unwatch(state);
    forget(state);
    return;
  }
  state.complete = known(state.now.cpu) && known(state.now.memory);
  if (known(state.now.cpu)) {
    state.last_cpu = state.now.cpu;
    state.last_cpu_at = at;
    series_.append(state.cpu_series, at, state.now.cpu);
  }
  if (known(state.now.memory)) {
    state.last_memory = state.now.memory;
    state.last_memory_at = at;
    series_.append(state.memory_series, at, state.now.memory);
    series_.append(state.page_cache_series, at, state.now.memory_with_page_cache);
  }
}

void GroupSampler::sample_cpu(GroupState& state, std::string_view group, MonoTime at) {
  std::string_view text;
  Rate::Change used;
  const std::uint64_t opens = context_.reader.stats().opens;
  if (version_ == host::CgroupVersion::v1 &&
      context_.read(state.cpu_usage, host::Knob::cpu_usage, group, text)) {
    state.present = true;
    if (const auto usage = host::parse_counter(text))
      used = state.used.next(*usage, at, context_.config.max_age());
    else
      context_.garbled(host::Knob::cpu_usage, group, usage.error());
  }
  // Another group of that name, or none.
  if (!state.present || context_.reader.stats().opens != opens) unwatch(state);
  if (state.present && !has_quota(state, group))
    sample_throttling(state, state.counts, at);
  else if (const auto stat = read_cpu_stat(state, group)) {
    if (version_ == host::CgroupVersion::v2)
      used = state.used.next(stat->usage_ns, at, context_.config.max_age());
    sample_throttling(state, *stat, at);
  }
  if (used) state.now.cpu = used.amount / static_cast<double>(used.over.count());
}

std::optional<host::CpuStat> GroupSampler::read_cpu_stat(GroupState& state, std::string_view group) {
  using Quota = GroupState::Quota;
  std::string_view text;
  const std::uint64_t opens = context_.reader.stats().opens;
  if (context_.read(state.cpu_stat, host::Knob::cpu_stat, group, text)) {
    state.present = true;
    // It came after the other files: then so may the quota have.
    if (context_.reader.stats().opens != opens && state.quota_watch == WriteWatch::kNone)
      state.quota = Quota::unwatched;
    const auto stat = host::parse_cpu_stat(text, version_);
    if (stat) return state.counts = *stat;
    context_.garbled(host::Knob::cpu_stat, group, stat.error());
  }
  if (state.quota == Quota::none) state.quota = Quota::unknown;
  return std::nullopt;
}

/// Whether cpu.stat has to be read. The order makes it exact: the watch first, then the quota, then once more
/// the counts; who gives the group a quota afterwards is seen.
bool GroupSampler::has_quota(GroupState& state, std::string_view group) {
  using Quota = GroupState::Quota;
  // Of files that are not held it would be asked anew at each tick whether they are the same group's.
  if (version_ == host::CgroupVersion::v2 || !state.cpu_usage) return true;
  if (state.quota_watch != WriteWatch::kNone && quotas_.is_written(state.quota_watch)) unwatch(state);
  if (state.quota == Quota::unwatched) {
    const auto path = context_.cgroups.read_path(host::Knob::cpu_quota, group);
    if (path) state.quota_watch = quotas_.watch(*path);
    state.quota = state.quota_watch == WriteWatch::kNone ? Quota::some : Quota::unknown;
  }
  if (state.quota != Quota::unknown) return state.quota == Quota::some;
  std::string_view text;
  const bool none = context_.reader.read_once(host::Knob::cpu_quota, group, text) == Outcome::good &&
                    host::trimmed(text) == "-1";
  state.quota = none ? Quota::none : Quota::some;
  return true;
}

void GroupSampler::sample_throttling(GroupState& state, const host::CpuStat& stat, MonoTime at) {
  const auto periods = state.periods.next(stat.periods, at, context_.config.max_age());
  const auto throttled = state.throttled_periods.next(stat.throttled_periods, at, context_.config.max_age());
  if (!periods || !throttled) return;
  if (periods.amount > 0) state.now.throttled = std::min(1.0, throttled.amount / periods.amount);
  // Without a period, which is without a quota, nothing was throttled: the original keeps a 0.
  series_.append(state.throttled_series, at, known(state.now.throttled) ? state.now.throttled : 0);
}

bool GroupSampler::read_numa(GroupState& state, std::string_view group, std::string_view& text) const {
  return short_lists_ ? context_.read(state.memory, host::Knob::memory_numa_stat, group, text)
                      : context_.read_once(host::Knob::memory_numa_stat, group, text);
}

void GroupSampler::sample_memory(GroupState& state, std::string_view group) {
  std::string_view text;
  const host::Knob knob = short_lists_ ? host::Knob::memory_numa_stat : host::Knob::memory_stat;
  if (!context_.read(state.memory, knob, group, text)) return;
  state.present = true;
  if (short_lists_) {
    const auto use = host::parse_numa_use(text, context_.config.page_size);
    if (!use) {
      context_.garbled(knob, group, use.error());
      return;
    }
    state.now.memory = static_cast<double>(use->used);
    state.now.memory_with_page_cache = static_cast<double>(use->used_with_page_cache);
    return;
  }
  const auto stat = host::parse_memory_stat(text, version_);
  if (!stat) {
    context_.garbled(host::Knob::memory_stat, group, stat.error());
    return;
  }
  state.now.memory = static_cast<double>(stat->used());
  state.now.memory_with_page_cache = static_cast<double>(stat->used_with_page_cache());
}

}  // namespace koord::koordlet
