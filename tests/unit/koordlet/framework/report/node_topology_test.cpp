// NodeResourceTopology: upstream's tables, and what is left of others' in a document.
#include "framework/report/node_topology.hpp"

#include <catch2/catch.hpp>

#include "framework/objects/pod_info.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "rigs/machines.hpp"

namespace koord::koordlet {
namespace {

using api::Quantity;
using testing::machine;

enum Annotation : std::size_t { basic, manager, ls, be, topology, allocs, reserved, system_qos };

const std::string kDetail =
    R"({"detail":[{"id":0,"core":0,"socket":0,"node":0},{"id":1,"core":0,"socket":0,"node":0},{"id":2,"core":1,"socket":0,"node":0},{"id":3,"core":1,"socket":0,"node":0},)"
    R"({"id":4,"core":2,"socket":1,"node":1},{"id":5,"core":2,"socket":1,"node":1},{"id":6,"core":3,"socket":1,"node":1},{"id":7,"core":3,"socket":1,"node":1}]})";

/// Upstream's: eight CPUs on two nodes, with that memory.
NodeFacts two_nodes() {
  NodeFacts facts;
  facts.topology = *machine(8);
  facts.topology.smt_active = facts.turbo = true;
  facts.cpu_model = "Model";
  facts.numa_memory = {{0, 263432804ULL * 1024}, {1, 263432000ULL * 1024}};
  return facts;
}

struct Said {
  const char* uid;
  const char* name;
  Qos qos = Qos::none;
  const char* cpus = nullptr;
};
std::shared_ptr<const PodInfo> pod(const Said& said) {
  auto info = std::make_shared<PodInfo>();
  info->uid = said.uid;
  info->name = said.name;
  info->ns = "default";
  info->qos = said.qos;
  if (said.cpus != nullptr) info->cpus = *host::CpuSet::parse(said.cpus);
  return info;
}

std::shared_ptr<const KubeletConfig> kubelet(std::string policy, std::int64_t reserved_milli = 0,
                                             std::string named = "") {
  auto config = std::make_shared<KubeletConfig>();
  config->static_cpu_policy = policy == "static";
  config->cpu_policy = std::move(policy);
  config->reserved_milli = reserved_milli;
  config->reserved_cpus = std::move(named);
  return config;
}

struct Case {
  const char* name;
  std::shared_ptr<const KubeletConfig> kubelet = koordlet::kubelet("static", 2000);
  std::vector<KubeletGrant> grants = {};
  const char* reservation = nullptr;
  const char* system = nullptr;
  std::vector<std::pair<Annotation, std::string>> wanted;
};

NodeTopology made(const Case& one, api::Node& node) {
  Inventory inventory;
  inventory.kubelet = one.kubelet;
  for (const Said& said : {Said{"xxx-y1", "pod1", Qos::lsr, "4"}, Said{"xxx-y2", "pod2", Qos::lsr, "3"},
                           Said{"xxx-y3", "pod3", Qos::lse, "5"}, Said{"xxx-y4", "pod4"}})
    inventory.all_pods.push_back(pod(said));
  inventory.own_cpus.grants = one.grants;
  node.metadata.annotations["theirs"] = "x";
  if (one.reservation != nullptr)
    node.metadata.annotations["node.koordinator.sh/reservation"] = one.reservation;
  if (one.system != nullptr)
    node.metadata.annotations["node.koordinator.sh/system-qos-resource"] = one.system;
  std::vector<std::string> warnings;
  inventory.node = read_node(node, warnings);
  return node_topology(two_nodes(), inventory, node);
}

TEST_CASE("NodeResourceTopology's annotations, as upstream writes them") {
  const std::string both = R"([{"socket":0,"node":0,"cpuset":"0-2"},{"socket":1,"node":1,"cpuset":"6-7"}])";
  const Case cases[] = {
      {.name = "the kubelet's static policy, nobody having CPUs of it",
       .wanted =
           {{basic,
             R"({"cpuModel":"Model","hyperThreadEnabled":true,"turboEnabled":true,"vendorID":"unknown"})"},
            {manager, R"({"policy":"static","reservedCPUs":"0-1"})"},
            {ls, both},
            {be, R"([{"socket":0,"node":0,"cpuset":"0-3"},{"socket":1,"node":1,"cpuset":"4,6-7"}])"},
            {topology, kDetail},
            {allocs, "null"},
            {reserved, "{}"},
            {system_qos, "{}"}}},
      {.name = "reserved CPUs, and the system's",
       .reservation = R"({"reservedCPUs":"1-2"})",
       .system = R"({"cpuset":"7"})",
       .wanted = {{ls, R"([{"socket":0,"node":0,"cpuset":"0"},{"socket":1,"node":1,"cpuset":"6"}])"},
                  {reserved, R"({"reservedCPUs":"1-2"})"},
                  {system_qos, R"({"cpuset":"7"})"}}},
      {.name = "the system's CPUs, which others may use",
       .system = R"({"cpusetExclusive":false,"cpuset":"7","more":1})",
       .wanted = {{ls, both}, {system_qos, R"({"cpuset":"7","cpusetExclusive":false})"}}},
      {.name = "all of a node's CPUs are reserved",
       .reservation = R"({"reservedCPUs":"0-3"})",
       .wanted = {{ls, R"([{"socket":0,"node":0},{"socket":1,"node":1,"cpuset":"6-7"}])"}}},
      {.name = "the kubelet is not asked",
       .kubelet = nullptr,
       .wanted = {{manager, "{}"}, {ls, both}, {allocs, "null"}}},
      {.name = "a pod of the kubelet's",
       .grants = {{"xxx-y4", {1}}},
       .wanted =
           {{allocs,
             R"([{"namespace":"default","name":"pod4","uid":"xxx-y4","cpuset":"1","managedByKubelet":true}])"},
            {ls, R"([{"socket":0,"node":0,"cpuset":"0,2"},{"socket":1,"node":1,"cpuset":"6-7"}])"}}},
      {.name = "one that it does not name any more",
       .grants = {{"aaa", {0, 1}}, {"xxx-y1", {2}}},
       .wanted = {{allocs, R"([{"uid":"aaa","cpuset":"0-1","managedByKubelet":true}])"}}},
      {.name = "the policy is none",
       .kubelet = kubelet("none"),
       .wanted = {{manager, R"({"policy":"none"})"}}},
      {.name = "reserved by amount",
       .reservation = R"({"applyPolicy":"ReservedCPUsOnly","resources":{"memory":"1024Mi","cpu":1.5}})",
       .wanted =
           {{reserved,
             R"({"resources":{"cpu":"1500m","memory":"1Gi"},"reservedCPUs":"0-1","applyPolicy":"ReservedCPUsOnly"})"},
            {ls, R"([{"socket":0,"node":0,"cpuset":"2"},{"socket":1,"node":1,"cpuset":"6-7"}])"}}},
      {.name = "annotations that make no sense are as if they were not there",
       .reservation = R"({"resources":{"cpu":"lots"}})",
       .system = "0b",
       .wanted = {{reserved, "{}"}, {system_qos, "{}"}, {ls, both}}},
  };
  for (const Case& one : cases) {
    CAPTURE(one.name);
    api::Node node;
    const NodeTopology now = made(one, node);
    for (const auto& [annotation, text] : one.wanted) CHECK(now.annotations[annotation] == text);
  }
  api::Node bare;
  CHECK(node_topology(two_nodes(), {}, bare).annotations[system_qos] == "null");
}

TEST_CASE("What an operator reserves is CPUs, too") {
  const auto twelve = machine({{0, 0, 0, 0},
                               {1, 1, 1, 1},
                               {2, 2, 0, 0},
                               {3, 3, 1, 1},
                               {4, 4, 0, 0},
                               {5, 5, 1, 1},
                               {6, 0, 0, 0},
                               {7, 1, 1, 1},
                               {8, 2, 0, 0},
                               {9, 3, 1, 1},
                               {10, 4, 0, 0},
                               {11, 5, 1, 1}});
  struct Row {
    const char *said, *told;
  };
  const Row rows[] = {
      {"", "{}"},
      {"{}", "{}"},
      {R"({"resources":{"cpu":"2"}})", R"({"resources":{"cpu":"2"},"reservedCPUs":"0,6"})"},
      {R"({"resources":{"cpu":"2500m"}})", R"({"resources":{"cpu":"2500m"},"reservedCPUs":"0,2,6"})"},
      {R"({"resources":{"cpu":"-2"}})", R"({"resources":{"cpu":"-2"}})"},
      {R"({"reservedCPUs":"0-1"})", R"({"reservedCPUs":"0-1"})"},
      {R"({"reservedCPUs":"-1"})", "{}"},
      {R"({"resources":{"cpu":"10"},"reservedCPUs":"0-1"})",
       R"({"resources":{"cpu":"10"},"reservedCPUs":"0-1"})"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.said);
    api::Node node;
    node.metadata.annotations["node.koordinator.sh/reservation"] = row.said;
    NodeFacts facts;
    facts.topology = *twelve;
    Inventory inventory;
    std::vector<std::string> warnings;
    inventory.node = read_node(node, warnings);
    CHECK(node_topology(facts, inventory, node).annotations[reserved] == row.told);
  }
  struct Kept {
    std::shared_ptr<const KubeletConfig> config;
    const char* cpus;
  };
  const Kept kept[] = {{kubelet("none", 2000), ""},          {kubelet("static", 2000), "0,6"},
                       {kubelet("static", 1100), "0,6"},     {kubelet("static", 0), ""},
                       {kubelet("static", 0, "1-4"), "1-4"}, {kubelet("static", 2000, "1-4"), "1-4"},
                       {kubelet("static", 0, "1-40"), ""},   {kubelet("static", 0, "x"), ""},
                       {kubelet("static", 13000), ""}};
  for (const Kept& row : kept) CHECK(kubelet_reserved_cpus(*twelve, *row.config).to_string() == row.cpus);
}

TEST_CASE("topologyPolicies has the kubelet's policy and scope in one word") {
  struct Row {
    const char *policy, *scope, *word;
  };
  const Row rows[] = {{"", "", "None"},
                      {"", "container", "None"},
                      {"best-effort", "", "None"},
                      {"single-numa-node", "container", "SingleNUMANodeContainerLevel"},
                      {"restricted", "container", "RestrictedContainerLevel"},
                      {"best-effort", "container", "BestEffortContainerLevel"},
                      {"none", "container", "None"},
                      {"single-numa-node", "pod", "SingleNUMANodePodLevel"},
                      {"restricted", "pod", "RestrictedPodLevel"},
                      {"best-effort", "pod", "BestEffortPodLevel"},
                      {"none", "pod", "None"}};
  for (const Row& row : rows) CHECK(topology_policy(row.policy, row.scope) == row.word);
}

std::string told(const std::vector<api::TopologyZone>& zones) {
  std::string text;
  for (const api::TopologyZone& zone : zones) {
    text.append(zone.name.view()).append(":");
    for (const api::TopologyResource& one : zone.resources) {
      CHECK(one.capacity == one.allocatable);
      CHECK(one.available == one.allocatable);
      text.append(" ").append(one.name.view()).append("=").append(one.allocatable.to_string());
    }
    text += "; ";
  }
  return text;
}

TEST_CASE("Zones are the memory nodes; with a reservation each keeps its part of what the kubelet keeps") {
  struct Row {
    const char* name;
    const char* label;
    const char *capacity_cpu, *allocatable_cpu, *capacity_memory, *allocatable_memory;
    const char* zones;
  };
  constexpr const char* kAll =
      "node-0: cpu=4 hugepages-1Gi=0 hugepages-2Mi=0 memory=10Gi; "
      "node-1: cpu=4 hugepages-1Gi=0 hugepages-2Mi=0 memory=10Gi; ";
  const Row rows[] = {
      {"no label", nullptr, "8", "7", "20Gi", "18Gi", kAll},
      {"switched off", "false", "8", "7", "20Gi", "18Gi", kAll},
      {"switched on", "true", "8", "7", "20Gi", "18Gi",
       "node-0: cpu=3500m hugepages-1Gi=0 hugepages-2Mi=0 memory=9Gi; "
       "node-1: cpu=3500m hugepages-1Gi=0 hugepages-2Mi=0 memory=9Gi; "},
      {"nothing kept", "true", "8", "8", "20Gi", "20Gi", kAll},
      {"amplified", "true", "8", "12", "20Gi", "20Gi", kAll},
      {"rounded up", "true", "8", "7999m", "20Gi", "21474836479",
       "node-0: cpu=3999m hugepages-1Gi=0 hugepages-2Mi=0 memory=10737418239500m; "
       "node-1: cpu=3999m hugepages-1Gi=0 hugepages-2Mi=0 memory=10737418239500m; "},
      {"more than there is", "true", "80", "8", "200Gi", "20Gi",
       "node-0: cpu=0 hugepages-1Gi=0 hugepages-2Mi=0 memory=0; "
       "node-1: cpu=0 hugepages-1Gi=0 hugepages-2Mi=0 memory=0; "},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    NodeFacts facts = two_nodes();
    facts.numa_memory = {{0, 10ULL << 30}, {1, 10ULL << 30}};
    api::Node node;
    if (row.label != nullptr) node.metadata.labels["node.koordinator.sh/enable-numa-reservation"] = row.label;
    node.status.capacity["cpu"] = Quantity::must(row.capacity_cpu);
    node.status.allocatable["cpu"] = Quantity::must(row.allocatable_cpu);
    node.status.capacity["memory"] = Quantity::must(row.capacity_memory);
    node.status.allocatable["memory"] = Quantity::must(row.allocatable_memory);
    CHECK(told(node_topology(facts, {}, node).zones) == row.zones);
  }
  // Upstream's amounts; and nodes that have memory alone, numbers that are left out.
  NodeFacts facts = two_nodes();
  CHECK(told(node_topology(facts, {}, {}).zones) ==
        "node-0: cpu=4 hugepages-1Gi=0 hugepages-2Mi=0 memory=263432804Ki; "
        "node-1: cpu=4 hugepages-1Gi=0 hugepages-2Mi=0 memory=263432000Ki; ");
  // With the gate HugePageReport: what is kept for them is no memory for anybody else.
  facts.numa_memory[0].huge = {.two_mib = 20 << 21, .one_gib = 0};
  facts.numa_memory[1].huge = {.two_mib = 40 << 21, .one_gib = 20ULL << 30};
  CHECK(told(node_topology(facts, {}, {}).zones) ==
        "node-0: cpu=4 hugepages-1Gi=0 hugepages-2Mi=40Mi memory=263391844Ki; "
        "node-1: cpu=4 hugepages-1Gi=20Gi hugepages-2Mi=80Mi memory=242378560Ki; ");
  facts.topology = *machine({{0, 0, 0, 0}, {1, 1, 0, 2}});
  facts.topology.nodes.push_back({10, {}});
  facts.numa_memory = {{0, 1 << 20}, {10, 2 << 20}};
  CHECK(told(node_topology(facts, {}, {}).zones) ==
        "node-0: cpu=1 hugepages-1Gi=0 hugepages-2Mi=0 memory=1Mi; "
        "node-10: cpu=0 hugepages-1Gi=0 hugepages-2Mi=0 memory=2Mi; "
        "node-2: cpu=1 hugepages-1Gi=0 hugepages-2Mi=0 memory=0; ");
  NodeFacts plain;  // a kernel without NUMA
  plain.topology = *machine({{0, 0, 0, 0}});
  plain.memory = 1 << 30;
  CHECK(told(node_topology(plain, {}, {}).zones) ==
        "node-0: cpu=1 hugepages-1Gi=0 hugepages-2Mi=0 memory=1Gi; ");
}

NodeTopology wanted() {
  api::Node node;
  return made({.name = "", .wanted = {}}, node);
}

/// As the API server holds it after this agent wrote it.
api::NodeResourceTopology stored(const NodeTopology& topology) {
  api::Node node;
  node.metadata.name = "n1";
  return *api::decode<api::NodeResourceTopology>(new_topology(topology, node));
}

TEST_CASE("What counts as a change") {
  const NodeTopology now = wanted();
  CHECK(stale_part(stored(now), now).empty());
  struct Row {
    const char* name;
    std::function<void(api::NodeResourceTopology&)> change;
    const char* stale;
  };
  using Object = api::NodeResourceTopology;
  const Row rows[] = {
      {"nothing there", [](Object& o) { o = {}; }, "topologyPolicies"},
      {"another policy", [](Object& o) { o.topology_policies = {"RestrictedPodLevel"}; }, "topologyPolicies"},
      {"other pools",
       [](Object& o) { o.metadata.annotations["node.koordinator.sh/be-cpu-shared-pools"] = "[]"; },
       "node.koordinator.sh/be-cpu-shared-pools"},
      {"the same in another order",
       [](Object& o) {
         o.metadata.annotations["node.koordinator.sh/cpu-shared-pools"] =
             R"([{"cpuset":"0-2", "node":0,"socket":0},{"socket":1,"node":1,"cpuset":"6-7"}])";
       },
       ""},
      {"no JSON", [](Object& o) { o.metadata.annotations["node.koordinator.sh/pod-cpu-allocs"] = "{"; },
       "node.koordinator.sh/pod-cpu-allocs"},
      {"one is missing",
       [](Object& o) { o.metadata.annotations.erase("kubelet.koordinator.sh/cpu-manager-policy"); },
       "kubelet.koordinator.sh/cpu-manager-policy"},
      {"somebody else's annotation", [](Object& o) { o.metadata.annotations["theirs"] = "1"; }, ""},
      {"a label that the Node has no more",
       [](Object& o) { o.metadata.labels["node.koordinator.sh/enable-numa-reservation"] = "true"; },
       "node.koordinator.sh/enable-numa-reservation"},
      {"a zone more", [](Object& o) { o.zones.push_back({.name = "node-9", .type = "Node"}); }, "zones"},
      {"a zone of another type", [](Object& o) { o.zones[0].type = "Socket"; }, "zones"},
      {"an amount that is gone", [](Object& o) { o.zones[1].resources.erase(o.zones[1].resources.begin()); },
       "zones"},
      {"another amount", [](Object& o) { o.zones[0].resources[0].allocatable = Quantity::from_int(2); },
       "zones"},
      {"the same amount in other words",
       [](Object& o) { o.zones[0].resources[0].allocatable = Quantity::must("4000m"); }, ""},
      {"somebody else's resource",
       [](Object& o) {
         o.zones[0].resources.push_back({"kubernetes.io/batch-cpu", Quantity(), Quantity(), Quantity()});
       },
       ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    api::NodeResourceTopology object = stored(now);
    row.change(object);
    CHECK(stale_part(object, now) == row.stale);
  }
}

TEST_CASE("A new one is the node's and the agent's") {
  api::Node node;
  node.metadata.name = "n1";
  node.metadata.uid = "u-1";
  const NodeTopology topology = wanted();
  const auto document = json::parse(new_topology(topology, node));
  REQUIRE(document.has_value());
  CHECK(
      json::to_text(*json::find(*document, "metadata", "ownerReferences")) ==
      R"([{"apiVersion":"v1","kind":"Node","name":"n1","uid":"u-1","controller":true,"blockOwnerDeletion":true}])");
  CHECK(json::to_text(*json::find(*document, "metadata", "labels")) ==
        R"({"app.kubernetes.io/managed-by":"Koordinator"})");
  CHECK(json::to_text(*json::find(*document, "topologyPolicies")) == R"(["None"])");
  CHECK(json::find(*document, "zones")->size() == 2);
  CHECK(json::find(*document, "metadata", "annotations")->size() == 8);
}

TEST_CASE("In a document that is there, others' parts stay, and zones that are no more go") {
  auto document = json::parse(
      R"({"kind":"NodeResourceTopology","future":{"a":1},"metadata":{"name":"n1","resourceVersion":"7",
          "labels":{"theirs":"stays","node.koordinator.sh/enable-numa-reservation":"true"},
          "annotations":{"theirs":"stays","node.koordinator.sh/pod-cpu-allocs":"[]"}},
          "topologyPolicies":["BestEffort"],
          "zones":[
            {"name":"fake-name","type":"Node","resources":[{"name":"cpu","capacity":"9","allocatable":"9","available":"9"}]},
            {"name":"node-1","type":"Node","costs":[{"name":"node-0","value":20}],"attributes":[{"name":"a","value":"b"}],"new":1},
            {"name":"node-0","type":"Node","resources":[
              {"name":"memory","capacity":"1","allocatable":"1","available":"1"},
              {"name":"gpu","capacity":"2","allocatable":"1","available":"0","new":true},
              {"name":"cpu","capacity":"2","allocatable":"2","available":"2"}]}]})");
  REQUIRE(document.has_value());
  const NodeTopology topology = wanted();
  write_topology(*document, topology);
  CHECK(json::int_at(*document, "future", "a") == 1);
  CHECK(json::text_at(*document, "metadata", "resourceVersion") == "7");
  CHECK(json::to_text(*json::find(*document, "metadata", "labels")) == R"({"theirs":"stays"})");
  CHECK(json::text_at(*document, "metadata", "annotations", "theirs") == "stays");
  CHECK(json::text_at(*document, "metadata", "annotations", "node.koordinator.sh/pod-cpu-allocs") == "null");
  CHECK(json::to_text(*json::find(*document, "topologyPolicies")) == R"(["None"])");
  const json::Value& zones = *json::find(*document, "zones");
  REQUIRE(zones.size() == 2);
  CHECK(
      json::to_text(*json::find(zones[0], "resources")) ==
      R"([{"name":"cpu","capacity":"4","allocatable":"4","available":"4"},)"
      R"({"name":"gpu","capacity":"2","allocatable":"1","available":"0","new":true},)"
      R"({"name":"hugepages-1Gi","capacity":"0","allocatable":"0","available":"0"},)"
      R"({"name":"hugepages-2Mi","capacity":"0","allocatable":"0","available":"0"},)"
      R"({"name":"memory","capacity":"263432804Ki","allocatable":"263432804Ki","available":"263432804Ki"}])");
  CHECK(json::text_at(zones[1], "name") == "node-1");
  CHECK(json::to_text(*json::find(zones[1], "costs")) == R"([{"name":"node-0","value":20}])");
  CHECK(json::int_at(zones[1], "new") == 1);
  CHECK(json::find(zones[1], "resources")->size() == 4);
  const auto object = api::decode<api::NodeResourceTopology>(json::to_text(*document));
  REQUIRE(object.has_value());
  CHECK(stale_part(*object, topology).empty());
}

TEST_CASE("A document that is not in order is put in order") {
  const NodeTopology topology = wanted();
  for (
      const char* text :
      {"{}", "[]", "7", R"({"metadata":7,"topologyPolicies":{},"zones":{"a":1}})",
       R"({"metadata":{"labels":[],"annotations":"x"},"zones":[7,null,{"name":7},{"name":"node-0","resources":[1,{}]}]})"}) {
    CAPTURE(text);
    auto document = json::parse(text);
    REQUIRE(document.has_value());
    write_topology(*document, topology);
    CHECK(json::find(*document, "zones")->size() == 2);
    CHECK(json::find(*document, "metadata", "annotations")->size() == 8);
  }
}

}  // namespace
}  // namespace koord::koordlet
