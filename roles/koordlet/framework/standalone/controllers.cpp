// Controllers: see controllers.hpp.
#include "framework/standalone/controllers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
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

/// Whether systemd leaves what is below the folder to somebody else (Delegate=).
bool is_delegated(const std::string& folder) {
  std::array<char, 8> text{};
  for (const char* name : {"trusted.delegate", "user.delegate"})
    if (getxattr(folder.c_str(), name, text.data(), text.size()) > 0 && text[0] == '1') return true;
  return false;
}

/// What has systemd switch a controller on for a unit.
std::string_view setting(std::string_view controller) {
  if (controller == kCpu) return "CPUWeight=100";
  return controller == kMemory ? "MemoryAccounting=yes" : "AllowedCPUs=0-1023";
}

Error is_systemds(const std::string& group, const std::vector<std::string>& lacking) {
  const std::string unit = group.substr(group.rfind('/') + 1);
  std::vector<std::string_view> settings;
  settings.reserve(lacking.size());
  for (const std::string& name : lacking) settings.push_back(setting(name));
  return Error(
      Code::forbidden,
      fmt::format("the cgroup {} has no controller {}: nothing is held back or protected by it there. "
                  "Write /etc/systemd/system/{}.d/koord.conf with [{}] {}, then run systemctl daemon-reload",
                  group, fmt::join(lacking, ", "), unit,
                  unit.ends_with(".service") ? "Service"
                  : unit.ends_with(".scope") ? "Scope"
                                             : "Slice",
                  fmt::join(settings, " ")));
}

}  // namespace

std::vector<std::string> needed_controllers(const api::NodeSloSpec& slo, Qos qos) {
  std::vector<std::string> names;
  const auto need = [&](std::string_view name) {
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

Result<> enable_controllers(const ControllerFiles& files, const std::string& group,
                            const std::vector<std::string>& names) {
  const std::string own = fmt::format("{}{}/", files.cgroups, group);
  const auto lacking = missing(own, names, "cgroup.controllers");
  if (lacking.empty()) return {};
  bool may = !files.systemd;
  std::string folder = files.cgroups;
  std::string_view rest = group;
  while (!rest.empty()) {
    may = may || is_delegated(folder);
    const auto off = missing(folder, lacking, "cgroup.subtree_control");
    if (!off.empty() && !may) return is_systemds(group, lacking);
    for (const std::string& name : off)
      if (auto written =
              host::write_file(fmt::format("{}cgroup.subtree_control", folder), fmt::format("+{}", name));
          !written)
        return std::move(written).error().context(
            fmt::format("the controller {} cannot be switched on for {}", name, group));
    const auto slash = rest.find('/');
    fmt::format_to(std::back_inserter(folder), "{}/", rest.substr(0, slash));
    rest = slash == std::string_view::npos ? std::string_view{} : rest.substr(slash + 1);
  }
  return {};
}

}  // namespace koord::koordlet
