// Sweeps: classes whose plugins reach over rows, against what they would get if all were made anew.
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <random>

#include "cross_node_fakes.hpp"
#include "support/sanitized.hpp"

namespace koord::scheduling::test {
namespace {

/// Nodes a and b in zone x, c in y, d without a zone; with some pods.
struct Fakes : World {
  explicit Fakes(bool first = false, EngineOptions options = {})
      : World(fakes_config(first), options, with_fakes()) {
    Zones::asked() = {};
    Picky::asked() = 0;
  }
  void four_nodes() {
    engine.put_node(zone_node("a", "x"));
    engine.put_node(zone_node("b", "x"));
    engine.put_node(zone_node("c", "y"));
    engine.put_node(zone_node("d", ""));
  }
  void bound(const std::string& name, const std::string& node, const PodEdit& edit = {},
             std::string_view cpu = "100m") {
    engine.put_pod(make_pod(name, cpu, "128Mi", [&](api::Pod& pod) {
      pod.spec.node_name = node;
      if (edit) edit(pod);
    }));
  }
  ClassState& ask(const std::shared_ptr<const api::Pod>& pod) {
    return engine.evaluate(engine.profiles()[0], pod);
  }
  Row row(std::string_view node) const { return engine.nodes().find(node); }
  /// "PLUGIN: reasons" that reject the node; empty: it passes.
  std::string why(ClassState& state, std::string_view node) {
    const VerdictId id = state.verdict(row(node));
    if (id == kPass) return {};
    const Verdict& v = engine.context().verdicts[id];
    return fmt::format("{}: {}", v.plugin == kNoPlugin ? "" : engine.profiles()[0].plugin_name(v.plugin),
                       fmt::join(v.reasons, ", "));
  }
};

TEST_CASE("the first filter in the profile's order gives the verdict, whatever its kind") {
  const bool first = GENERATE(false, true);
  Fakes world(first);
  world.four_nodes();
  world.bound("big", "a", labels({{"app", "web"}}), "4");
  ClassState& state = world.ask(make_pod("p", "1", "1Gi", labels({{"app", "web"}})));
  CHECK(world.why(state, "a") == (first ? "Zones: zone(s) were full" : "NodeResourcesFit: Insufficient cpu"));
  CHECK(world.why(state, "b") == "Zones: zone(s) were full");
  CHECK(world.why(state, "c").empty());
  CHECK(world.why(state, "d") == "Zones: node(s) had no zone");
  CHECK(state.feasible() == 1);
  // In front it is asked about every row, behind about those that the others leave.
  CHECK(Zones::asked().filtered == (first ? 4 : 3));

  world.bound("other", "c", labels({{"app", "web"}}));
  world.engine.put_pod(make_pod("q", "1", "1Gi", labels({{"app", "web"}})));
  CHECK(world.one().message() ==
        (first ? "0/4 nodes are available: 1 node(s) had no zone, 3 zone(s) were full."
               : "0/4 nodes are available: 1 Insufficient cpu, 1 node(s) had no zone, 2 zone(s) were full."));
}

TEST_CASE("scores are normalised over what is feasible in the end") {
  Fakes world;
  const auto avoided = [](int taints) {
    return [taints](api::Node& node) {
      for (int i = 0; i < taints; ++i)
        node.spec.taints.push_back({fmt::format("t{}", i), {}, "PreferNoSchedule", {}});
    };
  };
  world.engine.put_node(zone_node("a", "x", "4", avoided(4)));
  world.engine.put_node(zone_node("b", "y", "4", avoided(2)));
  world.engine.put_node(zone_node("c", "z", "4", avoided(1)));
  const auto pod = make_pod("p", "1", "1Gi", labels({{"app", "web"}}));
  const auto taints = [&](ClassState& state, const char* node) {
    for (const ScoreDetail& s : state.explain(world.row(node)).scores)
      if (world.engine.profiles()[0].plugin_name(s.plugin) == "TaintToleration") return s.normalized;
    return std::int64_t{-1};
  };
  {
    ClassState& state = world.ask(pod);
    CHECK(taints(state, "a") == 0);
    CHECK(taints(state, "b") == 50);
    CHECK(taints(state, "c") == 75);
  }
  world.bound("there", "a", labels({{"app", "web"}}));
  ClassState& state = world.ask(pod);
  CHECK(state.feasible() == 2);
  CHECK(taints(state, "b") == 0);
  CHECK(taints(state, "c") == 50);
  for (const char* node : {"b", "c"})
    CHECK(state.explain(world.row(node)).total == state.score(world.row(node)));
}

TEST_CASE("raw scores are of 64 bits, and only feasible rows are scored") {
  Fakes world;
  world.four_nodes();
  const PodEdit three = labels({{"app", "web"}, {"most", "3"}});
  world.bound("there", "a", three);
  ClassState& state = world.ask(make_pod("p", "1", "1Gi", three));
  const Explanation e = state.explain(world.row("b"));
  CHECK(e.verdict == kPass);
  REQUIRE_FALSE(e.scores.empty());
  CHECK(e.scores.back().raw == std::int64_t{1} << 40);
  CHECK(e.scores.back().normalized == 0);
  CHECK(state.explain(world.row("c")).scores.back().normalized == 100);
  CHECK(Zones::asked().feasible == std::vector<Row>{world.row("a"), world.row("b"), world.row("c")});
  CHECK(state.explain(world.row("d")).scores.empty());
  world.engine.put_pod(make_pod("q", "100m", "128Mi", three));
  CHECK(world.one().node() == "c");
}

TEST_CASE("plugins that skip are not asked, and the class costs what changed") {
  Fakes world;
  for (int i = 0; i < 100; ++i)
    world.engine.put_node(zone_node(fmt::format("n{}", i), i % 2 == 0 ? "x" : ""));
  for (const char* name : {"o", "p"}) {
    world.engine.put_pod(make_pod(name));
    world.one();
  }
  CHECK(Zones::asked().filtered == 0);
  CHECK(Zones::asked().scored == 0);
  CHECK(Picky::asked() == 0);
  const std::uint64_t before = world.engine.classes().rows_looked_at();
  world.engine.put_pod(make_pod("q"));
  world.one();
  CHECK(world.engine.classes().rows_looked_at() == before + 1);

  // Skipped while scores are prepared: the filter still has its say.
  ClassState& state = world.ask(make_pod("r", "1", "1Gi", labels({{"app", "unscored"}})));
  CHECK(state.feasible() == 50);
  CHECK(state.explain(world.row("n0")).total == state.score(world.row("n0")));
  CHECK(Zones::asked().scored == 0);
}

TEST_CASE("what is said before the rows are looked at") {
  Fakes world;
  world.four_nodes();
  const auto decide = [&](std::string name, const PodEdit& edit) {
    world.engine.put_pod(make_pod(std::move(name), "1", "1Gi", edit));
    return world.one();
  };
  Decision d = decide("p", labels({{"app", "a"}, {"prefilter", "not today"}}));
  CHECK(d.kind() == Decision::Kind::unschedulable);
  CHECK(d.message() == "0/4 nodes are available: not today.");
  CHECK(Zones::asked().filtered == 0);
  CHECK(world.ask(make_pod("q", "1", "1Gi", labels({{"app", "a"}, {"prefilter", "no"}}))).diagnose().code ==
        StatusCode::unresolvable);
  const auto soft = labels({{"app", "a"}, {"prefilter", "not yet"}, {"code", "unschedulable"}});
  CHECK(world.ask(make_pod("q", "1", "1Gi", soft)).diagnose().code == StatusCode::unschedulable);

  // As in kube-scheduler nobody may let a pod wait for something of his own there.
  for (const char* code : {"error", "pending"}) {
    d = decide(fmt::format("broken-{}", code),
               labels({{"app", "a"}, {"prefilter", "no luck"}, {"code", code}}));
    CHECK(d.kind() == Decision::Kind::error);
    CHECK(d.message() == "running PreFilter plugin \"Zones\": no luck");
  }

  d = decide("impossible", {});
  CHECK(d.message() == "0/4 nodes are available: pod(s) were impossible.");
  // Several pods of a class, of which only one is.
  CHECK(decide("possible", {}).kind() == Decision::Kind::bind);
}

TEST_CASE("an error on one node fails the attempt, whatever the others say") {
  Fakes world;
  world.four_nodes();
  world.engine.put_node(zone_node("e", "broken"));
  world.engine.put_pod(make_pod("p", "1", "1Gi", labels({{"app", "a"}})));
  const Decision d = world.one();
  CHECK(d.kind() == Decision::Kind::error);
  CHECK(d.message() == "running \"Zones\" filter plugin: out of luck");
}

TEST_CASE("a filter for the one pod is asked of what is left, pod by pod") {
  const bool first = GENERATE(false, true);
  Fakes world(first);
  world.engine.put_node(zone_node("a", "x"));
  world.engine.put_node(zone_node("small", "x", "500m"));
  for (const char* name : {"not-a", "p", "not-b"}) {
    ClassState& state = world.ask(make_pod(name, "1", "1Gi"));
    CHECK(world.why(state, "a") ==
          (std::string_view(name) == "not-a" ? "Picky: node(s) were not liked" : ""));
    CHECK(world.why(state, "small") == "NodeResourcesFit: Insufficient cpu");
  }
  CHECK(Picky::asked() == (first ? 4 : 2));
  CHECK(world.engine.classes().size() == 1);
  world.engine.put_pod(make_pod("not-a", "1", "1Gi"));
  CHECK(world.one().message() == "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were not liked.");
}

TEST_CASE("a pod that names its nodes") {
  const bool first = GENERATE(false, true);
  Fakes world(first);
  world.four_nodes();
  world.bound("there", "a", labels({{"app", "web"}}));
  const auto pod = make_pod("p", "1", "1Gi", [](api::Pod& p) {
    p.metadata.labels["app"] = "web";
    auto& terms = p.spec.affinity.ensure().node_affinity.ensure().required.ensure().node_selector_terms;
    for (const char* name : {"d", "c", "b"}) terms.push_back({{}, {{"metadata.name", "In", {name}}}});
  });
  {
    ClassState& state = world.ask(pod);
    CHECK(world.why(state, "a") == ": node(s) didn't satisfy plugin(s) [NodeAffinity]");
    CHECK(world.why(state, "b") == "Zones: zone(s) were full");
    CHECK(world.why(state, "c").empty());
    CHECK(world.why(state, "d") == "Zones: node(s) had no zone");
    CHECK(state.feasible() == 1);
    CHECK(state.explain(world.row("c")).total == state.score(world.row("c")));
  }
  world.bound("too", "c", labels({{"app", "web"}}));
  world.engine.put_pod(pod);
  CHECK(world.one().message() ==
        "0/4 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity], 1 node(s) had no zone, "
        "2 zone(s) were full.");
}

TEST_CASE("of a percentage only the rows found are scored, and the next search goes on behind them") {
  KubeSchedulerConfiguration config = fakes_config();
  config.percentage_of_nodes_to_score = 10;
  World world(config, {}, with_fakes());
  for (int i = 0; i < 1000; ++i)
    world.engine.put_node(zone_node(fmt::format("n{}", i), i % 2 == 0 ? "x" : ""));
  const auto decide = [&](std::string name) {
    world.engine.put_pod(make_pod(std::move(name), "1", "1Gi", labels({{"app", "a"}, {"most", "9"}})));
    return world.engine.nodes().find(world.one().node().view());
  };
  CHECK(decide("p") < 200);
  CHECK(Zones::asked().feasible.size() == 100);
  CHECK(Zones::asked().feasible.back() == 198);
  CHECK(decide("q") / 200 == 1);
  for (int i = 0; i < 3; ++i) decide(fmt::format("r{}", i));
  CHECK(Zones::asked().feasible.back() == 998);
  CHECK(decide("last") < 200);
}

// What if

struct Nominees final : Nominated {
  std::vector<Row> at;
  std::map<Row, std::vector<const PodInfo*>> pods;
  void add(Row row, const PodInfo& pod) {
    if (pods[row].empty()) at.push_back(row);
    pods[row].push_back(&pod);
  }
  std::span<const Row> rows() const override { return at; }
  std::span<const PodInfo* const> on(Row row) const override { return pods.at(row); }
  std::uint64_t changes(Row row) const override { return pods.at(row).size(); }
  Row row_of(const PodInfo& pod) const override {
    for (const auto& [row, nominated] : pods)
      for (const PodInfo* each : nominated)
        if (each->pod->metadata.uid == pod.pod->metadata.uid) return row;
    return kNoRow;
  }
};

/// What the world's engine would say if it knew of nominated pods.
class Yielding {
 public:
  Yielding(Fakes& world, const Nominated& nominated)
      : world_(world), table_(world.engine.context().nodes, world.engine.context().verdicts, {}) {
    table_.yield_to(nominated);
  }
  ClassState& ask(const PodInfo& pod) {
    return table_.state(table_.acquire(world_.engine.profiles()[0], pod), pod);
  }

 private:
  Fakes& world_;
  ClassTable table_;
};

PodInfo info(const std::shared_ptr<const api::Pod>& pod) {
  static ResourceNames names;
  return make_pod_info(pod, names);
}

TEST_CASE("a trial asks all filters about a row with pods more and fewer, and leaves no trace") {
  Fakes world;
  world.four_nodes();
  const auto web = labels({{"app", "web"}});
  world.bound("there", "a", web, "3500m");
  const PodInfo& there = *world.engine.nodes().pods(world.row("a"))[0];
  const PodInfo large = info(make_pod("large", "3800m", "1Gi"));
  ClassState& state = world.ask(make_pod("p", "1", "1Gi", web));
  const auto said = [&](const Trial& trial) {
    const VerdictId id = trial.verdict();
    return id == kPass ? "" : world.engine.context().verdicts[id].reasons.front();
  };
  {
    Trial trial(state, world.row("a"));
    CHECK(said(trial) == "Insufficient cpu");
    trial.remove(there);
    CHECK(said(trial).empty());
    trial.add(large);
    CHECK(said(trial) == "Insufficient cpu");
    trial.remove(large);
    trial.add(there);
    CHECK(said(trial) == "Insufficient cpu");
  }
  CHECK(Zones::asked().open == 0);
  {
    // The zone's other node.
    Trial trial(state, world.row("b"));
    CHECK(said(trial) == "zone(s) were full");
  }
  CHECK(world.why(state, "b") == "Zones: zone(s) were full");
}

TEST_CASE("nominated pods of equal or higher priority are yielded to") {
  struct Case {
    const char* name;
    int priority;     // of the nominated pod
    const char* app;  // of the nominated pod
    const char* cpu;  // of the nominated pod
    const char* why;  // empty: the pod goes there
  };
  const std::vector<Case> cases = {
      {"lower", -1, "web", "4", ""},
      {"equal", 0, "other", "4", "NodeResourcesFit: Insufficient cpu"},
      {"higher", 1, "other", "4", "NodeResourcesFit: Insufficient cpu"},
      {"there is room for both", 1, "other", "1", ""},
      {"in a plugin that reaches over rows", 1, "web", "1", "Zones: zone(s) were full"},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    Fakes world;
    world.engine.put_node(zone_node("a", "x"));
    const PodInfo nominee = info(make_pod("n", c.cpu, "1Gi", [&](api::Pod& pod) {
      pod.metadata.labels["app"] = c.app;
      pod.spec.priority = c.priority;
    }));
    Nominees nominees;
    nominees.add(world.row("a"), nominee);
    Yielding yielding(world, nominees);
    const PodInfo pod = info(make_pod("p", "1", "1Gi", labels({{"app", "web"}})));
    CHECK(world.why(yielding.ask(pod), "a") == c.why);
    CHECK(Zones::asked().open == 0);
  }
}

TEST_CASE(
    "a pod does not yield to itself, and a row that rejects it without them is not made better by others") {
  Fakes world;
  world.engine.put_node(zone_node("a", "x"));
  world.engine.put_node(zone_node("b", "y", "500m"));
  const PodInfo self = info(make_pod("p", "3", "1Gi", labels({{"app", "web"}})));
  const PodInfo other = info(make_pod("n", "3", "1Gi"));
  Nominees nominees;
  nominees.add(world.row("a"), self);
  nominees.add(world.row("b"), other);
  Yielding yielding(world, nominees);
  ClassState& state = yielding.ask(self);
  CHECK(state.feasible() == 1);
  CHECK(world.why(state, "a").empty());
  CHECK(world.why(state, "b") == "NodeResourcesFit: Insufficient cpu");
}

// Anew

/// Changes at random, and what pods of some kinds would get.
class Churn {
 public:
  Churn(unsigned seed, bool first, EngineOptions options)
      : world(first, options), first_(first), random_(seed) {}

  void step() {
    const int what = below(100);
    const std::string node = fmt::format("n{}", below(12));
    if (what < 20 || world.engine.nodes().nodes() == 0) {
      static const char* kZones[] = {"x", "y", "z", ""};
      static const char* kCpus[] = {"1", "2", "4"};
      nodes_[node] = zone_node(node, kZones[below(4)], kCpus[below(3)], [&](api::Node& n) {
        for (int i = below(3); i > 0; --i)
          n.spec.taints.push_back({fmt::format("t{}", i), {}, "PreferNoSchedule", {}});
      });
      world.engine.put_node(nodes_[node]);
    } else if (what < 25) {
      nodes_.erase(node);
      world.engine.remove_node(node);
    } else if (what < 45 && !placed_.empty()) {
      const auto it = std::next(placed_.begin(), below(static_cast<int>(placed_.size())));
      world.engine.remove_pod(*it->second);
      placed_.erase(it);
    } else if (what < 60 && !placed_.empty()) {
      // Labels of a pod on a node, be it assumed or bound.
      auto& [name, pod] = *std::next(placed_.begin(), below(static_cast<int>(placed_.size())));
      pod = changed(pod, [&](api::Pod& p) { p.metadata.labels["app"] = app(); });
      const bool assumed = assumed_.contains(name) && below(2) == 0;
      world.engine.put_pod(assumed ? changed(pod, [](api::Pod& p) { p.spec.node_name = Symbol(); }) : pod);
      if (!assumed) assumed_.erase(name);
    } else {
      world.engine.put_pod(random_pod(fmt::format("p{}", ++pods_)));
      for (const Decision& d : world.run())
        if (d.kind() == Decision::Kind::bind) {
          auto& pod = placed_[d.pod->metadata.name];
          pod = changed(d.pod, [&](api::Pod& p) { p.spec.node_name = d.node(); });
          if (below(2) == 0) {
            world.engine.put_pod(pod);
          } else {
            assumed_.insert(d.pod->metadata.name);
          }
        }
    }
  }

  std::shared_ptr<const api::Pod> random_pod(std::string name) {
    static const char* kCpus[] = {"100m", "500m", "1500m"};
    return make_pod(std::move(name), kCpus[below(3)], "128Mi", [&](api::Pod& p) {
      if (below(4) != 0) p.metadata.labels["app"] = app();
      p.metadata.labels["most"] = std::to_string(1 + below(4));
      if (below(6) == 0)
        p.spec.affinity.ensure().node_affinity.ensure().required.ensure().node_selector_terms = {
            {{},
             {{"metadata.name",
               "In",
               {Symbol(fmt::format("n{}", below(12))), Symbol(fmt::format("n{}", below(12)))}}}}};
    });
  }

  /// What an engine that knows nothing yet says otherwise; empty: nothing.
  std::string difference(const std::shared_ptr<const api::Pod>& pod) {
    Fakes anew(first_);
    for (const auto& [name, node] : nodes_) anew.engine.put_node(node);
    for (const auto& [name, placed] : placed_) anew.engine.put_pod(placed);
    if (std::string singly = singly_otherwise(pod); !singly.empty()) return singly;
    const std::string now = said(world, pod), then = said(anew, pod);
    return now == then ? std::string() : fmt::format("{}\ninstead of\n{}", now, then);
  }

 private:
  /// Rows that are judged one by one, before and after all have been; as texts, since verdicts that nobody
  /// has any more lose their numbers.
  std::string singly_otherwise(const std::shared_ptr<const api::Pod>& pod) {
    const auto each = [&](ClassState::Rows rows) {
      ClassState& state = world.engine.evaluate(world.engine.profiles()[0], pod, rows);
      std::string all = state.refused() ? "refused" : "";
      for (Row row = 0; row < world.engine.nodes().rows() && !state.refused(); ++row) {
        const VerdictId id = state.judge(row);
        const std::vector<std::string> none;
        const bool judged = id != kPass && id != kAbsent;
        all += fmt::format("{} {}; ", judged ? "" : std::to_string(id),
                           fmt::join(judged ? world.engine.context().verdicts[id].reasons : none, ", "));
      }
      return all;
    };
    const std::string one = each(ClassState::Rows::some), whole = each(ClassState::Rows::all),
                      other = each(ClassState::Rows::some);
    return one == whole && other == whole ? std::string()
                                          : fmt::format("{} and {} instead of {}", one, other, whole);
  }
  std::string said(Fakes& in, const std::shared_ptr<const api::Pod>& pod) {
    ClassState& state = in.ask(pod);
    std::string text = fmt::format("{} feasible; ", state.feasible());
    for (const auto& [name, node] : nodes_) {
      const Row row = in.row(name);
      fmt::format_to(std::back_inserter(text), "{}: {}", name, in.why(state, name));
      if (state.verdict(row) != kPass) continue;
      const Explanation e = state.explain(row);
      for (const ScoreDetail& s : e.scores)
        fmt::format_to(std::back_inserter(text), " {}={}/{}", in.engine.profiles()[0].plugin_name(s.plugin),
                       s.raw, s.normalized);
      fmt::format_to(std::back_inserter(text), " {} {}; ", e.total, state.score(row));
    }
    Diagnosis d = state.diagnose();
    fmt::format_to(std::back_inserter(text), "{}", fmt::join(d.reasons, ", "));
    return text;
  }
  const char* app() { return below(2) == 0 ? "web" : "db"; }
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  Fakes world;
  bool first_;
  std::mt19937 random_;
  int pods_ = 0;
  std::map<std::string, std::shared_ptr<const api::Node>> nodes_;
  std::map<std::string, std::shared_ptr<const api::Pod>> placed_;
  std::set<std::string> assumed_;  // of these, those that are not bound yet
};

TEST_CASE("swept answers equal those made anew") {
  const bool first = GENERATE(false, true);
  const std::size_t memory = GENERATE(std::size_t{1} << 10, std::size_t{1} << 20);
  for (unsigned seed = 1; seed <= (koord::test::is_short() ? 1 : 2); ++seed) {
    INFO("seed " << seed << ", memory " << memory << ", first " << first);
    Churn churn(seed, first, {.queue = {}, .class_memory = {.per_node = 0, .floor = memory}, .min_log = 16});
    std::vector<std::shared_ptr<const api::Pod>> probes;
    for (int i = 0; i < 6; ++i)
      probes.push_back(churn.random_pod(i == 0 ? "not-n3" : fmt::format("probe{}", i)));
    for (int i = 0; i < 50; ++i) {
      churn.step();
      for (const auto& probe : probes) REQUIRE(churn.difference(probe) == "");
    }
  }
}

}  // namespace
}  // namespace koord::scheduling::test
