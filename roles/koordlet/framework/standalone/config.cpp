// The file of --standalone-config: see config.hpp.
#include "framework/standalone/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "framework/objects/slo.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/host/cgroup_paths.hpp"
#include "koord/json/yaml.hpp"
#include "koord/runtime/config.hpp"

namespace koord::koordlet {

KOORD_SCHEMA(StandaloneRequests, ROW(cpu).doc("CPUs: 1500m."), ROW(memory).doc("Memory: 4Gi."));
KOORD_SCHEMA(StandaloneLimits, ROW(memory).doc("Memory: 8Gi."));
KOORD_SCHEMA(
    StandaloneGroup, ROW(name).required().min_length(1).max_length(63).doc("What it is called in metrics."),
    ROW(cgroup_path)
        .required()
        .min_length(1)
        .doc("The cgroup, below the hierarchies' roots: batch.slice. batch.slice/* and batch.slice/job-*: "
             "each that "
             "matches is a group of its own, as is each child of a BE slice without processes of its own."),
    ROW(qos).required().one_of(api::kKoordQosNames).doc("BE is held back, the others are protected."),
    ROW(priority)
        .one_of(api::kKoordPriorityNames)
        .doc("The priority class, for reports, and who is evicted first."),
    ROW(requests).doc("What it asks for: memory QoS protects a part of the memory, and nothing without it."),
    ROW(limits).doc("What it may use, as far as koord has to know: nothing is limited by it."));
KOORD_SCHEMA(StandaloneConfig, ROW(node_name).doc("The machine's name in metrics; empty: the host's."),
             ROW(reserved_cpu).wire("reservedCPU").doc("Kept for what is in no group: 500m."),
             ROW(reserved_cpus).wire("reservedCPUs").doc("Whole CPUs instead: 0-1."),
             ROW(node_slo).wire("nodeSLO").doc("The strategies, as in a NodeSLO's spec."),
             ROW(groups).doc("What is measured, protected and held back."),
             ROW(host_applications).doc("As in a NodeSLO's spec."));

namespace {

constexpr std::string_view kSlice = ".slice";

struct Problem {
  std::string path, what;
};

/// Empty: no cgroup below the root.
std::string group_of(std::string_view path) {
  std::string group;
  if (!append_path(group, path)) group.clear();
  return group;
}

bool is_pattern(std::string_view path) { return path.find('*') != std::string_view::npos; }

/// "*" is any part of a name, also none.
bool matches(std::string_view pattern, std::string_view name) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  // The shortest that fits each part but the last will do.
  for (auto next = pattern.find('*'); next != std::string_view::npos; next = pattern.find('*')) {
    const auto at = name.find(pattern.substr(0, next));
    if (at == std::string_view::npos) return false;
    name.remove_prefix(at + next);
    pattern.remove_prefix(next + 1);
  }
  return name.ends_with(pattern);
}

/// What a member is called below the part of the path that it shares with all others.
std::string_view name_below(std::string_view path, std::string_view member) {
  const std::string_view fixed = path.substr(0, path.find('*'));
  const std::string_view folder = is_pattern(path) ? fixed.substr(0, fixed.rfind('/') + 1) : path;
  member.remove_prefix(std::min(member.size(), folder.size()));
  while (member.starts_with('/')) member.remove_prefix(1);
  return member;
}

/// Those that are said.
std::vector<const api::Quantity*> amounts_of(const StandaloneGroup& group) {
  std::vector<const api::Quantity*> amounts;
  const auto add = [&](const std::optional<api::Quantity>& amount) {
    if (amount) amounts.push_back(&*amount);
  };
  if (group.requests) {
    add(group.requests->cpu);
    add(group.requests->memory);
  }
  if (group.limits) add(group.limits->memory);
  return amounts;
}

/// Adds the groups below `group` that match what is left of a pattern.
void expand(const std::string& group, std::string_view rest, const ListGroups& list,
            std::vector<std::string>& found) {
  const auto slash = rest.find('/');
  const std::string_view name = rest.substr(0, slash);
  const std::string_view below = slash == std::string_view::npos ? "" : rest.substr(slash + 1);
  const auto go = [&](std::string_view one) {
    std::string path = group.empty() ? std::string(one) : fmt::format("{}/{}", group, one);
    if (below.empty())
      found.push_back(std::move(path));
    else
      expand(path, below, list, found);
  };
  if (!is_pattern(name) && !below.empty()) return go(name);
  const auto names = list(group);
  if (!names) return;
  for (const std::string& one : *names)
    if (matches(name, one)) go(one);
}

/// The units of a slice: its children, and of slices in it theirs.
void add_units(const std::string& slice, const ListGroups& list, const HasProcesses& has_processes,
               std::vector<std::string>& units) {
  const auto names = list(slice);
  if (!names || names->empty() || has_processes(slice)) {
    units.push_back(slice);
    return;
  }
  for (const std::string& name : *names) {
    std::string child = fmt::format("{}/{}", slice, name);
    if (name.ends_with(kSlice))
      add_units(child, list, has_processes, units);
    else
      units.push_back(std::move(child));
  }
}

/// What is wrong with host applications beside groups at `paths`.
std::optional<std::string> problem_of(const api::NodeSloSpec& spec, const std::vector<std::string>& paths) {
  std::vector<std::string> warnings;
  const auto applications = host_applications(spec, host::CgroupDriver::cgroupfs, warnings);
  if (!warnings.empty()) return std::move(warnings.front());
  for (const HostApplication& app : applications)
    for (const std::string& path : paths)
      if (!is_pattern(path) && (host::is_within(path, app.group) || host::is_below(app.group, path)))
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
    for (const auto* amount : amounts_of(group))
      if (amount->sign() < 0)
        return Problem{at, fmt::format("\"{}\": expected an amount, zero or more", amount->to_string())};
    for (const std::string& other : paths)
      if (!is_pattern(path) && !is_pattern(other) &&
          (host::is_within(path, other) || host::is_below(other, path)))
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

std::shared_ptr<const PodInfo> pod_of(const StandaloneGroup& group, const std::string& member) {
  auto pod = std::make_shared<PodInfo>();
  const std::string path = group_of(group.cgroup_path);
  pod->uid = pod->name =
      member == path ? group.name : fmt::format("{}/{}", group.name, name_below(path, member));
  pod->qos = api::parse_koord_qos(group.qos.view());
  pod->kube_qos = pod->qos == Qos::be ? host::KubeQos::besteffort : host::KubeQos::burstable;
  pod->priority_class = api::parse_koord_priority(group.priority.view());
  pod->priority = pod->effective_priority();
  pod->group = member;
  pod->phase = PodPhase::running;
  const auto* requests = group.requests.get();
  pod->requests_unknown = requests == nullptr || !requests->memory;
  const bool best_effort = pod->qos == Qos::be;
  if (requests != nullptr && requests->cpu)
    (best_effort ? pod->requests.batch_cpu : pod->requests.cpu) = requests->cpu->milli_value();
  if (requests != nullptr && requests->memory)
    (best_effort ? pod->requests.batch_memory : pod->requests.memory) = requests->memory->value();
  if (group.limits && group.limits->memory) pod->memory_limit = group.limits->memory->value();
  return pod;
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

std::vector<FoundGroups> find_groups(const StandaloneConfig& config, const ListGroups& list,
                                     const HasProcesses& has_processes) {
  std::vector<FoundGroups> all(config.groups.size());
  std::vector<std::string> taken;
  // What is written out is meant, whatever the patterns before it match.
  for (const bool patterns : {false, true}) {
    for (std::size_t i = 0; i < config.groups.size(); ++i) {
      const StandaloneGroup& group = config.groups[i];
      const std::string path = group_of(group.cgroup_path);
      if (is_pattern(path) != patterns) continue;
      const bool best_effort = api::parse_koord_qos(group.qos.view()) == Qos::be;
      FoundGroups& found = all[i];
      std::vector<std::string> members;
      if (patterns) {
        expand({}, path, list, members);
      } else if (best_effort && path.ends_with(kSlice)) {
        add_units(path, list, has_processes, members);
        found.whole = path;
      } else {
        members.push_back(path);
      }
      std::sort(members.begin(), members.end());
      for (std::string& member : members) {
        const bool again = std::any_of(taken.begin(), taken.end(), [&](const std::string& other) {
          return host::is_within(member, other) || host::is_below(other, member);
        });
        if (again) continue;
        taken.push_back(member);
        found.members.push_back(std::move(member));
      }
    }
  }
  return all;
}

Inventory standalone_inventory(const StandaloneConfig& config, const Machine& machine,
                               const std::vector<FoundGroups>& found) {
  Inventory inventory;
  NodeInfo& node = inventory.node;
  node.name = config.node_name;
  node.capacity_milli_cpu = node.allocatable_milli_cpu = machine.milli_cpu;
  node.capacity_memory = node.allocatable_memory = machine.memory;
  if (auto cpus = host::CpuSet::parse(config.reserved_cpus)) node.reserved_cpus = std::move(*cpus);
  node.reserved_milli_cpu = node.reserved_cpus.empty()
                                ? std::min(config.reserved_cpu.milli_value(), machine.milli_cpu)
                                : std::int64_t{1000} * node.reserved_cpus.size();
  for (std::size_t i = 0; i < config.groups.size() && i < found.size(); ++i) {
    const StandaloneGroup& group = config.groups[i];
    for (const std::string& member : found[i].members) {
      inventory.pods.push_back(pod_of(group, member));
      if (inventory.pods.back()->qos == Qos::be && found[i].whole.empty())
        inventory.be_roots.push_back(member);
    }
    if (!found[i].whole.empty()) inventory.be_roots.push_back(found[i].whole);
  }
  std::sort(inventory.pods.begin(), inventory.pods.end(),
            [](const auto& a, const auto& b) { return a->uid < b->uid; });
  inventory.all_pods = inventory.pods;
  api::NodeSloSpec given = config.node_slo;
  given.host_applications.insert(given.host_applications.end(), config.host_applications.begin(),
                                 config.host_applications.end());
  MergedSlo merged = merge_slo(given);
  inventory.host_applications = host_applications(merged.spec, inventory.driver, merged.warnings);
  inventory.slo = std::make_shared<const api::NodeSloSpec>(std::move(merged.spec));
  inventory.slo_known = true;
  inventory.pods_known = true;
  return inventory;
}

}  // namespace koord::koordlet
