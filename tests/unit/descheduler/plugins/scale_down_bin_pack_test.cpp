// ScaleDownBinPack: the 4 clusters of its ranking (TestRankPods and kin) with their orders, what it does with
// them (its Balance and executor tests: paused, selectors, ended pods, filter, dry runs, the limit) and the
// 10 rows of validation that JSON can say.
#include <catch2/catch.hpp>

#include "koord/api/schema/codec.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/kube/client.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"
#include "unit/descheduler/plugins/rows.hpp"
#include "unit/descheduler/write_watch.hpp"

namespace koord::descheduler {
extern const PluginEntry kScaleDownBinPack;
}

namespace koord::descheduler::test {
namespace {

using Texts = std::vector<std::string>;

const std::string kEvict = R"({"strategy":"EvictDirectly","maxPodsToEvict":100})";
constexpr const char* kNode = " cpu=4000 memory=8192";

std::string order(const Texts& nodes, const Texts& pods, const std::string& args = kEvict) {
  Rows rows{{}, pods};
  for (const std::string& node : nodes)
    rows.nodes.push_back(node.find(' ') == std::string::npos ? node + kNode : node);
  return gone(kScaleDownBinPack, args, rows);
}
std::string one(const std::string& name, const std::string& node, const std::string& more = "") {
  return name + " " + node + " cpu=1000 memory=1024 label:app=web " + more;
}

TEST_CASE("nodes that hold nothing else are emptied first, of each the largest and youngest pod") {
  const std::string other = "label:app=other";
  const std::string web =
      R"({"strategy":"EvictDirectly","maxPodsToEvict":100,"podSelectors":[{"selector":{"matchLabels":{"app":"web"}}}]})";
  CHECK(order({"node1", "node2", "node3", "node4", "node5", "node6"},
              {one("p1", "node1"), one("p2", "node2"), one("nt2", "node2", other), one("nt3", "node3", other),
               one("p4a", "node4"), one("p4b", "node4"), one("p5a", "node5"), one("p5b", "node5"),
               "p6-large node6 cpu=2000 memory=2048 label:app=web", one("p6-newest", "node6", "age=-3600"),
               one("p6-same1", "node6", "ns=a-ns"), one("p6-same2", "node6", "ns=b-ns"),
               one("p6-same3", "node6", "ns=b-ns"), one("p6-oldest", "node6", "age=3600")},
              web) == "p1 p4a p4b p5a p5b p6-large p6-newest p6-same1 p6-same2 p6-same3 p6-oldest p2");
  CHECK(order({"node-zero cpu=0 memory=0", "node-normal"},
              {one("p-zero", "node-zero"), one("p-normal", "node-normal")}) == "p-normal p-zero");
  CHECK(order({"node-normal", "node-skipped"},
              {one("p-normal", "node-normal"), one("p-eligible", "node-skipped"),
               one("p-skipped", "node-skipped", "mirror")}) == "p-normal p-eligible");
  CHECK(order({"node-perfect", "node-normal", "node-zero-req-tax"},
              {one("p-perfect", "node-perfect"), one("p-normal", "node-normal"),
               one("nt-normal", "node-normal", other),
               "p-zero-req node-zero-req-tax cpu=0 memory=0 label:app=web",
               one("nt", "node-zero-req-tax", other)},
              web) == "p-perfect p-normal p-zero-req");
  CHECK(order({"node1"}, {"p-cpu-heavy node1 cpu=2000 memory=100",
                          "p-mem-heavy node1 cpu=100 memory=3072"}) == "p-cpu-heavy p-mem-heavy");
}

TEST_CASE("no more pods go than are allowed, none while it is paused, only of nodes that are selected") {
  const Texts three = {one("p1", "node1"), one("p2", "node1"), one("p3", "node1"),
                       one("done", "node1", "phase=Failed")};
  CHECK(order({"node1"}, three, R"({"strategy":"EvictDirectly","maxPodsToEvict":2})") == "p1 p2");
  CHECK(order({"node1"}, three) == "p1 p2 p3");
  CHECK(order({"node1"}, three, R"({"strategy":"EvictDirectly","maxPodsToEvict":2,"paused":true})").empty());
  CHECK(order({"node1"}, three,
              R"({"strategy":"EvictDirectly","maxPodsToEvict":2,"nodeSelector":{"matchLabels":{"a":"b"}}})")
            .empty());
  CHECK(order({}, {}).empty());
}

TEST_CASE("costs are written where they differ, of pods that stay the highest, never in a dry run") {
  koord::test::Loop loop;
  koord::test::FakeTransport server(loop.clock);
  server.answer = [](const net::Request&) -> Result<net::Response> {
    net::Response response;
    response.status = 200;
    response.body = "{}";
    return response;
  };
  kube::Client client(server, loop.clock, {.max_retries = 0});
  test::WriteWatch watch;
  watch.watch(client);
  watch.guard(server);
  const FeatureGates gates;
  CapturedLog captured;
  const Logger log(captured, loop.clock);
  PluginContext context{.profile = "test", .clock = loop.clock, .log = log, .gates = gates};
  context.client = &client;
  bool leads = true;
  context.may_write = [&] { return leads; };
  const ArgsType& type = *kScaleDownBinPack.args;
  const auto args = type.create();
  REQUIRE(static_cast<bool>(
      api::decode_strict(R"({"evictableNamespaces":{"exclude":["kept"]}})", type.schema(), args.get())));
  type.set_defaults(args.get());
  const auto plugin = kScaleDownBinPack.make(args, context).value();
  const auto ran = [&](bool dry) {
    const std::string cost = "annotation:controller.kubernetes.io/pod-deletion-cost=";
    const auto pass = pass_of({{std::string("node1") + kNode},
                               {one("p1", "node1"), one("p2", "node1", cost + "1"),
                                one("stays", "node1", "mirror"), one("kept", "node1", "ns=kept mirror")}});
    pass->dry = dry;
    server.requests.clear();
    const bool done = koord::test::run_task(loop, plugin->balance(*pass)).has_value();
    std::string sent = done ? "" : "failed ";
    for (const net::Request& request : server.requests)
      sent += request.method + " " + request.target + " " + request.body + "\n";
    return sent;
  };
  const std::string path = "PATCH /api/v1/namespaces/default/pods/";
  CHECK(
      ran(false) ==
      path +
          R"(p1 {"metadata":{"uid":"uid-p1","annotations":{"controller.kubernetes.io/pod-deletion-cost":"0"}}})"
          "\n" +
          path +
          R"(stays {"metadata":{"uid":"uid-stays","annotations":{"controller.kubernetes.io/pod-deletion-cost":"2147483647"}}})"
          "\n");
  CHECK(ran(true).empty());
  leads = false;
  CHECK(ran(false) == "failed ");
}

TEST_CASE("ScaleDownBinPack refuses what cannot be in Koordinator's words") {
  const auto refused = [](const char* args) { return why_refused(kScaleDownBinPack, args); };
  CHECK(refused("{}").empty());
  CHECK(refused(R"({"strategy":"EvictDirectly","maxPodsToEvict":5})").empty());
  CHECK(refused(R"({"strategy":"UnknownStrategy"})") ==
        "strategy: Invalid value: \"UnknownStrategy\": strategy must be CalculateOnly or EvictDirectly");
  CHECK(refused(R"({"strategy":"EvictDirectly"})")
            .ends_with("maxPodsToEvict must be positive when strategy is EvictDirectly"));
  CHECK(refused(R"({"strategy":"EvictDirectly","maxPodsToEvict":-1})")
            .ends_with("maxPodsToEvict must be positive when strategy is EvictDirectly"));
  CHECK(
      refused(
          R"({"nodeSelector":{"matchExpressions":[{"key":"invalid_key!!","operator":"In","values":["v"]}]}})")
          .starts_with("nodeSelector: Invalid value: "));
  CHECK(
      refused(
          R"({"podSelectors":[{"name":"x","selector":{"matchExpressions":[{"key":"invalid_key!!","operator":"In","values":["v"]}]}}]})")
          .starts_with("podSelectors[0]: Invalid value: "));
  CHECK(refused(R"({"podSelectors":[{"name":"web"}]})") ==
        "podSelectors: Required value: none of them has a selector: all pods would be chosen");
  CHECK(refused(R"({"evictableNamespaces":{"include":["default"],"exclude":["kube-system"]}})")
            .ends_with("only one of Include/Exclude namespaces can be set"));
  CHECK(refused(R"({"resourceWeights":{"cpu":-1}})") ==
        "resourceWeights[cpu]: Invalid value: -1: weights must be positive finite floats");
  CHECK(refused(R"({"resourceWeights":{"cpu":1,"memory":2.5}})").empty());
}

}  // namespace
}  // namespace koord::descheduler::test
