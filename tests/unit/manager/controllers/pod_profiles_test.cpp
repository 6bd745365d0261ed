// The controller colocationprofile: which pods it tells of, once each, on an API server that the test plays.
#include "controllers/pod_profiles.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>

#include "admission/handlers.hpp"
#include "koord/json/value.hpp"
#include "role.hpp"
#include "settings.hpp"
#include "support/role_rig.hpp"

namespace koord::manager {
namespace {

constexpr std::string_view kBatch = R"("kubernetes.io/batch-cpu":"1k","kubernetes.io/batch-memory":"1Gi")",
                           kNative = R"("cpu":"1","memory":"1Gi")";

/// Namespaces "users", "kube-system", "koordinator-system" and "control" (of the control plane), pods and
/// profiles as they were put; one manager's controller, told of pods as its role tells it.
struct World : test::RoleRig {
  explicit World(std::string_view switches = {}) : RoleRig(manager::role(), {}) {
    REQUIRE(gates.set(switches).has_value());
    server.answer = [this](const net::Request& request) -> Result<net::Response> {
      if (request.target.find("sendInitialEvents") != std::string::npos)
        return test::status_response(422, "Invalid");
      if (request.target.find("watch=") != std::string::npos) return test::json_response(200, "");
      std::string items;
      for (const auto& [kind, object] : objects)
        if (request.target.find(fmt::format("/{}", kind)) != std::string::npos)
          items += (items.empty() ? "" : ",") + object;
      return test::json_response(
          200, fmt::format(R"({{"metadata":{{"resourceVersion":"1"}},"items":[{}]}})", items));
    };
    for (const std::string_view name : {"users", "kube-system", "koordinator-system"})
      put("namespaces", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name));
    put("namespaces", R"({"metadata":{"name":"control","labels":{"control-plane":"x"}}})");
  }
  void put(std::string kind, std::string object) { objects.emplace(std::move(kind), std::move(object)); }
  void pod(std::string_view name, std::string_view labels, std::string_view resources,
           std::string_view rest = {}, std::string_view ns = "users") {
    put("pods",
        fmt::format(
            R"({{"metadata":{{"namespace":"{}","name":"{}","uid":"uid-{}","creationTimestamp":"2026-01-02T03:00:00Z",)"
            R"("labels":{{{}}}{}}},"spec":{{"priority":5500,"containers":[{{"name":"c","resources":)"
            R"({{"requests":{{{}}},"limits":{{{}}}}}}}]}}}})",
            ns, name, name, labels, rest, resources, resources));
  }
  /// From a day before the pods, so that they should have it.
  void profile(std::string_view name, std::string_view spec, std::string_view annotations = {}) {
    put("clustercolocationprofiles",
        fmt::format(
            R"({{"metadata":{{"name":"{}","generation":1,"creationTimestamp":"2026-01-01T03:00:00Z","annotations":{{{}}}}},"spec":{}}})",
            name, annotations, spec));
  }

  PodProfiles& begin() {
    HandlerContext rules{context, api};
    auto pods = informers.informer<api::Pod>(api);
    controller = std::make_unique<PodProfiles>(
        PodProfiles::Parts{.clock = loop.clock,
                           .log = log,
                           .client = api,
                           .profiles = informers.informer<api::ClusterColocationProfile>(api),
                           .pods = pods,
                           .namespaces = informers.informer<api::Namespace>(api),
                           .registry = metrics,
                           .settings = profile_settings(context),
                           .rules = pod_rules(rules),
                           .own_namespace = "koordinator-system",
                           .may_write = [this] { return leads; },
                           .dice = [] { return 0; },
                           .warn = [](const api::Pod&, std::string_view, std::string_view) {},
                           .warn_once =
                               [this](const api::Pod& pod, std::string_view reason, std::string_view note) {
                                 events.push_back(fmt::format("{} {}: {}", pod.metadata.name, reason, note));
                               }});
    informers.start();
    loop.settle();
    controller->start(tasks);
    for (int i = 0; i < 20; ++i) loop.advance(std::chrono::milliseconds(100));
    return *controller;
  }
  ~World() override { controller.reset(); }

  std::multimap<std::string, std::string> objects;
  bool leads = true;
  std::vector<std::string> events;
  std::unique_ptr<PodProfiles> controller;
};

TEST_CASE("pods that the webhooks would have refused or translated are told of, once each") {
  World world;
  world.pod("right", R"("koordinator.sh/qosClass":"BE")", kBatch);
  world.pod("class", R"("koordinator.sh/qosClass":"LSR")", R"("cpu":"1500m")");
  world.pod("lent", R"("koordinator.sh/qosClass":"LS")", kBatch);
  world.pod("reserved", "", "", R"(,"annotations":{"scheduling.koordinator.sh/reserve-pod":"true"})");
  world.pod("native", R"("koordinator.sh/qosClass":"BE")", kNative);
  world.pod("profiled", R"("koordinator.sh/qosClass":"BE","app":"a")", kNative);
  world.pod("kept", R"("koordinator.sh/qosClass":"BE","app":"kept")", kNative);
  world.pod("stranger", "", "", "", "kube-system");
  for (const std::string_view ns : {"kube-system", "koordinator-system", "control"})
    world.pod(fmt::format("in-{}", ns), R"("koordinator.sh/qosClass":"BE")", kNative, "", ns);
  world.profile("p", R"({"selector":{"matchLabels":{"app":"a"}},"qosClass":"BE"})");
  world.profile("k", R"({"selector":{"matchLabels":{"app":"kept"}},"qosClass":"BE"})",
                R"("config.koordinator.sh/skip-update-resources":"true")");
  PodProfiles& controller = world.begin();
  std::ranges::sort(world.events);
  const std::string past = ": the webhook was not asked, or somebody changed it since";
  const std::vector<std::string> expected = {
      "class PodRuleBroken: /validate-pod (ClusterColocationProfile) refuses such a pod: ",
      "class ResourcesNotTranslated: the pod is of class koord-batch",
      "lent PodRuleBroken: /validate-pod (ClusterColocationProfile) refuses such a pod: "
      "labels.koordinator.sh/qosClass: Required value: must specify koordinator QoS BE with koordinator "
      "colocation resources" +
          past,
      "native ResourcesNotTranslated: the pod is of class koord-batch and asks for cpu and memory, which are "
      "not translated into what is lent to its class: no ClusterColocationProfile that was there when it "
      "came "
      "is for it",
      "profiled ResourcesNotTranslated: the pod is of class koord-batch and asks for cpu and memory, which "
      "are not translated into what is lent to its class: ClusterColocationProfile p is for it, but the "
      "webhook was not asked",
      "reserved PodRuleBroken: /validate-pod (ClusterReservation) refuses such a pod: "
      "annotations.scheduling.koordinator.sh/reserve-pod: Forbidden: cannot set in annotations" +
          past,
  };
  REQUIRE(world.events.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK_THAT(world.events[i], Catch::StartsWith(expected[i]));
  CHECK_THAT(
      world.metrics.exposition(),
      Catch::Contains(
          R"(koord_manager_colocationprofile_slipped_pods_total{rule="ClusterColocationProfile"} 2)") &&
          Catch::Contains(
              R"(koord_manager_colocationprofile_slipped_pods_total{rule="ClusterReservation"} 1)") &&
          Catch::Contains(
              R"(koord_manager_colocationprofile_slipped_pods_total{rule="UntranslatedResources"} 3)"));

  SECTION("again, as they were and changed") {
    for (const char* name : {"native", "lent", "class"}) {
      const auto pod = api::decode<api::Pod>(
          fmt::format(R"({{"metadata":{{"namespace":"users","name":"{0}","uid":"uid-{0}"}}}})", name));
      controller.look_at(*pod, &*pod);
      controller.look_at(*pod, nullptr);
    }
    CHECK(world.events.size() == expected.size());
  }
  SECTION("a pod that is changed into one that is refused") {
    const auto as = [](std::string_view qos) {
      return *api::decode<api::Pod>(fmt::format(
          R"({{"metadata":{{"namespace":"users","name":"right","uid":"uid-right","labels":{{"koordinator.sh/qosClass":"{}"}}}},)"
          R"("spec":{{"priority":5500,"containers":[{{"name":"c","resources":{{"requests":{{{}}}}}}}]}}}})",
          qos, kBatch));
    };
    const api::Pod before = as("BE"), after = as("LS");
    api::Pod beside = after;
    beside.status.phase = "Running";
    controller.look_at(after, &beside);  // its state alone: it was looked at when it became so
    CHECK(world.events.size() == expected.size());
    controller.look_at(after, &before);
    REQUIRE(world.events.size() == expected.size() + 1);
    CHECK_THAT(world.events.back(), Catch::StartsWith("right PodRuleBroken"));
    world.leads = false;
    controller.forget(after);
    controller.look_at(after, &before);
    CHECK(world.events.size() == expected.size() + 1);
  }
}

TEST_CASE("what no webhook is asked about is nobody's slip") {
  const auto told = [](std::string_view gates) {
    World world(gates);
    world.pod("lent", R"("koordinator.sh/qosClass":"LS")", kBatch);
    world.pod("native", R"("koordinator.sh/qosClass":"BE")", kNative);
    world.begin();
    return world.events.size();
  };
  CHECK(told("PodValidatingWebhook=false") == 1);
  CHECK(told("ColocationProfileSkipMutatingResources=true") == 1);
  CHECK(told("PodMutatingWebhook=false") == 1);
  CHECK(told("PodMutatingWebhook=false,PodValidatingWebhook=false") == 0);
  CHECK(told("WebhookFramework=false") == 0);
}

}  // namespace
}  // namespace koord::manager
