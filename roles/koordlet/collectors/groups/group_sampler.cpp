// Reading a cgroup's statistics, tick by tick.
#include "collectors/groups/group_sampler.hpp"

#include <algorithm>

#include "framework/sampler/sampler.hpp"

namespace koord::koordlet {

GroupSampler::GroupSampler(const CollectorContext& context)
    : context_(context), version_(context.cgroups.version()), series_(context.series) {}

void GroupSampler::open(GroupState& state, const GroupMetrics& metrics, std::string_view entity) {
  state.cpu_series = context_.open(metrics.cpu, entity);
  state.memory_series = context_.open(metrics.memory, entity);
  if (context_.config.page_cache)
    state.page_cache_series = context_.open(metrics.memory_with_page_cache, entity);
  if (metrics.throttled) state.throttled_series = context_.open(*metrics.throttled, entity);
}

void GroupSampler::moved(GroupState& state) {
  for (Fd* fd : {&state.cpu_usage, &state.cpu_stat, &state.memory_stat}) {
    context_.reader.released(*fd);
    fd->reset();
  }
  forget(state);
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
  if (version_ == host::CgroupVersion::v1 &&
      context_.read(state.cpu_usage, host::Knob::cpu_usage, group, text)) {
    state.present = true;
    if (const auto usage = host::parse_counter(text))
      used = state.used.next(*usage, at, context_.config.max_age());
    else
      context_.garbled(host::Knob::cpu_usage, group, usage.error());
  }
  // On v2 this file has both.
  if (context_.read(state.cpu_stat, host::Knob::cpu_stat, group, text)) {
    state.present = true;
    if (const auto stat = host::parse_cpu_stat(text, version_)) {
      if (version_ == host::CgroupVersion::v2)
        used = state.used.next(stat->usage_ns, at, context_.config.max_age());
      sample_throttling(state, *stat, at);
    } else {
      context_.garbled(host::Knob::cpu_stat, group, stat.error());
    }
  }
  if (used) state.now.cpu = used.amount / static_cast<double>(used.over.count());
}

void GroupSampler::sample_throttling(GroupState& state, const host::CpuStat& stat, MonoTime at) {
  const auto periods = state.periods.next(stat.periods, at, context_.config.max_age());
  const auto throttled = state.throttled_periods.next(stat.throttled_periods, at, context_.config.max_age());
  if (!periods || !throttled) return;
  if (periods.amount > 0) state.now.throttled = std::min(1.0, throttled.amount / periods.amount);
  // Without a period, which is without a quota, nothing was throttled: the original keeps a 0.
  series_.append(state.throttled_series, at, known(state.now.throttled) ? state.now.throttled : 0);
}

void GroupSampler::sample_memory(GroupState& state, std::string_view group) {
  std::string_view text;
  if (!context_.read(state.memory_stat, host::Knob::memory_stat, group, text)) return;
  state.present = true;
  const auto stat = host::parse_memory_stat(text, version_);
  if (!stat) {
    context_.garbled(host::Knob::memory_stat, group, stat.error());
    return;
  }
  state.now.memory = static_cast<double>(stat->used());
  state.now.memory_with_page_cache = static_cast<double>(stat->used_with_page_cache());
}

}  // namespace koord::koordlet
