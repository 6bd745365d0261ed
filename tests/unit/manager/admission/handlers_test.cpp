// The handlers of the webhooks: whom they answer, in which order, with which codes.
#include "admission/handlers.hpp"

#include <catch2/catch.hpp>

#include "admission/configmap/config_handler.hpp"
#include "admission/handler_rig.hpp"
#include "admission/node/node_handlers.hpp"
#include "admission/pod/binding_handler.hpp"
#include "admission/pod/pod_handlers.hpp"
#include "admission/quota/quotas.hpp"
#include "admission/reservation/reservation_handler.hpp"
#include "flags.hpp"
#include "framework/webhook/server.hpp"
#include "role.hpp"
#include "support/role_rig.hpp"

namespace koord::manager {
namespace {

using testing::Answer;
using testing::Asked;
using testing::HandlerRig;
using enum Operation;

std::shared_ptr<const api::ConfigMap> config(std::string_view text) {
  return testing::read<api::ConfigMap>(text);
}

TEST_CASE("The table: every path once, its gate known, an entry for each configuration") {
  const FeatureGates known(gates());
  std::vector<std::string_view> paths, entries;
  for (const HandlerRow& row : handlers()) {
    CAPTURE(row.path);
    CHECK(known.known(row.gate));
    CHECK(row.make != nullptr);
    CHECK_FALSE(row.entries.empty());
    paths.push_back(row.path);
    for (const WebhookEntry& entry : row.entries) entries.push_back(entry.name);
  }
  for (std::vector<std::string_view>* list : {&paths, &entries}) {
    std::ranges::sort(*list);
    CHECK(std::ranges::adjacent_find(*list) == list->end());
  }
  CHECK(paths == std::vector<std::string_view>{"/mutate-node-status", "/mutate-pod", "/mutate-reservation",
                                               "/mutate-scheduling-sigs-k8s-io-v1alpha1-elasticquota",
                                               "/validate-clustercolocationprofile", "/validate-configmap",
                                               "/validate-elasticquotaprofile", "/validate-node",
                                               "/validate-pod", "/validate-pod-binding",
                                               "/validate-pod-devices",
                                               "/validate-scheduling-sigs-k8s-io-v1alpha1-elasticquota"});
}

TEST_CASE("Every handler is made, with all gates too") {
  const auto served = [](std::string_view gates) {
    test::RoleRig rig(role(), {});
    if (!gates.empty()) REQUIRE(rig.gates.set(gates).has_value());
    const auto server = WebhookServer::make(rig.context, rig.api, handlers());
    REQUIRE(server.has_value());
    return std::ranges::count_if(handlers(),
                                 [&](const HandlerRow& row) { return (*server)->serves(row.path); });
  };
  CHECK(served("") == 9);
  CHECK(served("AllAlpha=true") == 12);
  // What has ended keeps no quota: nobody asks for it.
  test::RoleRig rig(role(), {});
  const auto server = WebhookServer::make(rig.context, rig.api, handlers());
  rig.informers.start();
  rig.loop.settle();
  std::size_t of_pods = 0;
  for (const net::Request& request : rig.server.requests)
    if (request.target.starts_with("/api/v1/pods")) {
      ++of_pods;
      CHECK_THAT(request.target,
                 Catch::Contains("phase%21%3DSucceeded") || Catch::Contains("phase!=Succeeded"));
    }
  CHECK(of_pods > 0);
}

PodMutating::Parts pod_parts(HandlerRig& rig) {
  return {.log = rig.log(),
          .profiles = [] { return ProfileSet::Sources(); },
          .namespaces = [](std::string_view) { return nullptr; },
          .classes = [](std::string_view) { return nullptr; },
          .dice = [] { return 0; }};
}

constexpr std::string_view kGpuPod =
    R"({"spec":{"containers":[{"name":"a","resources":{"requests":{"koordinator.sh/gpu":"100",)"
    R"("kubernetes.io/batch-cpu":"1k"}}}]}})";

TEST_CASE("Pods that are made are changed, whatever else is asked is let through as it is") {
  HandlerRig rig;
  PodMutating handler(pod_parts(rig));
  for (const Asked& asked :
       {Asked{.operation = update, .object = kGpuPod}, Asked{.operation = remove},
        Asked{.subresource = "status", .object = kGpuPod}, Asked{.resource = "nodes", .object = "7"}}) {
    const Answer answer = rig.ask(handler, asked);
    CHECK(answer.verdict.allowed);
    CHECK(testing::same_document(answer.object, asked.object));
  }
  const Answer made = rig.ask(handler, {.object = kGpuPod});
  CHECK(made.verdict.allowed);
  CHECK_THAT(made.object, Catch::Contains("extended-resource-spec") && Catch::Contains("gpu.shared"));
  CHECK_THAT(rig.registry.exposition(),
             Catch::Contains(R"(operation="CREATE",plugin_name="DeviceResourceSpec",status="allowed")"));

  PodMutating::Parts parts = pod_parts(rig);
  parts.options = {.without_extended_resources = true, .without_device_resources = true};
  PodMutating without(std::move(parts));
  CHECK(testing::same_document(rig.ask(without, {.object = kGpuPod}).object, kGpuPod));

  const Answer bad = rig.ask(
      handler,
      {.object = R"({"metadata":{"annotations":{"node.koordinator.sh/extended-resource-spec":"{"}}})"});
  CHECK(bad.verdict.code == 500);
  CHECK(bad.verdict.message.starts_with("failed to get current extended resource spec, err: "));
}

TEST_CASE("A resize is checked as an update is: CPUs of LSR pods stay whole") {
  HandlerRig rig;
  PodValidating handler({.log = rig.log(), .config = {}});
  const auto pod = [](std::string_view cpu) {
    return fmt::format(
        R"({{"metadata":{{"labels":{{"koordinator.sh/qosClass":"LSR"}}}},"spec":{{"priority":9000,"containers":[)"
        R"({{"name":"a","resources":{{"requests":{{"cpu":"{}"}}}}}}]}}}})",
        cpu);
  };
  const std::string two = pod("2"), fraction = pod("1500m"), three = pod("3");
  const auto resize = [&](std::string_view to, std::string_view subresource = "resize") {
    return rig.ask(handler,
                   {.operation = update, .subresource = subresource, .object = to, .old_object = two});
  };
  CHECK(resize(three).allowed);
  const Verdict refused = resize(fraction);
  CHECK_FALSE(refused.allowed);
  CHECK(refused.code == 400);
  CHECK_THAT(refused.message, Catch::Contains("the requested CPUs of LSR Pod must be integer"));
  CHECK(resize(fraction, "status").allowed);
  const auto& entries =
      std::ranges::find(handlers(), std::string_view("/validate-pod"), &HandlerRow::path)->entries;
  CHECK(std::ranges::count(entries, std::string_view("pods/resize"), &WebhookEntry::resource) == 1);
}

TEST_CASE("What a batch pod asks for as a whole is refused by name: nothing of that can be lent") {
  HandlerRig rig;
  PodMutating::Parts parts = pod_parts(rig);
  const auto profile = testing::read<api::ClusterColocationProfile>(
      R"({"metadata":{"name":"p"},"spec":{"selector":{"matchLabels":{"tier":"batch"}},"qosClass":"BE"}})");
  parts.profiles = [&] { return ProfileSet::Sources{profile}; };
  PodMutating mutating(std::move(parts));
  PodValidating validating({.log = rig.log(), .config = {}});
  const auto pod = [](std::string_view tier, std::string_view whole, std::string_view requests) {
    return fmt::format(
        R"({{"metadata":{{"labels":{{"tier":"{}","koordinator.sh/qosClass":"BE"}}}},"spec":{{"priority":5000,)"
        R"("resources":{{{}}},"containers":[{{"name":"a","resources":{{"requests":{{{}}}}}}}]}}}})",
        tier, whole, requests);
  };
  for (const std::string_view name : {"cpu", "memory", "hugepages-2Mi"})
    for (const std::string_view part : {"requests", "limits"}) {
      CAPTURE(name, part);
      const std::string whole = fmt::format(R"("{}":{{"{}":"2"}})", part, name);
      const std::string wrong =
          fmt::format("pod.spec.resources.{}: Forbidden: {} cannot be lent", part, name);
      const std::string made = pod("batch", whole, R"("cpu":"1")");
      const Answer answer = rig.ask(mutating, {.object = made});
      CHECK(answer.verdict.code == 400);
      CHECK_THAT(answer.verdict.message, Catch::StartsWith(wrong));
      CHECK(rig.ask(mutating, {.object = pod("other", whole, "")}).verdict.allowed);
      const std::string lent = pod("other", whole, R"("kubernetes.io/batch-cpu":"1k")");
      CHECK_THAT(rig.ask(validating, {.object = lent}).message, Catch::StartsWith(wrong));
      CHECK(rig.ask(validating, {.object = pod("other", whole, R"("cpu":"1")")}).allowed);
      // One that is there already is not held up, unless it is given more.
      CHECK(rig.ask(validating, {.operation = update, .object = lent, .old_object = lent}).allowed);
      const std::string before = pod("other", "", R"("kubernetes.io/batch-cpu":"1k")");
      CHECK_FALSE(
          rig.ask(validating,
                  {.operation = update, .subresource = "resize", .object = lent, .old_object = before})
              .allowed);
    }
}

/// "sub" below "temp", "tree" with an id, "full"; nobody has pods.
struct QuotaRig : HandlerRig {
  explicit QuotaRig(PodValidating::Options options = {}, bool evaluates = false)
      : transport(clock), api(transport, clock, {}) {
    parts.catalog = std::make_shared<QuotaCatalog>(clock);
    for (const testing::QuotaText& text :
         {testing::QuotaText{.name = "temp", .labels = "is-parent=true", .max = "cpu=1"},
          testing::QuotaText{.name = "sub", .labels = "parent=temp", .max = "cpu=1"},
          testing::QuotaText{.name = "tree", .labels = "tree-id=t", .max = "cpu=1", .ns = "x"},
          testing::QuotaText{.name = "twice", .max = "cpu=1", .ns = "x"},
          testing::QuotaText{.name = "twice", .max = "cpu=1", .ns = "y"}})
      parts.catalog->set(testing::quota(text, "1"));
    parts.rules = std::make_shared<const QuotaRules>(*parts.catalog, QuotaPods(), QuotaRuleOptions());
    PodValidating::Parts all{.log = log(), .config = {}, .quotas = parts, .options = options};
    if (evaluates)
      all.evaluator = std::make_shared<QuotaEvaluator>(
          QuotaEvaluator::Parts{.clock = clock, .log = log(), .client = api, .catalog = parts.catalog});
    handler = std::make_unique<PodValidating>(std::move(all));
  }
  static std::string pod(std::string_view quota, std::string_view preemptible = "true",
                         std::string_view resources = R"("cpu":"1")") {
    return fmt::format(
        R"({{"metadata":{{"name":"p","labels":{{"quota.scheduling.koordinator.sh/name":"{}",)"
        R"("quota.scheduling.koordinator.sh/preemptible":"{}"}}}},"spec":{{"containers":[{{"resources":)"
        R"({{"requests":{{{}}}}}}}]}}}})",
        quota, preemptible, resources);
  }
  Verdict create(std::string_view object) { return ask(*handler, {.object = object}); }
  Verdict change(std::string_view from, std::string_view to) {
    return ask(*handler, {.operation = update, .object = to, .old_object = from});
  }

  test::FakeTransport transport;
  kube::Client api;
  QuotaParts parts;
  std::unique_ptr<PodValidating> handler;
};

TEST_CASE("Pods of quotas: a leaf's, whose label may change, and what they may lose not") {
  QuotaRig rig;
  constexpr std::string_view kParent = "pod can not be linked to a parentQuotaGroup,quota:temp, pod:p";
  CHECK(rig.create(QuotaRig::pod("sub")).allowed);
  CHECK(rig.create(QuotaRig::pod("temp")).message == kParent);
  CHECK(rig.create(QuotaRig::pod("temp")).code == 400);
  CHECK(rig.change(QuotaRig::pod("sub"), QuotaRig::pod("temp")).message == kParent);
  CHECK(rig.change(QuotaRig::pod("temp"), QuotaRig::pod("temp")).allowed);  // it is there already
  CHECK(rig.change(QuotaRig::pod("temp"), QuotaRig::pod("sub")).allowed);
  CHECK(rig.change(QuotaRig::pod("sub"), QuotaRig::pod("sub", "false")).message ==
        "Preemptible label is forbidden modify now.");
  CHECK(rig.change("{}", QuotaRig::pod("sub")).message == "Preemptible label is forbidden modify now.");
}

TEST_CASE("Room is asked for once all else allows it") {
  QuotaRig rig({.devices = true}, true), updates({.evaluate_update = true}, true);
  const auto asks = [](const Verdict& verdict) { return verdict.allowed && verdict.later != nullptr; };
  CHECK(asks(rig.create(QuotaRig::pod("sub"))));
  CHECK_FALSE(asks(rig.create(QuotaRig::pod("koordinator-default-quota"))));
  CHECK_FALSE(asks(rig.create("{}")));
  CHECK(rig.create(QuotaRig::pod("nobody")).message == "elastic quota nobody not found");
  CHECK(rig.create(QuotaRig::pod("twice")).message == "more than one elastic quota twice found");
  const Verdict refused = rig.create(QuotaRig::pod("sub", "true", R"("koordinator.sh/gpu.shared":"2")"));
  CHECK_FALSE(refused.allowed);
  CHECK(refused.later == nullptr);
  CHECK_FALSE(asks(rig.change(QuotaRig::pod("sub"), QuotaRig::pod("tree"))));
  CHECK(asks(updates.change(QuotaRig::pod("sub"), QuotaRig::pod("tree"))));
  CHECK_FALSE(asks(updates.change(QuotaRig::pod("sub"), QuotaRig::pod("sub"))));
}

TEST_CASE("Pods of a quota tree are kept on its nodes") {
  QuotaRig rig;
  PodMutating::Parts parts = pod_parts(rig);
  parts.quotas = rig.parts.catalog;
  parts.trees = [](std::string_view tree) {
    std::vector<std::shared_ptr<const api::ElasticQuotaProfile>> all;
    if (tree == "t")
      all.push_back(testing::read<api::ElasticQuotaProfile>(
          R"({"spec":{"nodeSelector":{"matchLabels":{"pool":"a"}}}})"));
    return all;
  };
  PodMutating handler(std::move(parts));
  const auto kept = [&](std::string_view quota, std::string_view ns = "default") {
    return rig.ask(handler, {.object = QuotaRig::pod(quota), .ns = ns}).object.find(R"("key":"pool")") !=
           std::string::npos;
  };
  CHECK(kept("tree"));
  CHECK(kept("", "tree"));  // a quota of the namespace's name
  CHECK_FALSE(kept("sub"));
  CHECK_FALSE(kept("nobody"));
}

TEST_CASE("What is no pod is refused with 400 and the place") {
  HandlerRig rig;
  PodMutating mutating(pod_parts(rig));
  PodValidating validating({.log = rig.log(), .config = {}});
  struct Row {
    std::string_view pod, wrong;
  };
  for (const Row& row : {
           Row{"null", "Pod: an object is expected"},
           Row{R"({"metadata":7})", "metadata: an object is expected"},
           Row{R"({"metadata":{"labels":{"a":1}}})", "metadata.labels.a: a string is expected"},
           Row{R"({"spec":[]})", "spec: an object is expected"},
           Row{R"({"spec":{"priority":1e9}})", "spec.priority: an integer of 32 bits is expected"},
           Row{R"({"spec":{"containers":{}}})", "spec.containers: an array is expected"},
           Row{R"({"spec":{"containers":[7]}})", "spec.containers[0]: an object is expected"},
           Row{R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"much"}}}]}})",
               "spec.containers[0].resources.requests.cpu: a quantity is expected"},
           Row{R"({"spec":{"initContainers":[{"resources":{"limits":[]}}]}})",
               "spec.initContainers[0].resources.limits: an object is expected"},
           Row{R"({"spec":{"overhead":{"cpu":{}}}})", "spec.overhead.cpu: a quantity is expected"},
           Row{R"({"status":""})", "status: an object is expected"},
       }) {
    CAPTURE(row.pod);
    for (const Verdict& verdict :
         {rig.ask(mutating, {.object = row.pod}).verdict, rig.ask(validating, {.object = row.pod})}) {
      CHECK_FALSE(verdict.allowed);
      CHECK(verdict.code == 400);
      CHECK(verdict.message == row.wrong);
    }
    const Verdict changed = rig.ask(validating, {.operation = update, .object = "{}", .old_object = row.pod});
    CHECK(changed.message == row.wrong);
  }
  // Nulls are absent, as in Go.
  constexpr std::string_view kNulls =
      R"({"metadata":{"labels":null,"annotations":null},"spec":{"containers":null,"overhead":null,"priority":null}})";
  CHECK(rig.ask(mutating, {.object = kNulls}).verdict.allowed);
  CHECK(rig.ask(validating, {.object = kNulls}).allowed);
}

TEST_CASE("Pods are checked step by step, the first that refuses has the word") {
  HandlerRig rig;
  const auto validate = [&](PodValidating::Options options, const Asked& asked) {
    PodValidating handler(
        {.log = rig.log(),
         .config =
             [] {
               return config(R"({"data":{"enable":"true","rules":"[{\"requiredLabels\":[\"app\"]}]"}})");
             },
         .options = options});
    return rig.ask(handler, asked);
  };
  constexpr std::string_view kReserved =
      R"({"metadata":{"annotations":{"scheduling.koordinator.sh/reserve-pod":"true"},)"
      R"("labels":{"koordinator.sh/qosClass":"BE"}},"spec":{"priority":9500}})";
  const Verdict reserved = validate({}, {.object = kReserved});
  CHECK(reserved.code == 400);
  CHECK(reserved.reason.empty());
  CHECK(reserved.message ==
        "annotations.scheduling.koordinator.sh/reserve-pod: Forbidden: cannot set in annotations");

  constexpr std::string_view kShares =
      R"({"spec":{"containers":[{"resources":{"requests":{"koordinator.sh/gpu.shared":"2"}}}]}})";
  CHECK(validate({}, {.object = kShares}).allowed);  // upstream's eighth row of devices: the gate is off
  CHECK(validate({.devices = true}, {.object = kShares}).message ==
        "pod.spec.containers[*].resources.requests: Forbidden: GPU memory and GPU memory ratio all is zero");
  CHECK(validate({.enhanced = true}, {.object = "{}"}).message == "required label 'app' is missing");
  CHECK(validate({.enhanced = true}, {.operation = update, .object = "{}", .old_object = "{}"}).code == 400);
  CHECK(validate({.enhanced = true}, {.operation = remove}).allowed);
  CHECK(validate({.enhanced = true}, {.resource = "pods", .subresource = "status", .object = "7"}).allowed);
  CHECK_THAT(rig.registry.exposition(),
             Catch::Contains(R"(webhook_type="validate",object_type="pod",operation="CREATE",)"
                             R"(plugin_name="ClusterReservation",status="rejected")"));
}

TEST_CASE("The enhanced validator follows its ConfigMap, and stays with it while it cannot be read") {
  HandlerRig rig;
  auto now = config(R"({"data":{"enable":"true","rules":"[{\"requiredLabels\":[\"app\"]}]"}})");
  PodValidating handler({.log = rig.log(), .config = [&] { return now; }, .options = {.enhanced = true}});
  CHECK_FALSE(rig.ask(handler, {.object = "{}"}).allowed);
  now = config(R"({"data":{"enable":"false","rules":"["}})");
  CHECK_FALSE(rig.ask(handler, {.object = "{}"}).allowed);
  CHECK(rig.lines.lines().size() == 1);
  now = nullptr;
  CHECK(rig.ask(handler, {.object = "{}"}).allowed);
}

TEST_CASE("Bindings: gate, kind of request, and what is counted") {
  HandlerRig rig;
  BindingRules rules;
  rules.users = {"koord-scheduler"};
  rules.all_namespaces = true;
  const auto handler = [&](bool enabled) {
    return BindingValidating({.log = rig.log(),
                              .registry = rig.registry,
                              .enabled = enabled,
                              .rules = rules,
                              .pods = [](std::string_view, std::string_view name) {
                                return name == "a" ? testing::read<api::Pod>(R"({"metadata":{"name":"a"}})")
                                                   : nullptr;
                              }});
  };
  BindingValidating on = handler(true), off = handler(false);
  const Asked asked{.subresource = "binding", .object = "{}", .username = "kube-scheduler"};
  const Verdict denied = rig.ask(on, asked);
  CHECK(denied.code == 403);
  CHECK(denied.reason == "Forbidden");
  CHECK(denied.message == "binding denied: username is not in the allowed list");
  CHECK(rig.ask(off, asked).allowed);
  CHECK(rig.ask(on, {.username = "kube-scheduler"}).allowed);
  CHECK(rig.ask(on, {.operation = update, .subresource = "binding", .username = "kube-scheduler"}).allowed);
  CHECK(rig.ask(on, {.subresource = "binding", .name = "nobody", .username = "kube-scheduler"}).allowed);
  CHECK(rig.ask(on, {.subresource = "binding", .username = "system:koord-scheduler"}).allowed);
  const std::string counted = rig.registry.exposition();
  CHECK_THAT(counted, Catch::Contains(R"(decisions_total{decision="denied"} 1)") &&
                          Catch::Contains(R"(decisions_total{decision="allowed_username"} 1)"));
}

TEST_CASE(
    "A node's status is amplified when it is updated; what cannot be read amplifies nothing and is told") {
  HandlerRig rig;
  NodeStatusMutating handler(rig.log());
  const auto node = [](std::string_view ratio) {
    return fmt::format(
        R"({{"metadata":{{"annotations":{{"node.koordinator.sh/resource-amplification-ratio":"{}"}}}},)"
        R"("status":{{"allocatable":{{"cpu":"4"}}}}}})",
        ratio);
  };
  const std::string twice = node(R"({\"cpu\":2})"), bad = node("{");
  const auto ask = [&](Operation operation, std::string_view object,
                       std::string_view subresource = "status") {
    return rig.ask(handler, {.operation = operation,
                             .resource = "nodes",
                             .subresource = subresource,
                             .object = object,
                             .old_object = operation == update ? "{}" : "null"});
  };
  CHECK_THAT(ask(update, twice).object, Catch::Contains(R"("allocatable":{"cpu":"8"})"));
  CHECK(testing::same_document(ask(create, twice).object, twice));
  CHECK(testing::same_document(ask(update, twice, "").object, twice));
  const Answer kept = ask(update, bad);
  CHECK(kept.verdict.allowed);
  CHECK(testing::same_document(kept.object, bad));
  CHECK(rig.lines.contains("a node is not amplified"));
  CHECK(ask(update, R"({"status":{"allocatable":{"cpu":[]}}})").verdict.code == 400);
}

constexpr std::string_view kTwoGroups =
    R"({"data":{"colocation-config":"{\"nodeConfigs\":[{\"name\":\"a\",\"nodeSelector\":{\"matchLabels\":{\"xxx\":\"xxx\"}}},)"
    R"({\"name\":\"b\",\"nodeSelector\":{\"matchLabels\":{\"yyy\":\"yyy\"}}}]}","resource-qos-config":"{",)"
    R"("cpu-burst-config":"{\"clusterStrategy\":{}}"}})";

TEST_CASE("A node that comes into two groups of a key is refused: upstream's nine rows") {
  HandlerRig rig;
  auto now = config(kTwoGroups);
  NodeValidating handler({.log = rig.log(), .config = [&] { return now; }});
  constexpr std::string_view kNone = R"({"metadata":{"name":"n","labels":{}}})",
                             kOne = R"({"metadata":{"name":"n","labels":{"xxx":"xxx"}}})",
                             kBoth = R"({"metadata":{"name":"n","labels":{"xxx":"xxx","yyy":"yyy"}}})";
  const auto ask = [&](Operation operation, std::string_view before, std::string_view after) {
    return rig.ask(handler,
                   {.operation = operation, .resource = "nodes", .object = after, .old_object = before});
  };
  CHECK(ask(update, kNone, kOne).allowed);
  const Verdict both = ask(update, kNone, kBoth);
  CHECK(both.code == 400);
  CHECK(both.message == R"(___{"reason":"ExistNodeConfict","message":{"config":"colocation-config",)"
                        R"("strategies":["a","b"],"exampleNodes":["n"]}}___)");
  CHECK(ask(update, kBoth, kBoth).allowed);  // its labels stay
  CHECK(ask(create, "null", kBoth).allowed);
  CHECK(rig.lines.contains("a node is in several groups"));
  // Keys that say nothing, cannot be read, or have one group at most.
  for (const std::string_view other :
       {R"({"data":{"resource-threshold-config":"invalid","cpu-burst-config":"invalid"}})",
        R"({"data":{"colocation-config":"{\"enable\":true}"}})", "{}"}) {
    now = config(other);
    CHECK(ask(update, kNone, kBoth).allowed);
  }
  now = nullptr;
  CHECK(ask(update, kNone, kBoth).allowed);
}

TEST_CASE("The ConfigMap of the strategies is checked, others are not") {
  HandlerRig rig;
  ConfigMapValidating handler(
      {.log = rig.log(),
       .ns = "koordinator-system",
       .name = "slo-controller-config",
       .nodes = [](const std::function<bool(const api::Node&)>& visit) {
         visit(*testing::read<api::Node>(R"({"metadata":{"name":"n1","labels":{"xxx":"xxx","yyy":"yyy"}}})"));
       }});
  const auto ask = [&](Operation operation, std::string_view object, std::string_view before = "null",
                       std::string_view name = "slo-controller-config") {
    return rig.ask(handler, {.operation = operation,
                             .resource = "configmaps",
                             .object = object,
                             .old_object = before,
                             .name = name,
                             .ns = "koordinator-system"});
  };
  constexpr std::string_view kBad = R"({"data":{"colocation-config":"{\"degradeTimeMinutes\":0}"}})";
  const Verdict bad = ask(create, kBad);
  CHECK(bad.code == 400);
  CHECK(
      bad.message ==
      R"(___{"reason":"ConfigParamInvalid","message":{"ColocationCfg.ColocationStrategy.DegradeTimeMinutes":)"
      R"("DegradeTimeMinutes must be 1 or greater"}}___)");
  CHECK(ask(update, kBad, kBad).allowed);
  CHECK(ask(update, kBad, "{}").code == 400);
  CHECK(ask(create, kBad, "null", "another").allowed);
  CHECK(ask(remove, "null", kBad).allowed);
  CHECK(rig.lines.contains("is deleted"));
  CHECK(ask(create, R"({"data":{"colocation-config":7}})").code == 400);
  CHECK_THAT(
      ask(create,
          R"({"data":{"colocation-config":"{\"nodeConfigs\":[{\"name\":\"a\",\"nodeSelector\":{\"matchLabels\":{\"xxx\":\"xxx\"}}},{\"name\":\"b\",\"nodeSelector\":{\"matchLabels\":{\"yyy\":\"yyy\"}}}]}"}})")
          .message,
      Catch::Contains("ExistNodeConfict") && Catch::Contains("\"n1\""));
}

TEST_CASE("Reservations that are made are changed, and what is none is refused") {
  HandlerRig rig;
  ReservationMutating handler({.log = rig.log(),
                               .profiles =
                                   [] {
                                     return ProfileSet::Sources{testing::read<api::ClusterColocationProfile>(
                                         R"({"metadata":{"name":"p"},"spec":{"schedulerName":"s"}})")};
                                   },
                               .classes = [](std::string_view) { return nullptr; },
                               .dice = [] { return 0; }});
  const auto ask = [&](Operation operation, std::string_view object) {
    return rig.ask(handler, {.operation = operation, .resource = "reservations", .object = object});
  };
  CHECK(ask(create, R"({"spec":{"template":{}}})").object ==
        R"({"spec":{"template":{"spec":{"schedulerName":"s"}}}})");
  CHECK(ask(create, R"({"spec":{}})").object == R"({"spec":{}})");
  CHECK(ask(update, R"({"spec":{"template":{}}})").object == R"({"spec":{"template":{}}})");
  CHECK(ask(create, R"({"spec":{"template":7}})").verdict.message == "spec.template: an object is expected");
}

TEST_CASE("A pod of a mebibyte and a hundred profiles take bounded time") {
  std::string labels, containers;
  for (int i = 0; i < 6'000; ++i) labels += fmt::format("{}\"label-{}\":\"value\"", i > 0 ? "," : "", i);
  for (int i = 0; i < 6'000; ++i)
    containers += fmt::format(R"({}{{"name":"c{}","resources":{{"limits":{{"cpu":"1","memory":"1Gi"}}}}}})",
                              i > 0 ? "," : "", i);
  const std::string pod =
      fmt::format(R"({{"metadata":{{"labels":{{{}}}}},"spec":{{"priority":5000,"containers":[{}]}}}})",
                  labels, containers);
  HandlerRig rig;
  PodMutating::Parts parts = pod_parts(rig);
  ProfileSet::Sources profiles;
  for (int i = 0; i < 100; ++i)
    profiles.push_back(testing::read<api::ClusterColocationProfile>(fmt::format(
        R"({{"metadata":{{"name":"p{}"}},"spec":{{"selector":{{"matchLabels":{{"label-{}":"value"}}}},)"
        R"("labels":{{"mine-{}":"1"}}}}}})",
        i, i * 7, i)));
  parts.profiles = [&] { return profiles; };
  PodMutating handler(std::move(parts));
  const Answer answer = rig.ask(handler, {.object = pod});
  CHECK(answer.verdict.allowed);
  CHECK_THAT(answer.object,
             Catch::Contains("\"mine-99\"") && Catch::Contains(R"("kubernetes.io/batch-cpu":"1k")"));
}

}  // namespace
}  // namespace koord::manager
