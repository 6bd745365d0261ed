// Nominated pods, whom they keep off, and bindings whose end the watch or another scheduler overtakes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>

#include "cycle_rig.hpp"

namespace koord::scheduling::test {
namespace {

using namespace std::chrono_literals;
using Kind = Decision::Kind;

std::shared_ptr<const api::Pod> nominated(std::string name, std::string_view cpu, const char* node,
                                          int priority = 0) {
  return make_pod(std::move(name), cpu, "1Gi", [&](api::Pod& p) {
    p.status.nominated_node_name = node;
    p.spec.priority = priority;
  });
}

TEST_CASE("a nominated pod's room is kept from pods of no higher priority") {
  struct Case {
    const char* name;
    int priority;  // of the pod that comes; that of the nominated one is 5
    bool bound;
  };
  for (const Case& k : {Case{"lower", 4, false}, Case{"equal", 5, false}, Case{"higher", 6, true}}) {
    INFO(k.name);
    Cycle c;
    // Nominated, but it does not fit anywhere yet.
    c.engine.put_pod(make_pod("there", "2", "1Gi", [](api::Pod& p) { p.spec.node_name = "n"; }));
    c.post_filters["A"] = {{StatusCode::success, {}}, Symbol("n"), {}};
    c.engine.put_pod(nominated("first", "3", "", 5));
    CHECK(c.one().nominate() == Symbol("n"));
    c.engine.put_pod(make_pod("p", "1", "1Gi", [&](api::Pod& p) { p.spec.priority = k.priority; }));
    CHECK((c.one().kind() == Kind::bind) == k.bound);
  }
}

TEST_CASE("nominations follow the pods' status, the nodes and the queue") {
  Cycle c;
  const Nominator& n = c.engine.nominator();
  const auto p = nominated("p", "100", "n");
  c.engine.put_pod(p);
  REQUIRE(n.rows().size() == 1);
  CHECK(n.on(n.rows()[0]).size() == 1);
  SECTION("the node goes and comes back") {
    c.engine.remove_node("n");
    CHECK(n.rows().empty());
    CHECK(n.size() == 1);
    c.engine.put_node(make_node("n"));
    CHECK(n.rows().size() == 1);
  }
  SECTION("the node that it names does not exist yet") {
    c.engine.put_pod(changed(p, [](api::Pod& q) { q.status.nominated_node_name = "m"; }));
    CHECK(n.rows().empty());
    c.engine.put_node(make_node("m"));
    CHECK(n.rows().size() == 1);
  }
  SECTION("the pod goes") {
    c.engine.remove_pod(*p);
    CHECK(n.size() == 0);
  }
  SECTION("it is bound") {
    c.engine.put_pod(changed(p, [](api::Pod& q) { q.spec.node_name = "n"; }));
    CHECK(n.size() == 0);
  }
  SECTION("an attempt leaves it as it is if nobody says otherwise") {
    CHECK(c.one().kind() == Kind::unschedulable);
    CHECK(n.size() == 1);
  }
  SECTION("an attempt takes it back") {
    c.post_filters["A"] = {{StatusCode::unresolvable, {}}, Symbol(), {}};
    CHECK(c.one().nominate() == Symbol());
    CHECK(n.size() == 0);
    // An update that does not know of it yet does not bring it back, one that says so does.
    c.engine.put_pod(changed(p, [](api::Pod& q) { q.metadata.labels["a"] = "b"; }));
    CHECK(n.size() == 1);
  }
  SECTION("an update that does not know of a nomination yet leaves it") {
    c.engine.put_pod(changed(p, [](api::Pod& q) { q.status.nominated_node_name = {}; }));
    CHECK(n.size() == 0);
    c.post_filters["A"] = {{StatusCode::success, {}}, Symbol("n"), {}};
    CHECK(c.one().nominate() == Symbol("n"));
    c.engine.put_pod(changed(p, [](api::Pod& q) {
      q.status.nominated_node_name = {};
      q.metadata.labels["a"] = "b";
    }));
    CHECK(n.size() == 1);
  }
}

TEST_CASE("when a nomination is taken back, pods of no higher priority are tried again") {
  const int priority = GENERATE(0, 1, 2);
  Cycle c;
  c.engine.put_pod(make_pod("there", "2", "1Gi", [](api::Pod& p) { p.spec.node_name = "n"; }));
  const auto first = nominated("first", "3", "n", 1);
  c.engine.put_pod(first);
  CHECK(c.one().kind() == Kind::unschedulable);
  c.engine.put_pod(
      make_pod("p", priority == 2 ? "3" : "1", "1Gi", [&](api::Pod& p) { p.spec.priority = priority; }));
  CHECK(c.one().kind() == Kind::unschedulable);
  c.clock.advance(20s);
  const bool gone = GENERATE(true, false);
  if (gone) c.engine.remove_pod(*first);
  if (!gone) c.engine.put_pod(changed(first, [](api::Pod& p) { p.status.nominated_node_name = {}; }));
  const std::vector<Decision> out = c.run();
  const auto tried =
      std::count_if(out.begin(), out.end(), [](const Decision& d) { return d.pod->metadata.name == "p"; });
  CHECK(tried == (priority == 2 ? 0 : 1));
}

/// Node a, on which a nominated pod's room is kept; the room of b is full but for one CPU; and a pod that may
/// go to a alone, from which nothing but the nomination keeps it off.
struct KeptOff : Cycle {
  KeptOff() {
    engine.remove_node("n");
    engine.put_node(make_node("a"));
    engine.put_node(make_node("b"));
    for (const char* node : {"a", "b"})
      engine.put_pod(make_pod(fmt::format("on-{}", node), node == std::string_view("a") ? "2" : "3",
                              node == std::string_view("a") ? "7500Mi" : "1Gi",
                              [&](api::Pod& p) { p.spec.node_name = node; }));
    first = nominated("first", "3", "a", 1);
    engine.put_pod(first);
    CHECK(one().kind() == Kind::unschedulable);
    engine.put_pod(make_pod("second", "1", "100Mi",
                            [](api::Pod& p) { p.spec.node_selector["kubernetes.io/hostname"] = "a"; }));
    CHECK(one().kind() == Kind::unschedulable);
    clock.advance(20s);
    CHECK(run().empty());
  }
  std::shared_ptr<const api::Pod> first;
};

TEST_CASE("when a nominated pod goes elsewhere, those whom its nomination alone kept off do not wait") {
  KeptOff w;
  SECTION("it is decided") {
    // Nobody else is told that it asks for less.
    w.engine.put_pod(changed(w.first, [](api::Pod& p) {
      p.spec.containers[0].resources.requests["cpu"] = api::Quantity::must("1");
    }));
    const auto out = w.run();
    REQUIRE(out.size() == 2);
    CHECK(out[0].pod->metadata.name == "first");
  }
  SECTION("somebody else has bound it") {
    w.engine.put_pod(changed(w.first, [](api::Pod& p) { p.spec.node_name = "b"; }));
  }
  w.clock.advance(20s);
  const auto left = w.run();
  CHECK(w.engine.queue_sizes() == QueueSizes{});
  for (const Decision& d : left) CHECK(d.node() == "a");
}

TEST_CASE("when a nominated pod asks for less, those who have room beside it now do not wait") {
  Cycle c;
  // Either it goes where it is nominated to, or it still goes nowhere.
  const bool fits = GENERATE(true, false);
  c.engine.put_pod(make_pod("there", "2", "1Gi", [](api::Pod& p) { p.spec.node_name = "n"; }));
  const auto first = changed(nominated("first", "3", "n", 1), [&](api::Pod& p) {
    if (!fits) p.spec.node_selector["disk"] = "ssd";
  });
  c.engine.put_pod(first);
  CHECK(c.one().kind() == Kind::unschedulable);
  for (const int priority : {0, 2}) {
    // Of the higher one the nomination keeps nothing.
    c.engine.put_pod(make_pod(fmt::format("of-{}", priority), priority == 0 ? "1" : "3", "1Gi",
                              [&](api::Pod& p) { p.spec.priority = priority; }));
    CHECK(c.one().kind() == Kind::unschedulable);
  }
  c.clock.advance(20s);
  c.engine.put_pod(changed(
      first, [](api::Pod& p) { p.spec.containers[0].resources.requests["cpu"] = api::Quantity::must("1"); }));
  const auto out = c.run();
  REQUIRE(names(out) == (fits ? "first of-0" : "of-0"));
  CHECK(out.back().kind() == Kind::bind);
  CHECK(out.back().node() == "n");
}

TEST_CASE("when a nominated pod's labels change, those whom they kept off do not wait") {
  Cycle c;
  const auto first = changed(nominated("first", "1", "n", 1), [](api::Pod& p) {
    p.metadata.labels["app"] = "web";
    p.spec.node_selector["disk"] = "ssd";
  });
  c.engine.put_pod(first);
  CHECK(c.one().kind() == Kind::unschedulable);
  c.engine.put_pod(make_pod("second", "1", "1Gi", [](api::Pod& p) {
    api::PodAffinityTerm& away = p.spec.affinity.ensure().pod_anti_affinity.ensure().required.emplace_back();
    away.topology_key = "kubernetes.io/hostname";
    away.label_selector.ensure().match_labels["app"] = "web";
  }));
  CHECK(c.one().kind() == Kind::unschedulable);
  c.clock.advance(20s);
  c.engine.put_pod(changed(first, [](api::Pod& p) { p.metadata.labels["app"] = "db"; }));
  CHECK(names(c.run()) == "second");
}

TEST_CASE("a nomination that a plugin's refusal takes back keeps nobody off any more") {
  Cycle c;
  c.engine.put_node(make_node("m", "1"));
  c.engine.put_pod(make_pod("there", "2", "1Gi", [](api::Pod& p) { p.spec.node_name = "n"; }));
  c.engine.put_pod(nominated("first", "3", "n", 1));
  CHECK(c.one().kind() == Kind::unschedulable);
  c.engine.put_pod(make_pod("second", "1", "1Gi",
                            [](api::Pod& p) { p.spec.node_selector["kubernetes.io/hostname"] = "n"; }));
  CHECK(c.one().kind() == Kind::unschedulable);
  c.clock.advance(20s);
  c.says["A.reserve"] = {StatusCode::unschedulable, "no"};
  c.engine.put_pod(nominated("first", "1", "n", 1));
  const auto out = c.run();
  REQUIRE(out.size() == 2);
  CHECK(out[0].pod->metadata.name == "first");
  CHECK(out[1].pod->metadata.name == "second");
}

// A binding and what the watch tells

TEST_CASE("a pod that is given to another scheduler while its binding is on its way is not bound twice") {
  const std::string to = GENERATE("other", "default-scheduler", "nobody's");
  KubeSchedulerConfiguration two = config();
  two.profiles.push_back(two.profiles.front());
  two.profiles[0].scheduler_name = "default-scheduler";
  two.profiles[1].scheduler_name = "other";
  Script script;
  World w(two, {}, table());
  w.engine.put_node(make_node("n"));
  w.engine.put_pod(make_pod("p"));
  const Decision d = w.one();
  const auto given = [&](const std::string& name) {
    return changed(d.pod, [&](api::Pod& p) { p.spec.scheduler_name = Symbol(name); });
  };
  w.engine.put_pod(given("other"));
  if (to != "other") w.engine.put_pod(given(to));
  CHECK(w.run().empty());
  CHECK(w.engine.assumed() == 1);
  w.engine.binding_failed(*d.pod);
  CHECK(w.engine.assumed() == 0);
  CHECK(script.kept == 0);
  w.clock.advance(20s);
  const auto out = w.run();
  REQUIRE(out.size() == (to == "nobody's" ? 0 : 1));
  if (to != "nobody's") CHECK(out[0].profile == to);
  CHECK(w.engine.assumed() == out.size());
}

TEST_CASE("a binding whose answer was lost is there if the watch says so") {
  Cycle c;
  const Decision d = c.put("p");
  const bool here = GENERATE(true, false);
  c.engine.put_node(make_node("m"));
  c.engine.put_pod(changed(d.pod, [&](api::Pod& p) { p.spec.node_name = here ? "n" : "m"; }));
  c.asked.clear();
  CHECK_FALSE(c.engine.binding_failed(*d.pod));
  CHECK(c.asked_text() == (here ? "A.post_bind(p) B.post_bind(p)" : "B.unreserve(p) A.unreserve(p)"));
  CHECK(c.kept == 0);
}

/// Nodes take pods only where another one named "friend" is, or will be: a filter of the row alone.
class Needs final : public Plugin, public FilterPlugin {
 public:
  explicit Needs(const PluginContext& context)
      : lonely_(context.verdicts.intern({context.index, false, {"node(s) were lonely"}})) {}
  bool sign(const PodInfo& pod, Signature& signature) const override {
    signature.add(needs(pod));
    return true;
  }
  Depends filter_depends() const override { return Depends::pods; }
  FilterPlugin::Prepared prepare_filter(const PodInfo& pod) override {
    FilterPlugin::Prepared prepared;
    prepared.skip = !needs(pod);
    return prepared;
  }
  void filter(PodState*, const NodeTable& nodes, std::span<const Row> rows,
              std::span<VerdictId> out) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) out[i] = judge(NodeView(nodes, rows[i]));
  }
  VerdictId filter_view(PodState*, const NodeTable&, const NodeView& view) const override {
    return judge(view);
  }

 private:
  static bool needs(const PodInfo& pod) { return pod.pod->metadata.labels.contains("needs"); }
  VerdictId judge(const NodeView& view) const {
    return std::ranges::any_of(view.pods(),
                               [](const PodInfo* p) { return p->pod->metadata.name == "friend"; })
               ? kPass
               : lonely_;
  }
  VerdictId lonely_;
};

TEST_CASE("the gate SkipFilterWithNominatedPods: whether a pod has to fit without nominated pods, too") {
  struct Nominee {
    const char* cpu;
    int priority;
    bool foreign = false;
  };
  const PodEdit nobody = [](api::Pod&) {};
  const PodEdit needs = [](api::Pod& p) { p.metadata.labels["needs"] = "friend"; };
  const PodEdit affine = [](api::Pod& p) {
    api::PodAffinityTerm& near = p.spec.affinity.ensure().pod_affinity.ensure().required.emplace_back();
    near.topology_key = "kubernetes.io/hostname";
    near.label_selector.ensure().match_labels["app"] = "friend";
  };
  struct Case {
    const char* name;
    bool cross, skip;  // the gates CrossSchedulerNomination and SkipFilterWithNominatedPods
    const char* cpu;   // of the node
    std::optional<Nominee> nominee;
    const PodEdit* edit;  // of the pod, which asks for a CPU and has priority 5
    bool fits;
  };
  const std::vector<Case> cases = {
      // The original's own.
      {"two passes, nominated", false, false, "2", Nominee{"1500m", 10}, &nobody, false},
      {"two passes, nobody nominated", false, false, "2", {}, &nobody, true},
      {"two passes, of another scheduler", true, false, "2", Nominee{"1500m", 10, true}, &nobody, false},
      {"two passes, of another one, equal", true, false, "2", Nominee{"1500m", 5, true}, &nobody, true},
      {"one pass, nominated", false, true, "2", Nominee{"1500m", 10}, &nobody, false},
      {"one pass, room for both", false, true, "4", Nominee{"1", 10}, &nobody, true},
      {"one pass, of another scheduler", true, true, "2", Nominee{"1500m", 10, true}, &nobody, false},
      {"one pass, of another one, equal", true, true, "2", Nominee{"1500m", 5, true}, &nobody, true},
      // Who needs the nominated pod.
      {"two passes, near it", false, false, "4", Nominee{"1", 10}, &affine, false},
      {"one pass, near it", false, true, "4", Nominee{"1", 10}, &affine, true},
      {"one pass, near one that is not yielded to", false, true, "4", Nominee{"1", 4}, &affine, false},
      {"one pass, near it, no room", false, true, "2", Nominee{"1500m", 10}, &affine, false},
      {"two passes, beside it", false, false, "4", Nominee{"1", 10}, &needs, false},
      {"one pass, beside it", false, true, "4", Nominee{"1", 10}, &needs, true},
      {"one pass, beside nobody", false, true, "4", {}, &needs, false},
  };
  static constexpr FeatureGate kGates[] = {
      {.name = "SkipFilterWithNominatedPods", .enabled = false, .stage = Stage::alpha, .help = ""}};
  static constexpr PluginEntry kNeeds{.name = "Needs", .make = &make<Needs>};
  std::vector<const PluginEntry*> table(plugin_table().begin(), plugin_table().end());
  table.push_back(&kNeeds);
  KubeSchedulerConfiguration config;
  config.profiles.emplace_back().plugins.ensure().multi_point.enabled = {{"Needs", {}}};
  for (const Case& c : cases) {
    INFO(c.name);
    FeatureGates gates{kGates};
    REQUIRE(gates.set(fmt::format("SkipFilterWithNominatedPods={}", c.skip)).has_value());
    EngineOptions options;
    options.foreign_nominations = c.cross;
    World world(config, options, table, gates);
    world.engine.put_node(make_node("n", c.cpu));
    world.engine.put_node(make_node("small", "500m"));
    if (c.nominee)
      world.engine.put_pod(
          changed(nominated("friend", c.nominee->cpu, "n", c.nominee->priority), [&](api::Pod& p) {
            p.metadata.labels["app"] = "friend";
            if (c.nominee->foreign) p.spec.scheduler_name = "another";
          }));
    const auto pod = make_pod("p", "1", "1Gi", [&](api::Pod& p) {
      p.spec.priority = 5;
      (*c.edit)(p);
    });
    const Row row = world.engine.nodes().find("n");
    for (int again = 0; again < 3; ++again) {  // what is kept says the same
      ClassState& state = world.engine.evaluate(world.engine.profiles()[0], pod);
      CHECK((state.verdict(row) == kPass) == c.fits);
      CHECK(state.feasible() == (c.fits ? 1 : 0));
      Random random(1);
      CHECK(state.pick(random) == (c.fits ? row : kNoRow));
      if (!c.fits) continue;
      CHECK(state.score(row) > 0);
      CHECK(state.explain(row).total == state.score(row));
    }
  }
}

}  // namespace
}  // namespace koord::scheduling::test
