// The NodeSLO in effect: see slo.hpp.
#include "framework/objects/slo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "koord/api/schema/codec.hpp"
#include "koord/base/text.hpp"
#include "koord/json/patch.hpp"
#include "koord/json/pointer.hpp"
#include "koord/json/value.hpp"

namespace koord::koordlet {

namespace {

/// More is no oversight but an attack on our time.
constexpr int kMaxWarnings = 64;

api::ResourceQos qos_defaults(std::int64_t identity, bool expeller, std::int64_t cat_end, std::int64_t wmark,
                              std::int64_t wmark_scale, std::int64_t wmark_adj) {
  api::ResourceQos qos;
  api::CpuQosConfig& cpu = qos.cpu_qos.emplace();
  cpu.enable = false;
  cpu.qos = {.group_identity = identity, .sched_idle = 0, .core_expeller = expeller};
  api::ResctrlQosConfig& resctrl = qos.resctrl_qos.emplace();
  resctrl = {
      .enable = false, .cat_range_start_percent = 0, .cat_range_end_percent = cat_end, .mba_percent = 100};
  api::MemoryQosConfig& memory = qos.memory_qos.emplace();
  memory.enable = false;
  memory.qos.min_limit_percent = memory.qos.low_limit_percent = memory.qos.throttling_percent = 0;
  memory.qos.wmark_ratio = wmark;
  memory.qos.wmark_scale_permill = wmark_scale;
  memory.qos.wmark_min_adj = wmark_adj;
  memory.qos.priority_enable = memory.qos.priority = memory.qos.oom_kill_group = 0;
  qos.blkio_qos.emplace().enable = false;
  api::NetworkQosConfig& network = qos.network_qos.emplace();
  network.enable = false;
  network.ingress_request = network.ingress_limit = api::IntOrString(0);
  network.egress_request = network.egress_limit = api::IntOrString(0);
  return qos;
}

/// What does nothing.
const api::ResourceQos& none_qos() {
  static const api::ResourceQos kNone = qos_defaults(0, false, 100, 0, 50, 0);
  return kNone;
}

api::NodeSloSpec make_defaults() {
  api::NodeSloSpec spec;
  api::ResourceThresholdStrategy& threshold = spec.resource_used_threshold_with_be.emplace();
  threshold.enable = false;
  threshold.cpu_suppress_threshold_percent = 65;
  threshold.cpu_suppress_policy = Symbol("cpuset");
  threshold.memory_evict_threshold_percent = 70;
  threshold.cpu_evict_policy = Symbol("evictByRealLimit");
  api::ResourceQosStrategy& qos = spec.resource_qos_strategy.emplace();
  qos.policies.emplace() = {.cpu_policy = Symbol("groupIdentity"), .net_qos_policy = Symbol("tc")};
  qos.lsr_class = qos_defaults(2, true, 100, 95, 20, -25);
  qos.ls_class = qos_defaults(2, true, 100, 95, 20, -25);
  qos.be_class = qos_defaults(-1, false, 30, 95, 20, 50);
  qos.system_class = qos_defaults(0, false, 100, 0, 50, 0);
  qos.cgroup_root.emplace().blkio_qos.emplace().enable = false;
  api::CpuBurstStrategy& burst = spec.cpu_burst_strategy.emplace();
  burst.policy = Symbol("none");
  burst.cpu_burst_percent = 1000;
  burst.cfs_quota_burst_percent = 300;
  burst.cfs_quota_burst_period_seconds = -1;
  burst.share_pool_threshold_percent = 50;
  spec.system_strategy.emplace();
  return spec;
}

void none_where_off(api::ResourceQos& qos) {
  const api::ResourceQos& none = none_qos();
  if (qos.cpu_qos && qos.cpu_qos->enable == false) qos.cpu_qos = none.cpu_qos;
  if (qos.resctrl_qos && qos.resctrl_qos->enable == false) qos.resctrl_qos = none.resctrl_qos;
  if (qos.memory_qos && qos.memory_qos->enable == false) qos.memory_qos = none.memory_qos;
}

/// ".a.b[0].c" as a JSON pointer.
std::string pointer_of(std::string_view path) {
  std::string pointer;
  for (const char c : path) {
    if (c == '.' || c == '[') {
      pointer += '/';
    } else if (c != ']') {
      pointer += c;
    }
  }
  return pointer;
}

/// Takes values that no row of the schema allows out of the document, until the rest is well.
void remove_nonsense(json::Document& document, std::vector<std::string>& warnings) {
  for (int i = 0; i < kMaxWarnings; ++i) {
    const auto strict = api::decode_strict<api::NodeSloSpec>(document);
    if (strict) return;
    const std::string message = strict.error().message();
    warnings.push_back(message);
    std::string pointer = pointer_of(std::string_view(message).substr(0, message.find(": ")));
    if (!pointer.starts_with('/')) break;
    // What lacks a required field goes as a whole.
    while (!pointer.empty() && !json::remove_path(document, pointer)) pointer.resize(pointer.rfind('/'));
    if (pointer.empty()) break;
  }
  // Not even that helped: nothing of it counts.
  document.set_object();
}

std::string base_folder(std::string_view base, host::CgroupDriver driver, std::string_view root) {
  using host::KubeQos;
  if (base == "Kubepods") return host::kubepods_folder(driver, KubeQos::guaranteed, root);
  if (base == "KubepodsBurstable") return host::kubepods_folder(driver, KubeQos::burstable, root);
  if (base == "KubepodsBesteffort") return host::kubepods_folder(driver, KubeQos::besteffort, root);
  return "";
}

/// The kubelet's own groups, and what is above them: all that runs in pods would count twice.
bool contains_pods(std::string_view group, std::string_view root) {
  using host::CgroupDriver;
  using host::KubeQos;
  for (const CgroupDriver driver : {CgroupDriver::systemd, CgroupDriver::cgroupfs})
    for (const KubeQos qos : {KubeQos::guaranteed, KubeQos::burstable, KubeQos::besteffort})
      if (host::is_within(host::kubepods_folder(driver, qos, root), group)) return true;
  return false;
}

}  // namespace

const api::NodeSloSpec& default_slo() {
  static const api::NodeSloSpec kDefaults = make_defaults();
  return kDefaults;
}

MergedSlo merge_slo(const api::NodeSloSpec& given) {
  MergedSlo merged;
  json::Document overlay, whole;
  overlay = api::encode(given, overlay.arena());
  whole = api::encode(default_slo(), whole.arena());
  remove_nonsense(overlay, merged.warnings);
  json::merge_patch(whole, overlay, whole.arena());
  auto decoded = api::decode<api::NodeSloSpec>(whole);
  merged.spec = decoded ? std::move(*decoded) : default_slo();
  if (api::ResourceQosStrategy* qos = merged.spec.resource_qos_strategy.get())
    for (api::Box<api::ResourceQos>* one : {&qos->lsr_class, &qos->ls_class, &qos->be_class})
      if (*one) none_where_off(**one);
  return merged;
}

bool append_path(std::string& group, std::string_view path) {
  while (!path.empty()) {
    const auto slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
    if (part == ".." || std::any_of(part.begin(), part.end(), [](unsigned char c) { return c < 0x20; }))
      return false;
    if (part.empty() || part == ".") continue;
    if (!group.empty()) group += '/';
    group += part;
  }
  return true;
}

std::vector<HostApplication> host_applications(const api::NodeSloSpec& spec, host::CgroupDriver driver,
                                               std::vector<std::string>& warnings,
                                               std::string_view kubelet_root) {
  std::vector<HostApplication> all;
  std::set<std::string_view> names;  // the spec's
  for (const api::HostApplicationSpec& given : spec.host_applications) {
    HostApplication app;
    app.name = given.name;
    app.qos = api::parse_koord_qos(given.qos.view());
    app.priority_class = api::parse_koord_priority(given.priority.view());
    bool inside = true;
    if (given.cgroup_path) {
      const api::CgroupPath& path = *given.cgroup_path;
      app.group = base_folder(path.base.view(), driver, kubelet_root);
      inside = append_path(app.group, path.parent_dir) && append_path(app.group, path.relative_path);
    } else {
      if (app.qos == Qos::lse || app.qos == Qos::lsr || app.qos == Qos::ls)
        app.group = "host-latency-sensitive";
      if (app.qos == Qos::be) app.group = "host-best-effort";
      inside = append_path(app.group, given.name);
    }
    std::string_view wrong;
    if (names.contains(given.name))
      wrong = "named twice";
    else if (!inside || app.group.empty() || app.name.empty())
      wrong = "its cgroup path is empty or leaves the hierarchy";
    else if (contains_pods(app.group, kubelet_root))
      wrong = "its cgroup contains the pods";
    if (wrong.empty()) {
      names.insert(given.name);
      all.push_back(std::move(app));
    } else {
      warnings.push_back(fmt::format("host application \"{}\": {}", utf8_prefix(app.name, 256), wrong));
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

}  // namespace koord::koordlet
