// CustomPriority: what its own tests show (validation 4, selectors of pods and nodes, levels, order, room,
// misfits, both modes, cordons, dry runs), as clusters; thresholds, room and cordons where the original has
// none.
#include <catch2/catch.hpp>

#include "koord/api/schema/codec.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/kube/client.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"
#include "unit/descheduler/plugins/rows.hpp"
#include "unit/descheduler/write_watch.hpp"

namespace koord::descheduler {
extern const PluginEntry kCustomPriority;
}

namespace koord::descheduler::test {
namespace {

using Texts = std::vector<std::string>;

std::string level(const std::string& name, const std::string& more = "") {
  return R"({"name":")" + name + R"(","nodeSelector":{"matchLabels":{"tier":")" + name + "\"}}" + more + "}";
}
std::string with(const std::string& more = "", const std::string& gold = level("gold"),
                 const std::string& silver = level("silver")) {
  return R"({"evictionOrder":[)" + gold + "," + silver + "," + level("bronze") + "]" + more + "}";
}
const std::string kGold = "s1 cpu=1000 label:tier=gold", kSilver = "t1 cpu=1000 label:tier=silver";

TEST_CASE("pods leave the nodes of dear levels for cheaper ones, the smallest first") {
  const Texts nodes = {kGold, kSilver};
  const Texts three = {"a s1 cpu=200 memory=100", "b s1 cpu=100 memory=500", "c s1 cpu=100 memory=100"};
  const auto who = [](const std::string& args, const Texts& of, const Texts& pods, const char* holds = "") {
    return gone(kCustomPriority, args, {of, pods, holds});
  };
  CHECK(who(with(), nodes, three) == "c b a");
  CHECK(who(with(R"(,"paused":true)"), nodes, three).empty());
  CHECK(who(with(R"(,"dryRun":true)"), nodes, three).empty());
  CHECK(who(with(R"(,"nodeSelector":{"matchLabels":{"none":"x"}})"), nodes, three).empty());
  CHECK(who(with(), {kGold}, three).empty());
  CHECK(who(with(), {kGold, "t1 label:tier=other"}, three).empty());
  CHECK(who(with(R"(,"podSelectors":[{"selector":{"matchLabels":{"app":"a"}}}])"), nodes,
            {"p s1 label:app=a", "q s1 label:app=b"}) == "p");
  CHECK(who(with(R"(,"evictableNamespaces":{"exclude":["ns"]})"), nodes, {"p s1", "q s1 ns=ns"}) == "p");
  // Levels without nodes are left out, the last one keeps its pods.
  CHECK(who(with(), {kGold, "t1 label:tier=bronze"}, {"p s1", "q t1"}) == "p");
  // What went counts: of 1000 there is room for two of 400.
  CHECK(who(with(), nodes, {"a s1 cpu=400", "b s1 cpu=400", "c s1 cpu=400"}) == "a b");
  // What has ended stays, and a node is empty without it.
  for (const char* phase : {"Failed", "Succeeded"}) {
    const Texts ended = {"a s1 cpu=400", std::string("b s1 cpu=2000 phase=") + phase};
    CHECK(who(with(), nodes, ended) == "a");
    CHECK(who(with(R"(,"mode":"DrainNode")"), nodes, ended) == "a");
  }
  // Whether pods fit need not be asked.
  CHECK(who(with(R"(,"nodeFit":false)"), nodes, {"a s1 cpu=2000", "b s1 cpu=3000"}) == "a b");
  // After five in a row that fit nowhere the rest is not tried.
  Texts six = {"small s1 cpu=100"};
  for (const char* name : {"v", "w", "x", "y", "z"}) six.push_back(std::string(name) + " s1 cpu=2000");
  six.push_back("last s1 cpu=2001 memory=1");
  CHECK(who(with(), nodes, six) == "small");
  const auto pass = pass_of({nodes, {"p s1"}});
  run(*make_plugin(kCustomPriority, with()), *pass);
  REQUIRE(pass->gone.size() == 1);
  CHECK(pass->gone[0].reason == "evicting from gold priority resource to lower priority resource");
}

TEST_CASE("a node of which little is asked keeps its pods, one of which much would be takes none") {
  const std::string keep = level("gold", R"(,"keepThreshold":{"cpu":30})");
  const std::string reject = level("silver", R"(,"rejectThreshold":{"cpu":50})");
  const Texts nodes = {kGold, kSilver};
  CHECK(gone(kCustomPriority, with("", keep), {nodes, {"a s1 cpu=100", "b s1 cpu=200"}}).empty());
  CHECK(gone(kCustomPriority, with("", keep), {nodes, {"a s1 cpu=100", "b s1 cpu=201"}}) == "a b");
  CHECK(gone(kCustomPriority, with("", level("gold"), reject), {nodes, {"a s1 cpu=300", "b s1 cpu=300"}}) ==
        "a");
  CHECK(gone(kCustomPriority, with("", level("gold"), reject), {nodes, {"a s1 cpu=501"}}).empty());
}

/// What is asked of the API server, and who went.
std::string drained(const std::string& more, const Texts& nodes, const Texts& pods, bool dry = false,
                    const char* holds = "") {
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
  context.may_write = [] { return true; };
  const ArgsType& type = *kCustomPriority.args;
  const auto args = type.create();
  REQUIRE(static_cast<bool>(
      api::decode_strict(with(R"(,"mode":"DrainNode")" + more), type.schema(), args.get())));
  type.set_defaults(args.get());
  const auto plugin = kCustomPriority.make(args, context).value();
  const auto pass = pass_of({nodes, pods, holds});
  pass->dry = dry;
  REQUIRE(koord::test::run_task(loop, plugin->balance(*pass)).has_value());
  std::string did;
  for (const net::Request& request : server.requests)
    did += request.body.find("true") != std::string::npos ? "cordon " : "uncordon ";
  for (const FakePass::Gone& each : pass->gone) did += each.pod.substr(each.pod.find('/') + 1) + " ";
  return did;
}

TEST_CASE("a node is drained if all of its pods find room, and cordoned only if it is") {
  const std::string cordon = R"(,"autoCordon":true)";
  const Texts nodes = {kGold, "t1 cpu=500 label:tier=silver", "t2 cpu=500 label:tier=bronze"};
  const Texts two = {"p1 s1 cpu=400", "p2 s1 cpu=400"},
              three = {"p1 s1 cpu=400", "p2 s1 cpu=400", "p3 s1 cpu=400"};
  CHECK(drained("", nodes, two) == "p1 p2 ");
  CHECK(drained(cordon, nodes, two) == "cordon p1 p2 ");
  CHECK(drained(cordon, nodes, three).empty());
  // Neither dry run writes anything.
  CHECK(drained(cordon, nodes, two, true) == "p1 p2 ");
  CHECK(drained(cordon + R"(,"dryRun":true)", nodes, two).empty());
  // One that stays ends it, and who cordoned takes it back; not what somebody else did.
  CHECK(drained(cordon, nodes, two, false, "node=1") == "cordon uncordon p1 ");
  CHECK(drained(cordon, {kGold + " cordoned", nodes[1], nodes[2]}, two, false, "node=1") == "p1 ");
}

TEST_CASE("levels that cannot be are refused in Koordinator's words") {
  const auto refused = [](const std::string& args) { return why_refused(kCustomPriority, args); };
  CHECK(refused("{}") == "CustomPriority requires at least 2 resource priority levels");
  CHECK(refused(R"({"evictionOrder":[)" + level("p1") + "," + level("p1") + "]}") ==
        "duplicate priority name: p1");
  CHECK(refused(R"({"evictionOrder":[)" + level("p1") + R"(,{"name":"p2"}]})") ==
        "priority p2 must have a nodeSelector");
  CHECK(refused(with()).empty());
  CHECK(refused(R"({"evictionOrder":[)" + level("") + "," + level("p1") + "]}") ==
        "priority name cannot be empty");
  CHECK(refused(with(R"(,"mode":"drain")")) == "invalid mode: drain, supported: BestEffort, DrainNode");
  CHECK(refused(with("", level("gold", R"(,"keepThreshold":{"cpu":101})"))) ==
        "priority[0].keepThreshold is invalid: resource threshold for cpu must be between 0 and 100, got "
        "101.000000");
  CHECK(
      refused(
          with(
              R"(,"podSelectors":[{"name":"bad","selector":{"matchExpressions":[{"key":"app","operator":"Invalid"}]}}])"))
          .starts_with("podSelectors[0]: Invalid value: "));
  CHECK(refused(with(R"(,"podSelectors":[{"name":"web"}])")) ==
        "podSelectors: Required value: none of them has a selector: all pods would be chosen");
}

}  // namespace
}  // namespace koord::descheduler::test
