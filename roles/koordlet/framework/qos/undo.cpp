// What sets groups free: see undo.hpp.
#include "framework/qos/undo.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>
#include <vector>

#include "framework/model/shared_pools.hpp"
#include "koord/host/cgroup_paths.hpp"

namespace koord::koordlet {

namespace {

using host::CpuSet;
using host::Knob;

/// Levels of a best-effort root: pods and containers.
constexpr int kContainers = 2;
/// So many groups are named where more are narrow.
constexpr std::size_t kMostNamed = 8;

}  // namespace

std::string name_of(std::string_view group, std::string_view key) {
  if (key.empty()) return std::string(group);
  return group.empty() ? std::string(key) : fmt::format("{} {}", group, key);
}

bool is_kubelets_best_effort(const Inventory& inventory, std::string_view group) {
  return host::is_within(
      group, host::kubepods_folder(inventory.driver, host::KubeQos::besteffort, inventory.kubelet_root));
}

std::optional<KnobValue> freed(const Journal::Entry& entry, const Inventory& inventory,
                               const host::Topology* topology, Executor& executor) {
  const host::CgroupVersion version = executor.version();
  if (const auto* cpus = std::get_if<CpuSet>(&entry.free)) {
    if (entry.knob == Knob::cpuset_cpus && is_kubelets_best_effort(inventory, entry.group)) {
      if (topology == nullptr) return std::nullopt;
      const BestEffortCpus may = best_effort_cpus(*topology, inventory);
      if (!may.known || may.cpus.empty()) return std::nullopt;
      CpuSet left = *cpus & may.cpus;
      if (left.empty()) left = may.cpus;
      return KnobValue(std::move(left));
    }
    if (entry.knob != Knob::cpuset_cpus || version == host::CgroupVersion::v2 || topology == nullptr)
      return entry.free;
    CpuSet left = *cpus & topology->online;
    if (left.empty()) left = topology->online;
    return KnobValue(std::move(left));
  }
  const auto* quota = std::get_if<std::int64_t>(&entry.free);
  if (entry.knob != Knob::cpu_quota || quota == nullptr || *quota <= 0) return entry.free;
  const auto found = executor.current(Knob::cpu_period, entry.group);
  const auto* const period = found ? std::get_if<std::int64_t>(&*found) : nullptr;
  const std::int64_t period_us = period != nullptr && *period > 0 ? *period : host::kDefaultPeriodUs;
  const auto of = [&](std::optional<std::int64_t> limit_milli) {
    if (!limit_milli || *limit_milli <= 0) return entry.free;
    const std::int64_t usual = host::milli_cpu_to_quota(*limit_milli);
    if (period_us == host::kDefaultPeriodUs) return KnobValue(usual);
    constexpr double kLeast = 1000;  // the kernel's
    return KnobValue(static_cast<std::int64_t>(
        std::max(kLeast, static_cast<double>(usual) / static_cast<double>(host::kDefaultPeriodUs) *
                             static_cast<double>(period_us))));
  };
  for (const auto& pod : inventory.all_pods) {
    if (pod->group == entry.group) return of(pod->cpu_limit_milli);
    for (const ContainerInfo& container : pod->containers)
      if (container.group == entry.group) return of(container.cpu_limit_milli);
  }
  return entry.free;
}

std::string narrow_groups(const Inventory& inventory, const host::Topology* topology, GroupTree& tree,
                          Executor& executor) {
  if (topology == nullptr) return {};
  std::vector<std::string> groups, named;
  for (const std::string& root : inventory.be_roots)
    for (const GroupTree::Member& member : tree.members(Knob::cpuset_cpus, root, {0, kContainers, {}}))
      groups.push_back(member.group);
  std::size_t more = 0;
  for (const std::string& group : groups) {
    const auto found = executor.current(Knob::cpuset_cpus, group);
    if (!found || topology->online.is_subset_of(std::get<CpuSet>(*found))) continue;
    if (named.size() < kMostNamed)
      named.push_back(fmt::format("{} ({})", group, to_string(*found)));
    else
      ++more;
  }
  return fmt::format("{}{}", fmt::join(named, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

Result<> check_all_wide(const Inventory& inventory, const host::Topology& topology, GroupTree& tree,
                        Executor& executor) {
  const std::string narrow = narrow_groups(inventory, &topology, tree, executor);
  if (narrow.empty()) return {};
  return Error(
      Code::unavailable,
      fmt::format("sets of CPUs of best-effort groups stay as they are, since it is not known which CPUs "
                  "are exclusively somebody's: {}; all else is set free; --cleanup=force widens them, "
                  "too",
                  narrow));
}

Result<> check_all_free(const Executor& executor, const Journal& journal) {
  if (const auto failures = executor.failures(); !failures.empty())
    return failures.front().error.context(
        fmt::format("not everything could be set free ({} files)", failures.size()));
  if (journal.entries().empty()) return {};
  const Journal::Entry& first = journal.entries().front();
  return Error(Code::io,
               fmt::format("not everything could be set free: {}", name_of(first.group, first.key)));
}

}  // namespace koord::koordlet
