// BlameMaps: see blame_maps.hpp.
#include "blame_maps.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "koord/host/cpuset.hpp"
#include "koord/host/file.hpp"
#include "run_queue_latency.h"

namespace koord::host {
namespace {

static_assert(koord_tiers == kCpuTiers && koord_runners == WaitBlame::kRunners &&
              koord_idle == WaitBlame::kIdle && koord_unknown == WaitBlame::kUnknown);
static_assert(koord_tier_best_effort == static_cast<int>(CpuTier::best_effort) &&
              koord_tier_system == static_cast<int>(CpuTier::system));

Error call_error(int errnum) { return errno_error(errnum, "wait blame map"); }

Result<> put(const Fd& map, const void* key, const void* value) {
  if (bpf_map_update_elem(map.get(), key, value, 0) != 0) return call_error(errno);
  return {};
}

}  // namespace

Result<std::unique_ptr<BlameMaps>> BlameMaps::take(const BpfObject& object, const Root& root,
                                                   std::size_t possible) {
  Descriptors held;
  const std::pair<const char*, Fd*> maps[] = {{"tiers", &held.tiers},       {"clocks", &held.clocks},
                                              {"blames", &held.blames},     {"group_blames", &held.groups},
                                              {"settings", &held.settings}, {"losses", &held.losses}};
  for (const auto& [name, place] : maps) {
    KOORD_TRY(map, object.map(name));
    *place = std::move(map);
  }
  std::unique_ptr<BlameMaps> made(new BlameMaps(std::move(held), root, possible));
  const koord_clock clock{.since_and_runner = koord_unknown, .pid = ~0U};  // nobody's
  for (std::uint32_t cpu = 0; cpu < possible; ++cpu) KOORD_CHECK(put(made->held_.clocks, &cpu, &clock));
  KOORD_CHECK(made->count_cpus());
  return made;
}

Result<> BlameMaps::count_cpus() {
  const auto online = online_.read(buffer_);
  const auto counted = online ? host::count_cpus(*online) : Result<int>(online.error());
  const auto cpus = static_cast<std::uint32_t>(counted ? *counted : scratch_.size());
  if (cpus == settings_.cpus) return {};
  settings_.cpus = cpus;
  return put_settings();
}

Result<> BlameMaps::put_settings() {
  const std::uint32_t zero = 0;
  return put(held_.settings, &zero, &settings_);
}

Result<> BlameMaps::name_groups(std::span<const Named> groups) {
  std::unordered_map<GroupId, std::uint32_t> wanted;
  for (const Named& one : groups) wanted[one.id] = static_cast<std::uint32_t>(one.tier);
  if (wanted.size() > capacity())
    return Error(Code::too_large, fmt::format("{} groups have a tier, {} fit", wanted.size(), capacity()));
  if (wanted == named_) return {};
  for (const auto& [id, tier] : named_)
    if (!wanted.contains(id) && bpf_map_delete_elem(held_.tiers.get(), &id) != 0 && errno != ENOENT)
      return call_error(errno);
  for (const auto& [id, tier] : wanted) {
    const auto known = named_.find(id);
    if (known == named_.end() || known->second != tier) KOORD_CHECK(put(held_.tiers, &id, &tier));
  }
  named_ = std::move(wanted);
  settings_.generation = (settings_.generation + 1) & 0x1fffffff;  // what the programs keep of it
  return put_settings();
}

Result<> BlameMaps::read(State& into) {
  KOORD_CHECK(count_cpus());
  for (std::uint32_t tier = 0; tier < kCpuTiers; ++tier) {
    Waits& sum = into[tier] = {};
    if (bpf_map_lookup_elem(held_.blames.get(), &tier, scratch_.data()) != 0) return call_error(errno);
    for (const koord_blame& one : scratch_) {
      for (std::size_t i = 0; i < kRunners; ++i) sum.ran_ns[i] += one.ran_ns[i];
      sum.waits += one.waits;
      sum.caused_ns += one.caused_ns;
      sum.own_quota_waits += one.held;
      sum.own_quota_ns += one.held_ns;
      for (std::size_t i = 0; i < FineHistogram::kBuckets; ++i) {
        sum.whole.counts[i] += one.whole[i];
        sum.caused.counts[i] += one.caused[i];
      }
    }
  }
  return {};
}

/// A key that goes away while it is asked for its successor leads back to the first one.
Result<> BlameMaps::groups(std::vector<Group>& into) {
  into.clear();
  GroupId id = 0;
  bool more = bpf_map_get_next_key(held_.groups.get(), nullptr, &id) == 0;
  for (std::size_t steps = 0; more && steps < koord_max_groups; ++steps) {
    koord_group_blame blame{};
    if (bpf_map_lookup_elem(held_.groups.get(), &id, &blame) == 0)
      into.push_back({id, blame.ns, blame.waits});
    const GroupId last = id;
    more = bpf_map_get_next_key(held_.groups.get(), &last, &id) == 0;
  }
  return {};
}

Result<WaitBlame::Losses> BlameMaps::losses() {
  Losses lost;
  const std::pair<std::uint32_t, std::uint64_t*> kinds[] = {
      {koord_lost_groups, &lost.groups}, {koord_lost_tasks, &lost.tasks}, {koord_lost_unseen, &lost.unseen}};
  for (const auto& [kind, place] : kinds)
    if (bpf_map_lookup_elem(held_.losses.get(), &kind, place) != 0) return call_error(errno);
  return lost;
}

}  // namespace koord::host
