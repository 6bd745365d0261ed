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

constexpr std::size_t kBatch = 4096;  // entries: more than stand in one bucket of the table

Error call_error(int errnum) { return errno_error(errnum, "wait blame map"); }

Result<> put(const Fd& map, const void* key, const void* value) {
  if (bpf_map_update_elem(map.get(), key, value, 0) != 0) return call_error(errno);
  return {};
}

}  // namespace

Result<std::unique_ptr<BlameMaps>> BlameMaps::take(const BpfObject& object, const Root& root,
                                                   std::size_t possible, std::size_t numbers) {
  Descriptors held;
  const std::pair<const char*, Fd*> maps[] = {{"tiers", &held.tiers},       {"clocks", &held.clocks},
                                              {"blames", &held.blames},     {"group_blames", &held.groups},
                                              {"settings", &held.settings}, {"losses", &held.losses},
                                              {"domains", &held.domains}};
  for (const auto& [name, place] : maps) {
    KOORD_TRY(map, object.map(name));
    *place = std::move(map);
  }
  std::unique_ptr<BlameMaps> made(new BlameMaps(std::move(held), root, possible, numbers));
  KOORD_CHECK(made->count_cpus());
  return made;
}

Result<> BlameMaps::restart() {
  const koord_clock clock{.since_and_runner = koord_unknown, .pid = ~0U};  // nobody's
  for (std::uint32_t cpu = 0; cpu < clocks_; ++cpu) KOORD_CHECK(put(held_.clocks, &cpu, &clock));
  const koord_domain none{};
  for (std::uint32_t number = 0; number < koord_max_domains; ++number)
    KOORD_CHECK(put(held_.domains, &number, &none));
  return {};
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

/// In batches, which every kernel has that has these programs.
Result<> BlameMaps::groups(std::vector<Group>& into) {
  into.clear();
  places_.clear();
  if (keys_.empty()) keys_.resize(kBatch), blames_.resize(kBatch);
  std::uint32_t place = 0, next = 0;
  for (bool begun = false, more = true; more; begun = true, place = next) {
    auto count = static_cast<std::uint32_t>(keys_.size());
    const int status = bpf_map_lookup_batch(held_.groups.get(), begun ? &place : nullptr, &next, keys_.data(),
                                            blames_.data(), &count, nullptr);
    if (status != 0 && status != -ENOENT) return call_error(-status);
    more = status == 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto [at, is_new] = places_.try_emplace(keys_[i].id, into.size());
      if (is_new) into.push_back({keys_[i].id, 0, 0});
      into[at->second].ns += blames_[i].ns;
      into[at->second].waits += blames_[i].waits;
    }
  }
  return {};
}

Result<WaitBlame::Losses> BlameMaps::losses() {
  Losses lost;
  const std::pair<std::uint32_t, std::uint64_t*> kinds[] = {
      {koord_lost_groups, &lost.groups}, {koord_lost_tasks, &lost.tasks}, {koord_lost_unseen, &lost.unseen}};
  for (const auto& [kind, place] : kinds) {
    KOORD_TRY(sum, sum_over_cpus(held_.losses, kind, numbers_));
    *place = sum;
  }
  return lost;
}

}  // namespace koord::host
