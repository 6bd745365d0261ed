// Controllers: see controllers.hpp.
#include "framework/standalone/controllers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/host/file.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

constexpr std::string_view kCpu = "cpu", kCpuset = "cpuset", kMemory = "memory";
constexpr std::string_view kBySets = "cpuset";  // a policy of suppression

const api::ResourceQos* of_class(const api::NodeSloSpec& slo, Qos qos) {
  if (!slo.resource_qos_strategy) return nullptr;
  const api::ResourceQosStrategy& all = *slo.resource_qos_strategy;
  if (qos == Qos::lse || qos == Qos::lsr) return all.lsr_class.get();
  if (qos == Qos::ls) return all.ls_class.get();
  if (qos == Qos::be) return all.be_class.get();
  return qos == Qos::system ? all.system_class.get() : nullptr;
}

std::vector<std::string> missing(const std::string& folder, const std::vector<std::string>& names,
                                 std::string_view file) {
  std::vector<std::string> lacking;
  const auto text = read_file(fmt::format("{}{}", folder, file));
  if (!text) return {};  // it has gone
  for (const std::string& name : names) {
    const std::string padded = fmt::format(" {} ", host::trimmed(*text));
    if (padded.find(fmt::format(" {} ", name)) == std::string::npos) lacking.push_back(name);
  }
  return lacking;
}

/// Beside controllers below it a group may have no processes of its own.
bool has_processes(const std::string& folder) {
  const auto text = read_file(fmt::format("{}cgroup.procs", folder));
  return text && !text->empty();
}

/// Whether systemd leaves what is below the folder to somebody else (Delegate=).
bool is_delegated(const std::string& folder) {
  std::array<char, 8> text{};
  for (const char* name : {"trusted.delegate", "user.delegate"})
    if (getxattr(folder.c_str(), name, text.data(), text.size()) > 0 && text[0] == '1') return true;
  return false;
}

/// What has systemd switch a controller on for a unit, and changes nothing else.
std::string setting(const ControllerFiles& files, std::string_view controller) {
  if (controller == kCpu) return "CPUWeight=100";
  if (controller == kMemory) return "MemoryAccounting=yes";
  const auto cpus = read_file(fmt::format("{}cpuset.cpus.effective", files.cgroups));
  return fmt::format("AllowedCPUs={}", cpus ? host::trimmed(*cpus) : "ALL_CPUS");
}

/// A unit as drop-ins and messages call it.
struct Unit {
  std::string group, drop_in;
};

/// The next transient unit has another name: systemd takes the drop-ins of all that begin alike up to a dash.
Unit unit_of(const ControllerFiles& files, const std::string& group) {
  const std::string name = group.substr(group.rfind('/') + 1);
  const auto dash = name.find('-'), dot = name.rfind('.');
  if (dash == std::string::npos || dot == std::string::npos || !host::exists(files.transient + name))
    return {.group = group, .drop_in = name};
  const std::string_view begin = std::string_view(name).substr(0, dash + 1);
  const std::string_view type = std::string_view(name).substr(dot);
  return {.group = fmt::format("{}{}*{}", group.substr(0, group.size() - name.size()), begin, type),
          .drop_in = fmt::format("{}{}", begin, type)};
}

Error is_systemds(const ControllerFiles& files, const std::string& group,
                  const std::vector<std::string>& lacking) {
  const Unit unit = unit_of(files, group);
  std::vector<std::string> settings;
  settings.reserve(lacking.size());
  for (const std::string& name : lacking) settings.push_back(setting(files, name));
  return Error(
      Code::forbidden,
      fmt::format("the cgroup {} has no controller {}: nothing is held back or protected by it there. "
                  "Write /etc/systemd/system/{}.d/koord.conf with [{}] {}, then run systemctl daemon-reload",
                  unit.group, fmt::join(lacking, ", "), unit.drop_in,
                  unit.drop_in.ends_with(".service") ? "Service"
                  : unit.drop_in.ends_with(".scope") ? "Scope"
                                                     : "Slice",
                  fmt::join(settings, " ")));
}

}  // namespace

std::vector<std::string> needed_controllers(const api::NodeSloSpec& slo, Qos qos, bool unit) {
  std::vector<std::string> names;
  const auto need = [&](std::string_view name) {
    if (unit && name != kMemory) return;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  };
  const api::ResourceQos* of = of_class(slo, qos);
  if (qos == Qos::be) {
    if (of != nullptr && of->cpu_qos && of->cpu_qos->enable == true) need(kCpu);
    if (const auto* used = slo.resource_used_threshold_with_be.get();
        used != nullptr && used->enable == true) {
      need(kCpu);  // its weight, too, where suppression cannot tell
      if (used->cpu_suppress_policy == kBySets) need(kCpuset);
      need(kMemory);  // who is evicted is chosen by what it uses
    }
  }
  if (of != nullptr && of->memory_qos && of->memory_qos->enable == true) need(kMemory);
  return names;
}

Result<bool> enable_controllers(const ControllerFiles& files, const std::string& group,
                                const std::vector<std::string>& names) {
  const std::string own = fmt::format("{}{}/", files.cgroups, group);
  const auto lacking = missing(own, names, "cgroup.controllers");
  if (lacking.empty()) return false;
  if (const auto none = missing(files.cgroups, lacking, "cgroup.controllers"); !none.empty())
    return Error(Code::unsupported,
                 fmt::format("the kernel has no controller {} in cgroup v2, which {} needs: see "
                             "cgroup_disable= on its command line, and whether cgroup v1 has it",
                             fmt::join(none, ", "), group));
  bool written = false;
  bool may = !files.systemd;
  std::string folder = files.cgroups;
  std::string_view rest = group;
  while (!rest.empty()) {
    may = may || is_delegated(folder);
    const auto off = missing(folder, lacking, "cgroup.subtree_control");
    if (!off.empty() && !may) return is_systemds(files, group, lacking);
    const std::string above = folder.substr(files.cgroups.size(), folder.size() - files.cgroups.size() - 1);
    if (const auto not_given = missing(folder, off, "cgroup.controllers");
        files.systemd && !not_given.empty())
      return is_systemds(files, above, not_given);
    std::optional<Error> failed;  // the others are of use without it
    for (const std::string& name : off) {
      const auto done =
          host::write_file(fmt::format("{}cgroup.subtree_control", folder), fmt::format("+{}", name));
      if (done || failed) continue;
      failed = Error(done.error())
                   .context(fmt::format("the controller {} cannot be switched on for {}{}", name, group,
                                        has_processes(folder)
                                            ? fmt::format(", while {} has processes of its own", above)
                                            : std::string()));
    }
    if (failed) return *failed;
    written = written || !off.empty();
    const auto slash = rest.find('/');
    fmt::format_to(std::back_inserter(folder), "{}/", rest.substr(0, slash));
    rest = slash == std::string_view::npos ? std::string_view{} : rest.substr(slash + 1);
  }
  return written;
}

}  // namespace koord::koordlet
