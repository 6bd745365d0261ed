// The file of --standalone-config: see config.hpp.
#include "framework/standalone/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "framework/states/slo.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/host/cgroup_paths.hpp"
#include "koord/json/yaml.hpp"
#include "koord/runtime/config.hpp"

namespace koord::koordlet {

KOORD_SCHEMA(
    StandaloneGroup, ROW(name).required().min_length(1).max_length(63).doc("What it is called in metrics."),
    ROW(cgroup_path).required().min_length(1).doc("The cgroup, below the hierarchies' roots: batch.slice."),
    ROW(qos).required().one_of(api::kKoordQosNames).doc("BE is held back, the others are protected."),
    ROW(priority).one_of(api::kKoordPriorityNames).doc("The priority class, for reports."));
KOORD_SCHEMA(StandaloneConfig, ROW(node_name).doc("The machine's name in metrics; empty: the host's."),
             ROW(reserved_cpu).wire("reservedCPU").doc("Kept for what is in no group: 500m."),
             ROW(reserved_cpus).wire("reservedCPUs").doc("Whole CPUs instead: 0-1."),
             ROW(node_slo).wire("nodeSLO").doc("The strategies, as in a NodeSLO's spec."),
             ROW(groups).doc("What is measured, protected and held back."),
             ROW(host_applications).doc("As in a NodeSLO's spec."));

namespace {

struct Problem {
  std::string path, what;
};

/// Empty: no cgroup below the root.
std::string group_of(std::string_view path) {
  std::string group;
  if (!append_path(group, path)) group.clear();
  return group;
}

/// What is wrong with host applications beside groups at `paths`.
std::optional<std::string> problem_of(const api::NodeSloSpec& spec, const std::vector<std::string>& paths) {
  std::vector<std::string> complaints;
  const auto applications = host_applications(spec, host::CgroupDriver::cgroupfs, complaints);
  if (!complaints.empty()) return std::move(complaints.front());
  for (const HostApplication& app : applications)
    for (const std::string& path : paths)
      if (host::is_within(path, app.group) || host::is_below(app.group, path))
        return fmt::format(
            "host application \"{}\": \"{}\" and the group \"{}\" are one or one is in the other: its use "
            "would "
            "count twice",
            app.name, app.group, path);
  return std::nullopt;
}

std::optional<Problem> problem_of(const StandaloneConfig& config) {
  if (config.reserved_cpu.sign() < 0)
    return Problem{".reservedCPU", fmt::format("\"{}\": expected a number of CPUs, zero or more",
                                               config.reserved_cpu.to_string())};
  if (!config.reserved_cpus.empty())
    if (const auto cpus = host::CpuSet::parse(config.reserved_cpus); !cpus)
      return Problem{".reservedCPUs", cpus.error().message()};
  std::set<std::string> names;
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < config.groups.size(); ++i) {
    const StandaloneGroup& group = config.groups[i];
    const std::string at = fmt::format(".groups[{}]", i);
    if (!names.insert(group.name).second)
      return Problem{fmt::format("{}.name", at), fmt::format("there is another group \"{}\"", group.name)};
    const std::string path = group_of(group.cgroup_path);
    if (path.empty())
      return Problem{fmt::format("{}.cgroupPath", at),
                     fmt::format("\"{}\" is no cgroup below the root", group.cgroup_path)};
    for (const std::string& other : paths)
      if (host::is_within(path, other) || host::is_below(other, path))
        return Problem{
            fmt::format("{}.cgroupPath", at),
            fmt::format("\"{}\" and \"{}\" are one or one is in the other: its use would count twice", path,
                        other)};
    paths.push_back(path);
  }
  api::NodeSloSpec beside;
  beside.host_applications = config.host_applications;
  if (auto problem = problem_of(beside, paths)) return Problem{".hostApplications", std::move(*problem)};
  if (auto problem = problem_of(config.node_slo, paths))
    return Problem{".nodeSLO.hostApplications", std::move(*problem)};
  return std::nullopt;
}

}  // namespace

Result<StandaloneConfig> read_standalone(std::string_view text, const std::string& file) {
  StandaloneConfig config;
  KOORD_CHECK(runtime::read_config(text, file, api::schema<StandaloneConfig>(), &config));
  const std::optional<Problem> problem = problem_of(config);
  if (!problem) return config;
  json::LineMap lines;
  const auto json = json::yaml_to_json(text, &lines);
  const auto line = json ? lines.find(problem->path) : lines.end();
  return Error(Code::invalid, fmt::format("{}:{}: {}: {}", file, line != lines.end() ? line->second : 1,
                                          problem->path, problem->what));
}

Inventory standalone_inventory(const StandaloneConfig& config, const Machine& machine) {
  Inventory inventory;
  NodeInfo& node = inventory.node;
  node.name = config.node_name;
  node.capacity_milli_cpu = node.allocatable_milli_cpu = machine.milli_cpu;
  node.capacity_memory = node.allocatable_memory = machine.memory;
  if (auto cpus = host::CpuSet::parse(config.reserved_cpus)) node.reserved_cpus = std::move(*cpus);
  node.reserved_milli_cpu = node.reserved_cpus.empty()
                                ? std::min(config.reserved_cpu.milli_value(), machine.milli_cpu)
                                : std::int64_t{1000} * node.reserved_cpus.size();
  for (const StandaloneGroup& group : config.groups) {
    auto pod = std::make_shared<PodInfo>();
    pod->uid = pod->name = group.name;
    pod->qos = api::parse_koord_qos(group.qos.view());
    pod->kube_qos = pod->qos == Qos::be ? host::KubeQos::besteffort : host::KubeQos::burstable;
    pod->priority_class = api::parse_koord_priority(group.priority.view());
    pod->group = group_of(group.cgroup_path);
    if (pod->qos == Qos::be) inventory.be_roots.push_back(pod->group);
    pod->phase = PodPhase::running;
    inventory.pods.push_back(std::move(pod));
  }
  std::sort(inventory.pods.begin(), inventory.pods.end(),
            [](const auto& a, const auto& b) { return a->uid < b->uid; });
  inventory.all_pods = inventory.pods;
  api::NodeSloSpec given = config.node_slo;
  given.host_applications.insert(given.host_applications.end(), config.host_applications.begin(),
                                 config.host_applications.end());
  MergedSlo merged = merge_slo(given);
  inventory.host_applications = host_applications(merged.spec, inventory.driver, merged.complaints);
  inventory.slo = std::make_shared<const api::NodeSloSpec>(std::move(merged.spec));
  inventory.slo_known = true;
  inventory.pods_known = true;
  return inventory;
}

}  // namespace koord::koordlet
