// DynamicResources in the engine: upstream's rows, what is assumed and written, which events help.
#include <catch2/catch.hpp>

#include "koord/async/task_group.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/kube/informer.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"
#include "plugins/dynamic_resources/plugin_rows.hpp"

namespace koord::scheduling::test {
namespace {

using Lines = std::vector<std::string>;

TEST_CASE("a pod with claims fares as with kube-scheduler") {
  for (const PluginRow& row : plugin_rows()) {
    INFO(row.name);
    ClaimRig rig({.gates = row.gates, .args = row.args});
    for (const std::string& node : row.nodes) rig.put_node(node);
    for (const std::string& each : row.classes) rig.put_class(each);
    for (const std::string& slice : row.slices) rig.put_slice(slice);
    for (const std::string& claim : row.claims) rig.put_claim(claim);
    CHECK(rig.attempt(row.pod) == row.says);
    CHECK(rig.has() == row.has);
    CHECK(rig.writes == row.writes);
  }
}

/// A node with so many devices, and the class.
struct Machine : ClaimRig {
  explicit Machine(int devices = 1, const Options& options = {}) : ClaimRig(options) {
    put_node(kNode);
    put_class(class_json());
    put_slice(slice_json(kNode, devices));
  }
  void pending(const std::string& name) { put_claim(claim_json(one_request(), "{}", name)); }
  std::shared_ptr<const api::Pod> pod(const std::string& name, const std::string& claim) {
    return claim_pod({claim}, false, name, "uid-" + name);
  }
  /// Let time pass until a failed pod may be tried again.
  std::string later() {
    world.clock.advance(std::chrono::seconds(20));
    return next();
  }
};

TEST_CASE("a device is given once, from Reserve on, whatever the API server tells in between") {
  Machine m;
  m.pending("a");
  m.pending("b");
  m.world.engine.put_pod(m.pod("p", "a"));
  const Decision first = m.world.one();
  REQUIRE(first.node() == kNode);
  // Nothing is written yet.
  CHECK(m.attempt(m.pod("q", "b")) == none_fits("cannot allocate all claims"));
  // The finalizer comes by itself: it does not say that there is no allocation.
  m.claims["a"].metadata.finalizers.push_back("resource.kubernetes.io/delete-protection");
  m.claims["a"].metadata.resource_version = "900";
  m.tell();
  m.world.engine.put_pod(changed(m.pod("q", "b"), [](api::Pod& p) { p.metadata.labels["again"] = "yes"; }));
  m.pending("c");
  CHECK(m.attempt(m.pod("r", "c")) == none_fits("cannot allocate all claims"));
  CHECK(m.carry_out(first) == "bound to worker");
  CHECK(m.has("a") == "req-1=instance-1@worker; p");
  m.pending("d");
  CHECK(m.attempt(m.pod("s", "d")) == none_fits("cannot allocate all claims"));
}

TEST_CASE("who starts anew gives nothing twice") {
  Machine m(2);
  m.put_claim(claim_json(one_request(), allocated("", "", kept_for("uid-p", "p")), "a"));
  m.pending("b");
  m.pending("c");
  CHECK(m.attempt(m.pod("q", "b")) == "bound to worker");
  CHECK(m.has("b") == "req-1=instance-2@worker; q");
  CHECK(m.attempt(m.pod("r", "c")) == none_fits("cannot allocate all claims"));
}

TEST_CASE("what was reserved is given back when the binding fails, and who waits for it hears of it") {
  Machine m;
  m.pending("a");
  m.pending("b");
  m.refuse = [](const std::string& write) -> std::optional<Result<net::Response>> {
    if (write != "PUT a/status") return std::nullopt;
    return koord::test::status_response(422, "Invalid", "no");
  };
  m.world.engine.put_pod(m.pod("p", "a"));
  const Decision first = m.world.one();
  CHECK(m.attempt(m.pod("q", "b")) == none_fits("cannot allocate all claims"));
  CHECK(m.carry_out(first) == "failed: add allocation and reservation to claim default/a: no");
  // No event but that of the devices.
  CHECK(m.later() == "failed: add allocation and reservation to claim default/a: no");
  CHECK(m.later() == "bound to worker");
  CHECK(m.has("b") == "req-1=instance-1@worker; q");
  CHECK(m.has("a").empty());
}

TEST_CASE("what was written stays when the binding fails, and the next attempt goes on from there") {
  for (const bool told : {true, false}) {
    INFO(told);
    Machine m;
    m.pending("a");
    m.tells_at_once = told;
    const auto pod = m.pod("p", "a");
    CHECK(m.attempt(pod, false) == "failed: the binding");
    CHECK(m.has("a") == "req-1=instance-1@worker; p");
    // The devices stay the claim's, though nobody told of it.
    m.pending("b");
    CHECK(m.attempt(m.pod("q", "b")) == none_fits("cannot allocate all claims"));
    // The pod was to be taken out of it: only the API server knows whether it is kept for the pod.
    m.claims["a"].status.reserved_for.clear();
    m.claims["a"].metadata.resource_version = "900";
    m.tell();
    CHECK(m.later() == "bound to worker");
    CHECK(m.has("a") == "req-1=instance-1@worker; p");
  }
}

TEST_CASE("a pod whose claim is being allocated for another waits, and shares it then") {
  Machine m;
  m.pending("a");
  m.world.engine.put_pod(m.pod("p", "a"));
  const Decision first = m.world.one();
  CHECK(m.attempt(m.pod("q", "a")) ==
        not_looked("resource claim default/a is in the process of being allocated"));
  CHECK(m.carry_out(first) == "bound to worker");
  CHECK(m.later() == "bound to worker");
  CHECK(m.has("a") == "req-1=instance-1@worker; p q");
}

TEST_CASE("a conflict is tried again in the newest version, five times") {
  struct Row {
    const char* name;
    int conflicts;
    const char* says;
    std::size_t writes;
  };
  const Row rows[] = {
      {"one", 1, "bound to worker", 3},
      {"four", 4, "bound to worker", 6},
      {"five", 5, "failed: add finalizer to claim default/a: the object has been modified", 5},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Machine m;
    m.pending("a");
    int left = row.conflicts;
    m.refuse = [&](const std::string& write) -> std::optional<Result<net::Response>> {
      if (!write.starts_with("PUT") || left == 0) return std::nullopt;
      --left;
      return koord::test::status_response(409, "Conflict", "the object has been modified");
    };
    CHECK(m.attempt(m.pod("p", "a")) == row.says);
    CHECK(m.writes.size() == row.writes);
  }
}

TEST_CASE("a claim that is written though the answer is lost is written once") {
  Machine m;
  m.pending("a");
  bool lost = false;
  m.refuse = [&](const std::string& write) -> std::optional<Result<net::Response>> {
    if (write != "PUT a/status" || std::exchange(lost, true)) return std::nullopt;
    api::ResourceClaim& claim = m.claims["a"];
    claim.status.allocation.ensure().devices.results.push_back(
        {.request = "req-1", .driver = "some-driver", .pool = "worker", .device = "instance-1"});
    claim.status.reserved_for.push_back({.resource = "pods", .name = "p", .uid = "uid-p"});
    return Error(Code::unavailable, "connection reset by peer");
  };
  CHECK(m.attempt(m.pod("p", "a")) == "bound to worker");
  CHECK(m.has("a") == "req-1=instance-1@worker; p");
  CHECK(m.writes == Lines{"PUT a", "PUT a/status"});
}

TEST_CASE("what happened to a claim meanwhile ends the attempt") {
  struct Row {
    const char* name;
    std::function<void(api::ResourceClaim&)> change;
    const char* says;
  };
  const Row rows[] = {
      {"allocated", [](api::ResourceClaim& claim) { claim.status.allocation.ensure(); },
       "failed: claim default/a got allocated elsewhere in the meantime"},
      {"going", [](api::ResourceClaim& claim) { claim.metadata.deletion_timestamp.emplace(); },
       "failed: claim default/a got deleted in the meantime"},
      {"another of the name", [](api::ResourceClaim& claim) { claim.metadata.uid = "another"; },
       "failed: claim default/a got deleted in the meantime"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Machine m;
    m.pending("a");
    m.world.engine.put_pod(m.pod("p", "a"));
    const Decision decision = m.world.one();
    row.change(m.claims["a"]);
    m.claims["a"].metadata.resource_version = "900";
    CHECK(m.carry_out(decision) == row.says);
  }
}

TEST_CASE("a pod waits until its devices may be used") {
  const Machine::Options options{.gates = "DRADeviceBindingConditions=true",
                                 .args = R"({"bindingTimeout":"60s"})"};
  const std::string devices = R"(,"bindingConditions":["condition"],"bindingFailureConditions":["failed"])";
  struct Row {
    const char* name;
    const char *condition, *failed;  // after half a minute; nullptr: nothing is said
    const char* says;
  };
  const Row rows[] = {
      {"they may", "True", "False", "bound to worker"},
      {"one failed", "False", "True", R"(failed: claim a binding failed: reason=Broken, message="it is")"},
      {"nobody says so", nullptr, nullptr, "failed: device binding timeout"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    ClaimRig rig(options);
    rig.put_node(kNode);
    rig.put_class(class_json());
    rig.put_slice(slice_json(kNode, 1, devices));
    rig.put_claim(claim_json(one_request(), "{}", "a"));
    if (row.condition != nullptr)
      rig.loop.clock.call_at(rig.loop.clock.mono() + std::chrono::seconds(30), [&] {
        auto& device = rig.claims["a"].status.devices.emplace_back();
        device.driver = "some-driver";
        device.pool = kNode;
        device.device = "instance-1";
        device.conditions = {
            {.type = "condition", .status = row.condition},
            {.type = "failed", .status = row.failed, .reason = "Broken", .message = "it is"}};
      });
    CHECK(rig.attempt(claim_pod({"a"}, false, "p", "uid-p")) == row.says);
  }
}

TEST_CASE("which events have a pod tried again") {
  const std::string mine = claim_json(one_request()), gone = claim_json(one_request(), "{}", "not-my-claim"),
                    taken = claim_json(one_request(), allocated(), "not-my-claim");
  struct Row {
    const char* name;
    std::function<void(ClaimRig&)> event;
    bool tried;
  };
  const Row rows[] = {
      {"unrelated claim", [&](ClaimRig& r) { r.put_claim(claim_json(one_request(), "{}", "third")); }, false},
      {"a finalizer of its claim",
       [&](ClaimRig& r) {
         r.claims[kClaim].metadata.finalizers.push_back("foo");
         r.claims[kClaim].metadata.resource_version = "900";
         r.tell();
       },
       false},
      {"the status of its claim", [&](ClaimRig& r) { r.put_claim(claim_json(one_request(), allocated())); },
       true},
      {"another claim is deallocated", [&](ClaimRig& r) { r.put_claim(gone); }, true},
      {"it goes with its devices", [&](ClaimRig& r) { r.remove_claim("not-my-claim"); }, true},
      {"a slice", [&](ClaimRig& r) { r.put_slice(slice_json("worker-2")); }, true},
      {"a slice goes", [&](ClaimRig& r) { r.remove_slice(slice_json(kNode)); }, true},
      {"a class", [&](ClaimRig& r) { r.put_class(class_json("{}", "another")); }, true},
      {"a node", [&](ClaimRig& r) { r.put_node("worker-2"); }, true},
      {"a pod goes", [&](ClaimRig&) {}, false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    ClaimRig rig;
    rig.put_node(kNode);
    rig.put_class(class_json());
    rig.put_slice(slice_json(kNode));
    rig.put_claim(mine);
    rig.put_claim(taken);
    CHECK(rig.attempt(claim_pod()) == none_fits("cannot allocate all claims"));
    rig.world.clock.advance(std::chrono::seconds(20));
    REQUIRE(rig.next().empty());
    row.event(rig);
    CHECK(!rig.next().empty() == row.tried);
  }
}

TEST_CASE("devices that are free again before anybody was told that they were given have pods tried again") {
  for (const bool deleted : {false, true})
    for (const bool written : {false, true}) {
      INFO((deleted ? "it is deleted" : "it gives them back") << (written ? ", written" : ""));
      if (!deleted && !written) continue;  // there is nothing to give back
      Machine m;
      m.tells_at_once = false;
      m.pending("a");
      m.pending("b");
      m.world.engine.put_pod(m.pod("p", "a"));
      const Decision decision = m.world.one();
      if (written) CHECK(m.carry_out(decision) == "bound to worker");
      CHECK(m.attempt(m.pod("q", "b")) == none_fits("cannot allocate all claims"));
      CHECK(m.later().empty());
      m.claims["a"].status = {};
      m.claims["a"].metadata.resource_version = "900";
      if (deleted) m.claims.erase("a");
      m.tell();
      CHECK(m.next() == "bound to worker");
    }
}

TEST_CASE("a pod that waits for its claim is tried when it has one") {
  Machine m;
  CHECK(m.attempt(claim_pod({""}, true)).empty());
  m.put_claim(claim_json(one_request()));
  CHECK(m.later().empty());
  m.world.engine.put_pod(claim_pod({kClaim}, true));
  CHECK(m.later() == "bound to worker");
}

TEST_CASE("of pods alike only the nodes are searched again on which something changed") {
  Machine m(8);
  for (const char* node : {"worker-2", "worker-3"}) {
    m.put_node(node);
    m.put_slice(slice_json(node, 8));
  }
  std::map<std::string, int> on;
  for (int i = 0; i < 24; ++i) {
    const std::string claim = fmt::format("c{}", i);
    m.pending(claim);
    ++on[m.attempt(m.pod(fmt::format("p{}", i), claim))];
  }
  CHECK(on == std::map<std::string, int>{
                  {"bound to worker", 8}, {"bound to worker-2", 8}, {"bound to worker-3", 8}});
  m.pending("more");
  CHECK(m.attempt(m.pod("more", "more")) ==
        "0/3 nodes are available: 3 cannot allocate all claims. still not schedulable");
  // A slice that is another one now counts at once, and so does a node that goes and comes.
  m.put_slice(slice_json("worker-2", 9));
  CHECK(m.later() == "bound to worker-2");
}

TEST_CASE("a node that came and went while nobody asked is asked about when it comes again") {
  Machine m(4);
  m.pending("a");
  CHECK(m.attempt(m.pod("a", "a")) == "bound to worker");
  m.put_node("worker-2");
  m.world.engine.remove_node("worker-2");
  m.pending("b");
  CHECK(m.attempt(m.pod("b", "b")) == "bound to worker");
  // It has no devices, and more room.
  m.put_node("worker-2");
  m.pending("c");
  CHECK(m.attempt(m.pod("c", "c")) == "bound to worker");
}

TEST_CASE("slices that name no node are for those that they select") {
  ClaimRig rig;
  rig.put_class(class_json());
  for (const char* node : {"a", "b"}) rig.put_node(node);
  rig.put_slice(slice_json(
      "shared", 2, "",
      R"("nodeSelector":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["b"]}]}]})"));
  for (const char* claim : {"x", "y", "z"}) rig.put_claim(claim_json(one_request(), "{}", claim));
  CHECK(rig.attempt(claim_pod({"x"}, false, "x", "x")) == "bound to b");
  CHECK(rig.attempt(claim_pod({"y"}, false, "y", "y")) == "bound to b");
  CHECK(rig.attempt(claim_pod({"z"}, false, "z", "z")) ==
        "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable");
}

TEST_CASE("rules taint devices, with their gate, for as long as they say so") {
  const auto rule = [](const char* selector, const char* effect = "NoSchedule") {
    return fmt::format(
        R"({{"metadata":{{"name":"sick"}},"spec":{{{}"taint":{{"key":"k","value":"v","effect":"{}"}}}}}})",
        selector, effect);
  };
  struct Row {
    const char *name, *gates;
    std::string rule;
    bool placed;
  };
  const char* both = "DRADeviceTaints=true,DRADeviceTaintRules=true";
  const Row rows[] = {
      {"all devices", both, rule(""), false},
      {"the device", both,
       rule(R"("deviceSelector":{"driver":"some-driver","pool":"worker","device":"instance-1"},)"), false},
      {"another device", both, rule(R"("deviceSelector":{"device":"instance-2"},)"), true},
      {"another driver", both, rule(R"("deviceSelector":{"driver":"other"},)"), true},
      {"another pool", both, rule(R"("deviceSelector":{"pool":"other"},)"), true},
      {"no effect", both, rule("", "None"), true},
  };
  for (const bool first : {true, false})
    for (const Row& row : rows) {
      INFO(row.name << first);
      Machine m(1, {.gates = row.gates});
      m.put_rule(row.rule);
      if (first) m.put_slice(slice_json(kNode));
      m.pending("a");
      CHECK((m.attempt(m.pod("p", "a")) == "bound to worker") == row.placed);
      if (row.placed) continue;
      m.put_rule(rule("", "None"));
      CHECK(m.later() == "bound to worker");
    }
}

TEST_CASE("pods whose claims can be had everywhere are placed by score, and rows that change are looked at") {
  // The node with more room is better; it has devices for two pods.
  ClaimRig rig;
  rig.put_class(class_json());
  for (int i = 0; i < 3; ++i) {
    const std::string name = fmt::format("n{}", i);
    rig.world.engine.put_node(make_node(name, i == 0 ? "64" : "8", i == 0 ? "640Gi" : "8Gi"));
    rig.put_slice(slice_json(name, i == 0 ? 2 : 4));
  }
  std::string nodes;
  for (int i = 0; i < 6; ++i) {
    const std::string claim = fmt::format("c{}", i);
    rig.put_claim(claim_json(one_request(), "{}", claim));
    nodes += rig.attempt(claim_pod({claim}, false, claim, claim)) + " ";
    if (i == 3) rig.world.engine.put_node(make_node("n3", "640", "6400Gi"));  // without devices
  }
  CHECK(nodes.starts_with("bound to n0 bound to n0 "));
  CHECK(nodes.find("n0", 24) == std::string::npos);
  CHECK(nodes.find("n3") == std::string::npos);
  // Devices that come make it the best.
  rig.put_slice(slice_json("n3", 1));
  rig.put_claim(claim_json(one_request(), "{}", "late"));
  CHECK(rig.attempt(claim_pod({"late"}, false, "late", "late")) == "bound to n3");
}

TEST_CASE("a selector of nodes that cannot be read ends the attempt") {
  Machine m;
  m.put_slice(slice_json(
      "shared", 1, "",
      R"("nodeSelector":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"k","operator":"Nonsense"}]}]})"));
  m.pending("a");
  const std::string said = m.attempt(m.pod("p", "a"));
  CHECK(said.starts_with(R"(running "DynamicResources" filter plugin: gather pool information: )"
                         "failed to perform node selection for slice shared-some-driver: "));
}

TEST_CASE("a pod without claims is told what kube-scheduler tells it") {
  ClaimRig rig;
  rig.put_node(kNode);
  CHECK(rig.attempt(make_pod("p", "100", "1Gi")) ==
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate");
  CHECK(rig.attempt(make_pod("q", "1", "1Gi")) == "bound to worker");
}

/// Runs the controller while a test lasts.
struct Controlled {
  explicit Controlled(ClaimRig& of) : rig(of) {
    for (const Profile::Named& each : rig.world.engine.profiles().front().plugins)
      if (auto* plugin = dynamic_cast<ControllerPlugin*>(each.plugin.get()); each.name == "DynamicResources")
        controller = plugin->make_controller(informers, rig.client);
    tasks.spawn("controller",
                controller->run({rig.client, rig.loop.clock, log, [] { return true; }, metrics}));
    rig.loop.settle();
  }
  ~Controlled() { koord::test::run_task(rig.loop, tasks.stop(rig.loop.clock, std::chrono::seconds(5))); }

  ClaimRig& rig;
  kube::InformerSet informers{rig.loop.executor(), rig.loop.clock};
  CapturedLog captured;
  Logger log{captured, rig.loop.clock};
  metrics::Registry metrics;
  std::unique_ptr<PluginController> controller;
  TaskGroup tasks{rig.loop.executor()};
};

TEST_CASE("a claim that keeps its pod from every node gives its devices back") {
  const std::string elsewhere = allocated(
      R"({"matchExpressions":[{"key":"no-such-label","operator":"In","values":["no-such-value"]}]})");
  struct Row {
    const char* name;
    std::vector<PluginRef> asked;  // at postFilter
    const char* says;
  };
  const Row rows[] = {
      {"by kube-scheduler's profile",
       {{"DynamicResources", {}}},
       "0/1 nodes are available: 1 resourceclaim not available on the node. deallocation of ResourceClaim "
       "completed"},
      {"by one that leaves it out",
       {{"DefaultPreemption", {}}},
       "0/1 nodes are available: 1 resourceclaim not available on the node. preemption: 0/1 nodes are "
       "available: 1 Preemption is not helpful for scheduling."},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Machine m(1, {.post_filters = row.asked});
    Controlled controlled(m);
    m.put_claim(claim_json(one_request(), elsewhere));
    CHECK(m.attempt(claim_pod()) == row.says);
    m.loop.settle();
    CHECK(m.has().empty());
    CHECK(m.writes == Lines{fmt::format("PUT {}/status", kClaim)});
    CHECK(m.later() == "bound to worker");
    CHECK(m.has() == "req-1=instance-1@worker; my-pod");
  }
}

TEST_CASE("a pod whose binding failed is taken out of its claim") {
  Machine m;
  Controlled controlled(m);
  m.pending("a");
  CHECK(m.attempt(m.pod("p", "a"), false) == "failed: the binding");
  m.loop.settle();
  CHECK(
      m.writes ==
      Lines{
          "PUT a", "PUT a/status",
          R"(PATCH a/status {"metadata":{"uid":"uid-a"},"status":{"reservedFor":[{"$patch":"delete","uid":"uid-p"}]}})"});
  CHECK(m.has("a") == "req-1=instance-1@worker");
  CHECK(m.later() == "bound to worker");
  CHECK(m.has("a") == "req-1=instance-1@worker; p");
}

TEST_CASE("the arguments are checked in Kubernetes' words") {
  struct Row {
    const char *name, *gates, *args, *error;
  };
  const Row rows[] = {
      {"nothing said", "", "{}", ""},
      {"both", "DRADeviceBindingConditions=true", R"({"filterTimeout":"1s","bindingTimeout":"1s"})", ""},
      {"a binding timeout without its gate", "", R"({"bindingTimeout":"1s"})",
       "bindingTimeout: Forbidden: DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate "
       "is "
       "disabled"},
      {"a filter timeout without its gate", "DRASchedulerFilterTimeout=false", R"({"filterTimeout":"1s"})",
       "filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is disabled"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    std::string error;
    try {
      ClaimRig rig({.gates = row.gates, .args = row.args});
    } catch (const std::exception& thrown) {
      error = thrown.what();
    }
    CHECK((*row.error == '\0' ? error.empty() : error.find(row.error) != std::string::npos));
  }
}

}  // namespace
}  // namespace koord::scheduling::test
