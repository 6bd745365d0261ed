// What --cleanup takes off nodes, topologies and webhook configurations, and what it leaves: what others
// wrote.
#include "clean_up.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "framework/noderesource/zones.hpp"
#include "framework/webhook/configuration.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/topology_v1alpha1/node_resource_topology.hpp"
#include "koord/base/log.hpp"
#include "koord/json/writer.hpp"
#include "koord/kube/client.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"

namespace koord::manager {
namespace {

constexpr std::string_view kRatio = "node.koordinator.sh/resource-amplification-ratio",
                           kModel = "node.koordinator.sh/gpu-model", kNpu = "huawei.com/npu-core";

/// What a user and a kubelet say of it.
api::Node bare() {
  api::Node node;
  node.metadata.name = "n";
  node.metadata.labels["zone"] = "a";
  node.metadata.annotations["node.koordinator.sh/reservation"] = "{}";
  for (api::ResourceList* list : {&node.status.capacity, &node.status.allocatable})
    *list = {{"cpu", api::Quantity::must("8")}, {"memory", api::Quantity::must("16Gi")}};
  return node;
}

/// The same with all that managers write.
api::Node lending() {
  api::Node node = bare();
  for (const std::string_view name :
       {"kubernetes.io/batch-cpu", "kubernetes.io/batch-memory", "kubernetes.io/mid-cpu",
        "kubernetes.io/mid-memory", "koordinator.sh/gpu", "koordinator.sh/gpu-core",
        "koordinator.sh/gpu.shared", "koordinator.sh/rdma"})
    for (api::ResourceList* list : {&node.status.capacity, &node.status.allocatable})
      (*list)[name] = api::Quantity::from_int(100);
  node.status.allocatable["cpu"] = api::Quantity::must("12");
  auto& annotations = node.metadata.annotations;
  annotations["node.koordinator.sh/raw-allocatable"] = R"({"cpu":"8","memory":"16Gi","gone":"1"})";
  annotations["node.koordinator.sh/originExtendedAllocatable"] = "{}";
  annotations["node.koordinator.sh/overcommit-standing"] = "{}";
  annotations["node.koordinator.sh/cpu-normalization-ratio"] = "1.20";
  annotations[kRatio] = R"({"cpu":1.50})";
  for (const char* what : {"vendor", "model", "driver-version"})
    node.metadata.labels[fmt::format("node.koordinator.sh/gpu-{}", what)] = "x";
  return node;
}

TEST_CASE(
    "A node gets back what it had: lent, mid, GPU and RDMA resources, amplified amounts, annotations, "
    "labels") {
  const auto [node, left] = clean_node(lending(), [](auto, auto) { return true; });
  CHECK(node == bare());
  CHECK(left.empty());
  const auto again = clean_node(node, [](auto, auto) { return false; });
  CHECK(again.node == bare());
  CHECK(again.left.empty());
}

TEST_CASE("What others wrote, or nobody can tell, is named and left") {
  api::Node before = lending();
  for (api::ResourceList* list : {&before.status.capacity, &before.status.allocatable})
    (*list)[kNpu] = api::Quantity::from_int(8);
  std::vector<std::string> asked;
  const auto [node, left] = clean_node(before, [&](std::string_view section, std::string_view name) {
    asked.push_back(fmt::format("{} {}", section, name));
    return name == kModel;
  });
  CHECK(left == std::vector<std::string>{
                    "resource huawei.com/npu-core", "annotation node.koordinator.sh/cpu-normalization-ratio",
                    "annotation node.koordinator.sh/resource-amplification-ratio",
                    "label node.koordinator.sh/gpu-vendor", "label node.koordinator.sh/gpu-driver-version"});
  CHECK(std::ranges::find(asked, fmt::format("labels {}", kModel)) != asked.end());
  CHECK(std::ranges::find(asked, fmt::format("annotations {}", kRatio)) != asked.end());
  CHECK(std::ranges::find(asked, fmt::format("allocatable {}", kNpu)) != asked.end());
  api::Node wanted = bare();
  for (api::ResourceList* list : {&wanted.status.capacity, &wanted.status.allocatable})
    (*list)[kNpu] = api::Quantity::from_int(8);
  wanted.metadata.annotations["node.koordinator.sh/cpu-normalization-ratio"] = "1.20";
  wanted.metadata.annotations[kRatio] = R"({"cpu":1.50})";
  wanted.metadata.labels["node.koordinator.sh/gpu-vendor"] = "x";
  wanted.metadata.labels["node.koordinator.sh/gpu-driver-version"] = "x";
  CHECK(node == wanted);
}

TEST_CASE("Amounts that cannot be read are put back by nobody") {
  const std::string raw = GENERATE("", "{", "[]", R"({"cpu":{}})", R"({"cpu":"x"})");
  api::Node before = lending();
  before.metadata.annotations["node.koordinator.sh/raw-allocatable"] = Symbol(raw);
  api::Node wanted = bare();
  wanted.status.allocatable["cpu"] = api::Quantity::must("12");
  CHECK(clean_node(before, [](auto, auto) { return true; }).node == wanted);
}

TEST_CASE("Who wrote a field is what the API server says") {
  const auto fields = [](std::string_view manager, std::string_view of) {
    return fmt::format(
        R"({{"manager":"{}","operation":"Update","fieldsV1":{{"f:metadata":{{"f:labels":{{".":{{}},"f:{}":{{}}}}}}}}}})",
        manager, of);
  };
  const std::string ours = fields("koord-manager", kModel), theirs = fields("kubectl-label", kModel),
                    other = fields("kubectl-label", "other");
  const std::vector<std::pair<std::string, bool>> rows = {
      {fmt::format("[{},{}]", other, ours), true},
      {fmt::format("[{},{}]", ours, theirs), false},
      {fmt::format("[{}]", theirs), false},
      {fmt::format("[{}]", other), false},
      {"[]", false},
      {"null", false},
      {R"([{"manager":"koord-manager","fieldsV1":7},1])", false},
      {fmt::format("[{}]", fields("koord-manager-2", kModel)), false}};
  for (const auto& [managed, alone] : rows) {
    CAPTURE(managed);
    const auto node = json::parse(fmt::format(R"({{"metadata":{{"managedFields":{}}}}})", managed));
    REQUIRE(node.has_value());
    CHECK(is_managers_alone(*node, "labels", kModel) == alone);
    CHECK_FALSE(is_managers_alone(*node, "annotations", kModel));
  }
  const auto status = json::parse(fmt::format(
      R"({{"metadata":{{"managedFields":[{{"manager":"koord-manager","fieldsV1":{{"f:status":{{"f:allocatable":{{"f:{}":{{}}}}}}}}}}]}}}})",
      kNpu));
  CHECK(is_managers_alone(*status, "allocatable", kNpu));
}

api::NodeResourceTopology topology(bool lends) {
  api::NodeResourceTopology made;
  made.metadata.name = "n";
  made.metadata.resource_version = "7";
  for (const char* zone : {"node-0", "node-1"}) {
    api::TopologyZone& added = made.zones.emplace_back();
    added.name = Symbol(zone);
    for (const char* name : {"cpu", "example.com/x", "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"})
      if (lends || !std::string_view(name).starts_with("kubernetes.io"))
        added.resources.push_back({Symbol(name), api::Quantity::from_int(1), api::Quantity::from_int(1), {}});
  }
  return made;
}

TEST_CASE("Zones lend nothing any more") {
  CHECK(without_zone_amounts(topology(true)) == topology(false));
  CHECK_FALSE(without_zone_amounts(topology(false)));
}

constexpr std::string_view kOwn = R"([{"name":"a.koordinator.sh"},{"name":"b.koordinator.sh"}])";

json::Document configuration(std::string_view annotations, std::string_view entries) {
  return *json::parse(fmt::format(
      R"({{"metadata":{{"name":"c","resourceVersion":"3","annotations":{{{}}}}},"webhooks":[{}]}})",
      annotations, entries));
}

TEST_CASE("Of a webhook configuration koord's entries go; what others installed stays as it is") {
  const std::string_view mine = R"("koordinator.sh/webhook-entries":"manager","x":"y")";
  const auto own = json::parse(kOwn);
  auto only = configuration(mine, R"({"name":"b.koordinator.sh"})");
  CHECK(clean_configuration(only, *own) == CleanedConfiguration::emptied);
  auto none = configuration(mine, "");
  CHECK(clean_configuration(none, *own) == CleanedConfiguration::emptied);
  auto mixed = configuration(
      mine, R"({"name":"a.koordinator.sh"},{"name":"theirs.example.com"},{"name":"b.koordinator.sh"})");
  CHECK(clean_configuration(mixed, *own) == CleanedConfiguration::changed);
  CHECK(mixed == configuration(R"("x":"y")", R"({"name":"theirs.example.com"})"));
  auto chart = configuration(R"("template":"[]")", R"({"name":"a.koordinator.sh"})");
  CHECK(clean_configuration(chart, *own) == CleanedConfiguration::others);
  CHECK(chart == configuration(R"("template":"[]")", R"({"name":"a.koordinator.sh"})"));
  auto first = configuration(
      "", R"({"name":"a.koordinator.sh","timeoutSeconds":10,"namespaceSelector":{"matchExpressions":[)"
          R"({"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["koordinator-system"]}]}})");
  CHECK(clean_configuration(first, *own) == CleanedConfiguration::emptied);
}

TEST_CASE("Zones and configurations that somebody writes at the same time are read again") {
  test::Loop loop;
  test::FakeTransport server(loop.clock);
  kube::Client api(server, loop.clock, {.max_retries = 0});
  CapturedLog captured;
  int conflicts = 2, patched = 0, put = 0, removed = 0, agents = 0, gone_devices = 0;
  api::NodeResourceTopology of_agent = topology(true);
  of_agent.metadata.name = "agents";
  of_agent.metadata.labels["app.kubernetes.io/managed-by"] = "Koordinator";
  server.answer = [&](const net::Request& request) -> Result<net::Response> {
    const std::string_view target = request.target, method = request.method;
    const bool zones = target.find("noderesourcetopologies") != std::string_view::npos;
    const bool mutating = target.find("mutatingwebhook") != std::string_view::npos;
    if (method == "GET" && zones)
      return net::Response::json(200, target.ends_with("/n")
                                          ? api::encode(topology(true))
                                          : fmt::format(R"({{"items":[{},{}]}})", api::encode(topology(true)),
                                                        api::encode(of_agent)));
    if (method == "GET" && target.find("webhookconfigurations/") != std::string_view::npos)
      return net::Response::json(200,
                                 json::to_text(configuration(R"("koordinator.sh/webhook-entries":"manager")",
                                                             mutating ? R"({"name":"theirs"})" : "")));
    if (method != "GET" && conflicts > 0) {
      --conflicts;
      return net::Response::json(409, R"({"kind":"Status","reason":"Conflict","code":409})");
    }
    if (method == "PATCH" && zones)
      patched += request.body.find(R"("resourceVersion":"7")") != std::string::npos ? 1 : 0;
    const bool devices = target.find("/devices") != std::string_view::npos;
    if (method == "GET" && devices)
      return net::Response::json(
          200, R"({"items":[{"metadata":{"name":"users"}},{"metadata":{"name":"other",)"
               R"("ownerReferences":[{"kind":"Node","name":"n"}]}},{"metadata":{"name":"n",)"
               R"("ownerReferences":[{"kind":"Node","name":"n"}]}}]})");
    if (method == "DELETE" && devices) gone_devices += target.ends_with("/n") ? 1 : 100;
    if (method == "PUT" && mutating) ++put;
    if (method == "DELETE" && zones) agents += target.ends_with("/agents") ? 1 : 100;
    if (method == "DELETE" && target.find("validatingwebhook") != std::string_view::npos)
      removed += request.body.find(R"("resourceVersion":"3")") != std::string::npos ? 1 : 0;
    if (method == "GET" && target.find("leases") == std::string_view::npos)
      return net::Response::json(200, R"({"items":[]})");
    return net::Response::json(method == "GET" ? 404 : 200,
                               R"({"kind":"Status","code":404,"reason":"NotFound"})");
  };
  CleanUpPlace place;
  place.webhooks.mutating = "m";
  place.webhooks.validating = "v";
  place.webhooks.secret = place.lease = place.last_good = "x";
  place.webhooks.ns = place.lease_namespace = place.config_namespace = "ns";
  const auto done =
      test::run_task(loop, clean_up(api, loop.clock, Logger(captured, loop.clock), std::move(place)));
  if (!done) FAIL(done.error().message());
  CHECK(conflicts == 0);
  CHECK(patched == 1);
  CHECK(agents == 1);
  CHECK(gone_devices == 1);
  CHECK(put == 1);
  CHECK(removed == 1);
}

}  // namespace
}  // namespace koord::manager
