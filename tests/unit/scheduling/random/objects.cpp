// Random nodes, pods and profiles: see objects.hpp.
#include "random/objects.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "koord/api/schema/codec.hpp"

namespace koord::scheduling::test {

namespace {

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kHostname = "kubernetes.io/hostname";
constexpr const char* kGpu = "example.com/gpu";
constexpr std::int64_t kMi = 1 << 20;

}  // namespace

RandomProfile RandomObjects::profile(std::string_view scheduler_name) {
  RandomProfile out;
  const auto configure = [&](const char* name, const std::string& args) {
    PluginConfig& c = out.config.plugin_config.emplace_back();
    c.name = name;
    c.args.text = args;
  };
  out.config.scheduler_name = std::string(scheduler_name);
  // As by default; a World has nobody there where a profile names nobody.
  out.config.plugins.ensure().post_filter.enabled = {{"DynamicResources", {}}, {"DefaultPreemption", {}}};
  if (chance(60)) {
    reference::Config& o = out.oracle;
    static constexpr const char* kStrategies[] = {"LeastAllocated", "MostAllocated",
                                                  "RequestedToCapacityRatio"};
    const int strategy = below(3);
    o.strategy = static_cast<reference::Config::Strategy>(strategy);
    o.fit_resources.clear();
    std::vector<std::string> resources;
    for (const char* name : {"cpu", "memory", "ephemeral-storage", kGpu}) {
      if (!chance(60)) continue;
      o.fit_resources.push_back({name, 1 + below(5)});
      resources.push_back(fmt::format(R"({{"name":"{}","weight":{}}})", name, o.fit_resources.back().weight));
    }
    if (resources.empty()) o.fit_resources = reference::Config().fit_resources;
    std::vector<std::string> shape;
    if (strategy == 2)
      for (int at = below(20); at <= 100; at += 10 + below(50)) {
        o.shape.emplace_back(at, below(11));
        shape.push_back(fmt::format(R"({{"utilization":{},"score":{}}})", at, o.shape.back().second));
      }
    if (chance(20)) o.ignored_resources = {kGpu};
    if (chance(20)) o.ignored_resource_groups = {"example.com"};
    configure("NodeResourcesFit",
              fmt::format(
                  R"({{"scoringStrategy":{{"type":"{}","resources":[{}]{}}}{}{}}})", kStrategies[strategy],
                  fmt::join(resources, ","),
                  strategy == 2
                      ? fmt::format(R"(,"requestedToCapacityRatio":{{"shape":[{}]}})", fmt::join(shape, ","))
                      : "",
                  o.ignored_resources.empty() ? "" : R"(,"ignoredResources":["example.com/gpu"])",
                  o.ignored_resource_groups.empty() ? "" : R"(,"ignoredResourceGroups":["example.com"])"));
  }
  if (chance(30)) {
    out.oracle.balanced_resources = {{"cpu", 1}, {"memory", 1}, {kGpu, 1}};
    configure("NodeResourcesBalancedAllocation",
              fmt::format(R"({{"resources":[{{"name":"cpu","weight":1}},{{"name":"memory","weight":1}},)"
                          R"({{"name":"{}","weight":1}}]}})",
                          kGpu));
  }
  if (chance(30)) {
    api::NodeAffinity& added = out.oracle.added_affinity.emplace();
    if (chance(50)) added.required.ensure().node_selector_terms = {{{{"disk", "NotIn", {"hdd"}}}, {}}};
    if (chance(70)) added.preferred.push_back({1 + below(100), {{{kZone, "In", {"a"}}}, {}}});
    configure("NodeAffinity", fmt::format(R"({{"addedAffinity":{}}})", api::encode(added)));
  }
  if (chance(30)) {
    out.oracle.hard_pod_affinity_weight = below(3) * 50;
    out.oracle.ignore_preferred_terms_of_existing_pods = chance(50);
    configure(
        "InterPodAffinity",
        fmt::format(R"({{"hardPodAffinityWeight":{},"ignorePreferredTermsOfExistingPods":{}}})",
                    out.oracle.hard_pod_affinity_weight, out.oracle.ignore_preferred_terms_of_existing_pods));
  }
  if (chance(30)) {
    auto& defaults = out.oracle.default_constraints.emplace();
    std::vector<std::string> texts;
    for (const char* key : {kZone, kHostname}) {
      if (chance(30)) continue;
      api::TopologySpreadConstraint& c = defaults.emplace_back();
      c.max_skew = 1 + below(3);
      c.topology_key = key;
      c.when_unsatisfiable = chance(30) ? "DoNotSchedule" : "ScheduleAnyway";
      texts.push_back(api::encode(c));
    }
    configure("PodTopologySpread",
              fmt::format(R"({{"defaultingType":"List","defaultConstraints":[{}]}})", fmt::join(texts, ",")));
  }
  return out;
}

void RandomObjects::vary(RandomProfile& profile) {
  Plugins& plugins = profile.config.plugins.ensure();
  // What is missing in the engine the oracle does not ask either.
  for (const char* name : {"NodePorts", "NodeAffinity", "TaintToleration", "VolumeRestrictions",
                           "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread",
                           "InterPodAffinity", "NodeResourcesBalancedAllocation", "ImageLocality"})
    if (chance(15)) plugins.multi_point.disabled.push_back({name, {}});
  if (chance(30)) plugins.post_filter.enabled.pop_back();
  for (auto& score : profile.oracle.scores) {
    const auto is = [&](const PluginRef& p) { return p.name == score.name; };
    const auto& gone = plugins.multi_point.disabled;
    if (chance(60) || std::any_of(gone.begin(), gone.end(), is)) continue;
    score.weight = 1 + below(9);
    plugins.score.disabled.push_back({score.name, {}});
    plugins.score.enabled.push_back({score.name, static_cast<std::int32_t>(score.weight)});
  }
}

Symbol RandomObjects::namespace_() { return one_of(kNamespaces); }

Symbol RandomObjects::node_name() { return fmt::format("n{}", below(nodes_)); }

api::Time RandomObjects::start_time() {
  return api::Time(std::chrono::sys_seconds(std::chrono::seconds(1'600'000'000 + below(100'000'000))));
}

api::SymbolMap RandomObjects::pod_labels() {
  api::SymbolMap labels;
  static constexpr const char* kApps[] = {"web", "db", "cache"};
  if (chance(80)) labels["app"] = one_of(kApps);
  if (chance(40)) labels["tier"] = chance(50) ? "1" : "2";
  return labels;
}

std::shared_ptr<const api::Node> RandomObjects::node(int index) {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = fmt::format("n{}", index);
  api::SymbolMap& labels = node->metadata.labels;
  if (chance(95)) labels[kHostname] = node->metadata.name;
  static constexpr const char* kZones[] = {"a", "b", "c"};
  if (chance(85)) labels[kZone] = one_of(kZones);
  node_topology(*node);
  static constexpr const char* kDisks[] = {"ssd", "hdd", ""};
  if (chance(60)) labels["disk"] = one_of(kDisks);
  static constexpr const char* kGenerations[] = {"1", "2", "10", "007", "5", "new"};
  if (chance(60)) labels["generation"] = one_of(kGenerations);
  static constexpr const char* kCpu[] = {"2", "2500m", "4"};
  static constexpr const char* kMemory[] = {"2Gi", "4Gi", "5000M"};
  api::ResourceList& has = node->status.allocatable;
  has = {{"cpu", api::Quantity::must(one_of(kCpu))},
         {"memory", api::Quantity::must(one_of(kMemory))},
         {"pods", api::Quantity::from_int(3 + below(8))}};
  if (chance(50)) has[kGpu] = api::Quantity::from_int(below(4));
  if (chance(50)) has["ephemeral-storage"] = api::Quantity::must("10Gi");
  if (chance(30)) has["hugepages-2Mi"] = api::Quantity::must("64Mi");
  node->spec.unschedulable = chance(10);
  static constexpr const char* kEffects[] = {"NoSchedule", "NoExecute", "PreferNoSchedule",
                                             "PreferNoSchedule"};
  static constexpr const char* kValues[] = {"", "x", "y"};
  while (chance(30)) {
    const char* effect = one_of(kEffects);
    node->spec.taints.push_back({chance(50) ? "dedicated" : "soft", one_of(kValues), effect, {}});
  }
  static constexpr const char* kImages[] = {"registry/a:1", "registry/b:latest", "c:latest", "d:2"};
  for (int i = 0; i < 4; ++i)
    if (chance(35))
      node->status.images.push_back(
          {{kImages[i], fmt::format("registry/{}@sha256:0", i)}, (i + 1) * 300 * kMi});
  return node;
}

api::ResourceRequirements RandomObjects::requests() {
  static constexpr const char* kCpu[] = {"", "0", "100m", "100m", "250m", "500m", "1", "3"};
  static constexpr const char* kMemory[] = {"", "", "64Mi", "64Mi", "256Mi", "1Gi", "3Gi", "1500M"};
  api::ResourceRequirements out;
  const auto ask = [&](const char* name, const std::string& amount) {
    if (!amount.empty()) out.requests[name] = api::Quantity::must(amount);
  };
  ask("cpu", one_of(kCpu));
  ask("memory", one_of(kMemory));
  if (chance(15)) ask("ephemeral-storage", chance(50) ? "1Gi" : "11Gi");
  if (chance(20)) ask(kGpu, std::to_string(below(4)));
  if (chance(5)) ask("hugepages-2Mi", "32Mi");
  return out;
}

api::Container RandomObjects::container() {
  static constexpr const char* kImages[] = {"registry/a:1", "registry/b", "c", "d:2", "elsewhere:5000/e"};
  static constexpr const char* kAddresses[] = {"", "", "0.0.0.0", "10.0.0.1", "10.0.0.2"};
  static constexpr const char* kProtocols[] = {"", "TCP", "UDP"};
  api::Container c;
  c.image = one_of(kImages);
  c.resources = requests();
  if (chance(20)) {
    api::ContainerPort& p = c.ports.emplace_back();
    p.host_port = 80 + below(2);
    p.container_port = 80;
    p.protocol = one_of(kProtocols);
    p.host_ip = one_of(kAddresses);
  }
  return c;
}

api::Toleration RandomObjects::toleration() {
  static constexpr const char* kKeys[] = {"", "dedicated", "soft", "node.kubernetes.io/unschedulable"};
  static constexpr const char* kEffects[] = {"", "NoSchedule", "NoExecute", "PreferNoSchedule"};
  api::Toleration t;
  t.key = one_of(kKeys);
  t.effect = one_of(kEffects);
  t.operator_ = t.key.empty() || chance(50) ? "Exists" : chance(50) ? "Equal" : "";
  if (t.operator_ != "Exists") t.value = chance(50) ? "x" : "";
  return t;
}

api::NodeSelectorRequirement RandomObjects::requirement() {
  static constexpr const char* kOperators[] = {"In", "In", "NotIn", "Exists", "DoesNotExist"};
  static constexpr const char* kZones[] = {"a", "b", "c", "nowhere"};
  static constexpr const char* kNumbers[] = {"0", "2", "7"};
  switch (below(4)) {
    case 0: return {"generation", chance(50) ? "Gt" : "Lt", {one_of(kNumbers)}};
    case 1: return {"disk", chance(50) ? "Exists" : "DoesNotExist", {}};
    case 2: return {"disk", chance(50) ? "In" : "NotIn", {"ssd", ""}};
    default: break;
  }
  const char* op = one_of(kOperators);
  if (std::string_view(op).ends_with("s") || std::string_view(op) == "DoesNotExist") return {kZone, op, {}};
  return {kZone, op, {one_of(kZones), one_of(kZones)}};
}

api::NodeSelectorTerm RandomObjects::node_term() {
  api::NodeSelectorTerm term;
  if (chance(90)) term.match_expressions.push_back(requirement());
  if (chance(20)) term.match_expressions.push_back(requirement());
  if (chance(10)) term.match_fields.push_back({"metadata.name", chance(50) ? "In" : "NotIn", {node_name()}});
  return term;
}

void RandomObjects::node_affinity(api::Pod& pod) {
  api::NodeAffinity& affinity = pod.spec.affinity.ensure().node_affinity.ensure();
  if (chance(20)) {
    auto& terms = affinity.required.ensure().node_selector_terms;
    for (int i = 1 + below(2); i > 0; --i) {
      api::NodeSelectorTerm& term = terms.emplace_back();
      for (int j = chance(90) ? 1 : 2; j > 0; --j)
        term.match_fields.push_back({"metadata.name", "In", {node_name()}});
      if (chance(20)) term.match_expressions.push_back(requirement());
    }
  } else if (chance(60)) {
    auto& terms = affinity.required.ensure().node_selector_terms;
    for (int i = 1 + below(2); i > 0; --i) terms.push_back(node_term());
  }
  for (int i = below(3); i > 0; --i) affinity.preferred.push_back({1 + below(100), node_term()});
}

api::LabelSelector RandomObjects::selector() {
  api::LabelSelector s;
  static constexpr const char* kApps[] = {"web", "db", "cache"};
  if (chance(70)) s.match_labels["app"] = one_of(kApps);
  if (chance(15)) s.match_expressions.push_back({"tier", "NotIn", {"1"}});
  if (chance(10)) s.match_expressions.push_back({"tier", chance(50) ? "Exists" : "DoesNotExist", {}});
  if (chance(10)) s.match_expressions.push_back({"app", "In", {one_of(kApps), one_of(kApps)}});
  return s;
}

api::TopologySpreadConstraint RandomObjects::constraint() {
  static constexpr const char* kKeys[] = {kZone, kZone, kHostname, kHostname, "disk", "absent"};
  api::TopologySpreadConstraint c;
  c.max_skew = 1 + below(3);
  c.topology_key = one_of(kKeys);
  c.when_unsatisfiable = chance(50) ? "DoNotSchedule" : "ScheduleAnyway";
  if (chance(95)) c.label_selector = selector();
  if (c.when_unsatisfiable == "DoNotSchedule" && chance(20)) c.min_domains = 1 + below(5);
  if (chance(25)) c.node_affinity_policy = chance(50) ? "Ignore" : "Honor";
  if (chance(25)) c.node_taints_policy = chance(50) ? "Ignore" : "Honor";
  if (chance(20)) c.match_label_keys = {chance(50) ? "tier" : "absent"};
  return c;
}

api::PodAffinityTerm RandomObjects::affinity_term() {
  static constexpr const char* kKeys[] = {kZone, kZone, kHostname, kHostname, "disk", "absent"};
  api::PodAffinityTerm t;
  t.topology_key = one_of(kKeys);
  if (chance(95)) t.label_selector = selector();
  if (chance(20)) t.namespaces = {namespace_()};
  if (chance(20)) {
    api::LabelSelector& s = t.namespace_selector.emplace();
    if (chance(40)) s.match_labels["team"] = "a";
    if (chance(20)) s.match_expressions.push_back({"team", "NotIn", {"a"}});
  }
  return t;
}

void RandomObjects::pod_affinity(api::Pod& pod) {
  api::Affinity& affinity = pod.spec.affinity.ensure();
  const auto fill = [&](api::Box<api::PodAffinity>& box) {
    api::PodAffinity& a = box.ensure();
    for (int i = chance(50) ? 0 : 1 + below(2); i > 0; --i) a.required.push_back(affinity_term());
    for (int i = below(3); i > 0; --i) a.preferred.push_back({1 + below(100), affinity_term()});
  };
  if (chance(60)) fill(affinity.pod_affinity);
  if (chance(60)) fill(affinity.pod_anti_affinity);
}

/// One of three of a namespace.
template <class T>
std::shared_ptr<T> RandomObjects::named(const char* prefix) {
  auto object = std::make_shared<T>();
  object->metadata.name = fmt::format("{}-{}", prefix, below(3));
  object->metadata.namespace_ = namespace_();
  return object;
}

std::shared_ptr<const api::Namespace> RandomObjects::namespace_object(std::string_view name) {
  auto ns = std::make_shared<api::Namespace>();
  ns->metadata.name = name;
  if (chance(60)) ns->metadata.labels["team"] = chance(50) ? "a" : "b";
  return ns;
}
std::shared_ptr<const api::Service> RandomObjects::service() {
  auto service = named<api::Service>("service");
  if (chance(80)) service->spec.selector = pod_labels();
  return service;
}
std::shared_ptr<const api::ReplicationController> RandomObjects::replication_controller() {
  auto rc = named<api::ReplicationController>("rc");
  rc->spec.selector = pod_labels();
  return rc;
}
std::shared_ptr<const api::ReplicaSet> RandomObjects::replica_set() {
  auto rs = named<api::ReplicaSet>("rs");
  rs->spec.selector = selector();
  return rs;
}
std::shared_ptr<const api::StatefulSet> RandomObjects::stateful_set() {
  auto ss = named<api::StatefulSet>("ss");
  ss->spec.selector = selector();
  return ss;
}
std::shared_ptr<const api::PodDisruptionBudget> RandomObjects::budget() {
  auto budget = named<api::PodDisruptionBudget>("budget");
  // Not empty: that one's meaning is a matter of taste.
  if (chance(90)) {
    budget->spec.selector = selector();
    budget->spec.selector->match_labels["app"] = chance(50) ? "web" : "db";
  }
  budget->status.disruptions_allowed = below(3);
  return budget;
}

std::shared_ptr<const api::Pod> RandomObjects::pod(std::string name) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.name = name;
  pod->metadata.namespace_ = namespace_();
  pod->metadata.uid = fmt::format("uid-{}", name);
  pod->metadata.labels = pod_labels();
  static constexpr std::pair<const char*, const char*> kOwners[] = {{"v1", "ReplicationController"},
                                                                    {"apps/v1", "ReplicaSet"},
                                                                    {"apps/v1", "StatefulSet"},
                                                                    {"batch/v1", "Job"}};
  if (chance(50)) {
    const auto& [version, kind] = one_of(kOwners);
    api::OwnerReference& owner = pod->metadata.owner_references.emplace_back();
    owner.api_version = version;
    owner.kind = kind;
    owner.name = fmt::format("{}-{}",
                             kind == kOwners[0].second   ? "rc"
                             : kind == kOwners[1].second ? "rs"
                                                         : "ss",
                             below(3));
    owner.controller = chance(90);
  }
  pod->spec.scheduler_name = "default-scheduler";
  static constexpr std::int32_t kPriorities[] = {0, 0, 10, 100};
  if (chance(70)) pod->spec.priority = one_of(kPriorities);
  if (chance(10)) pod->spec.preemption_policy = "Never";
  for (int i = chance(80) ? 1 : 2; i > 0; --i) pod->spec.containers.push_back(container());
  if (chance(15)) {
    api::Container& c = pod->spec.init_containers.emplace_back(container());
    if (chance(50)) c.restart_policy = "Always";
  }
  if (chance(5)) pod->spec.overhead["cpu"] = api::Quantity::must("50m");
  for (int i = chance(40) ? 1 + below(2) : 0; i > 0; --i) pod->spec.tolerations.push_back(toleration());
  if (chance(15)) pod->spec.node_selector[kZone] = chance(50) ? "a" : "b";
  if (chance(35)) node_affinity(*pod);
  if (chance(35))
    for (int i = 1 + below(3); i > 0; --i) pod->spec.topology_spread_constraints.push_back(constraint());
  if (chance(35)) pod_affinity(*pod);
  if (chance(40)) volumes(*pod);
  return pod;
}

}  // namespace koord::scheduling::test
