// What would happen if: a pod that somebody pastes into the page, as the page's asker takes it, against an
// engine with a small cluster (tainted, full, with GPUs, memory nodes, a quota, a gang, a reservation).
// Whatever it is: an answer in JSON of the nodes that there are, or an error that says something.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "is_json.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/pod_group.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/api/types/topology_v1alpha1/node_resource_topology.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/manual_clock.hpp"
#include "koord/scheduling/cluster/transforms.hpp"
#include "koord/scheduling/config/gates.hpp"
#include "koord/scheduling/engine/engine.hpp"
#include "koord/scheduling/what_if/explain.hpp"
#include "koord/view/ask/engine_to_ask.hpp"
#include "koord/view/ask/pod_file.hpp"

using namespace koord;

namespace {

constexpr std::size_t kMostPasted = std::size_t{256} << 10;
constexpr auto kLongest = std::chrono::seconds{5};

void check(bool holds) {
  if (!holds) std::abort();
}

template <class T>
std::shared_ptr<const T> read(std::string_view json) {
  auto object = api::decode<T>(json);
  check(object.has_value());
  return std::make_shared<const T>(std::move(*object));
}

constexpr std::array<std::string_view, 4> kNodes = {
    R"({"metadata":{"name":"a","labels":{"kubernetes.io/hostname":"a","topology.kubernetes.io/zone":"x","disk":"ssd"}},
        "status":{"allocatable":{"cpu":"8","memory":"32Gi","pods":"110","kubernetes.io/batch-cpu":"4000","kubernetes.io/batch-memory":"8Gi"},
        "images":[{"names":["i"],"sizeBytes":1000000000}],"conditions":[{"type":"Ready","status":"True"}]}})",
    R"({"metadata":{"name":"b","labels":{"kubernetes.io/hostname":"b","topology.kubernetes.io/zone":"y"}},
        "spec":{"taints":[{"key":"k","value":"v","effect":"NoSchedule"},{"key":"p","effect":"PreferNoSchedule"}]},
        "status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"2"},"conditions":[{"type":"Ready","status":"True"}]}})",
    R"({"metadata":{"name":"c","labels":{"kubernetes.io/hostname":"c","topology.kubernetes.io/zone":"y"}},"spec":{"unschedulable":true},
        "status":{"allocatable":{"cpu":"64","memory":"256Gi","pods":"110"}}})",
    R"({"metadata":{"name":"g","labels":{"kubernetes.io/hostname":"g","topology.kubernetes.io/zone":"x"}},
        "status":{"allocatable":{"cpu":"32","memory":"128Gi","pods":"110","nvidia.com/gpu":"2","koordinator.sh/gpu":"200",
        "koordinator.sh/gpu-core":"200","koordinator.sh/gpu-memory-ratio":"200","koordinator.sh/gpu-memory":"32Gi"},
        "conditions":[{"type":"Ready","status":"True"}]}})"};
constexpr std::array<std::string_view, 3> kPods = {
    R"({"metadata":{"name":"full","namespace":"default","uid":"1","labels":{"app":"full"}},
        "spec":{"nodeName":"b","priority":5,"containers":[{"name":"m","resources":{"requests":{"cpu":"4"}},"ports":[{"containerPort":80,"hostPort":80}]}]}})",
    R"({"metadata":{"name":"apart","namespace":"default","uid":"2","labels":{"app":"apart"}},"spec":{"nodeName":"a","priority":9000,
        "affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"topology.kubernetes.io/zone",
        "labelSelector":{"matchLabels":{"app":"apart"}}}]}},"containers":[{"name":"m","resources":{"requests":{"cpu":"1","memory":"1Gi"}}}]}})",
    R"({"metadata":{"name":"waits","namespace":"default","uid":"3","labels":{"pod-group.scheduling.sigs.k8s.io":"train"}},
        "spec":{"schedulerName":"koord-scheduler","containers":[{"name":"m","resources":{"requests":{"cpu":"100"}}}]}})"};
constexpr std::string_view kDevice = R"({"metadata":{"name":"g"},"spec":{"devices":[
    {"id":"GPU-0","type":"gpu","minor":0,"health":true,"topology":{"socketID":0,"nodeID":0,"pcieID":"p0"},
     "resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory-ratio":"100","koordinator.sh/gpu-memory":"16Gi"}},
    {"id":"GPU-1","type":"gpu","minor":1,"health":true,"topology":{"socketID":0,"nodeID":1,"pcieID":"p1"},
     "resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory-ratio":"100","koordinator.sh/gpu-memory":"16Gi"}}]}})";
constexpr std::string_view kTopology =
    R"({"metadata":{"name":"a","annotations":{"node.koordinator.sh/cpu-topology":
    "{\"detail\":[{\"id\":0,\"core\":0,\"socket\":0,\"node\":0},{\"id\":1,\"core\":0,\"socket\":0,\"node\":0},{\"id\":2,\"core\":1,\"socket\":0,\"node\":1},{\"id\":3,\"core\":1,\"socket\":0,\"node\":1}]}"}},
    "topologyPolicies":["SingleNUMANodeContainerLevel"],"zones":[{"name":"node-0","type":"Node","resources":[{"name":"cpu","capacity":"4","allocatable":"4","available":"4"}]},
    {"name":"node-1","type":"Node","resources":[{"name":"cpu","capacity":"4","allocatable":"4","available":"4"}]}]})";
constexpr std::string_view kQuota =
    R"({"metadata":{"name":"team","namespace":"default"},"spec":{"min":{"cpu":"1"},"max":{"cpu":"2","memory":"4Gi"}}})";
constexpr std::string_view kGroup =
    R"({"metadata":{"name":"train","namespace":"default"},"spec":{"minMember":3}})";
constexpr std::string_view kReservation =
    R"({"metadata":{"name":"room","uid":"r"},"spec":{"owners":[{"labelSelector":{"matchLabels":{"app":"mine"}}}],
    "template":{"spec":{"containers":[{"name":"m","resources":{"requests":{"cpu":"2","memory":"2Gi"}}}]}}},
    "status":{"phase":"Available","nodeName":"a","allocatable":{"cpu":"2","memory":"2Gi"}}})";
constexpr std::string_view kMetric =
    R"({"metadata":{"name":"a"},"spec":{"metricCollectPolicy":{"reportIntervalSeconds":60}},
    "status":{"updateTime":"2026-01-01T00:00:00Z","nodeMetric":{"nodeUsage":{"resources":{"cpu":"7500m","memory":"30Gi"}}}}})";

struct World {
  std::vector<std::shared_ptr<const api::Node>> nodes;
  std::vector<std::shared_ptr<const api::Pod>> pods, waiting;
  std::shared_ptr<const api::Device> device = read<api::Device>(kDevice);
  std::shared_ptr<const api::NodeResourceTopology> topology = read<api::NodeResourceTopology>(kTopology);
  std::shared_ptr<const api::ElasticQuota> quota = read<api::ElasticQuota>(kQuota);
  std::shared_ptr<const api::PodGroup> group = read<api::PodGroup>(kGroup);
  std::shared_ptr<const api::Reservation> reservation = read<api::Reservation>(kReservation);
  std::shared_ptr<const api::NodeMetric> metric = read<api::NodeMetric>(kMetric);

  World() {
    for (const std::string_view each : kNodes) nodes.push_back(read<api::Node>(each));
    for (const std::string_view each : kPods) pods.push_back(read<api::Pod>(each));
    waiting.push_back(pods.back());
  }
  void fill(scheduling::Engine& engine) const {
    for (const auto& each : nodes) engine.put_node(each);
    for (const auto& each : pods) engine.put_pod(each);
    engine.put_object(device);
    engine.put_object(topology);
    engine.put_object(quota);
    engine.put_object(group);
    engine.put_object(reservation);
    engine.put_object(metric);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMostPasted) return 0;
  static const World world;
  static const FeatureGates gates(scheduling::gates());
  const Result<std::string> json = view::pod_of_manifest(
      std::string_view(reinterpret_cast<const char*>(data), size), "the pod", "default");
  if (!json) return check(!json.error().message().empty()), 0;
  check(is_json(*json));
  const Result<std::shared_ptr<api::Pod>> pod = view::pod_as_written(*json);
  if (!pod) return check(!pod.error().message().empty()), 0;

  ManualClock clock(WallTime{std::chrono::seconds{1'767'225'660}});  // a minute after the report
  auto asked = view::make_engine_to_ask(clock, {}, gates);
  check(asked.has_value());
  world.fill(*asked->engine);
  scheduling::explain::Question question;
  question.pod = asked->transforms ? scheduling::Transforms().pod(*pod) : *pod;
  question.exists = false;
  question.defaults = true;
  question.ahead = view::pods_ahead(world.waiting, *question.pod);
  question.now = clock.now();
  question.give_up = [end = std::chrono::steady_clock::now() + kLongest] {
    return std::chrono::steady_clock::now() >= end;
  };
  const scheduling::explain::ExplanationView said = scheduling::explain::explain(*asked->engine, question);
  check(said.nodes >= 0 && said.feasible >= 0 && said.feasible <= said.nodes);
  check(std::cmp_less_equal(said.nodes, kNodes.size()));
  for (const auto& best : said.best)
    check(
        std::ranges::any_of(world.nodes, [&](const auto& node) { return node->metadata.name == best.node; }));
  check(is_json(api::encode(said)));
  return 0;
}
