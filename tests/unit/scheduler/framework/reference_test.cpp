// The incremental engine against a plain one that looks at every node anew, over random clusters and changes.
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <random>

#include "world.hpp"

namespace koord::scheduler::test {
namespace {

/// kube-scheduler's default filters and scores, written the obvious way, one node at a time.
class Reference {
 public:
  std::map<std::string, std::shared_ptr<const api::Node>> nodes;
  std::map<std::string, std::shared_ptr<const api::Pod>> placed;  // with spec.nodeName

  struct Outcome {
    std::map<std::string, std::int64_t> feasible;  // node -> score
    std::map<std::string, std::int64_t> reasons;
    std::map<std::string, std::vector<std::string>> rejected;  // node -> why
  };

  Outcome judge(const api::Pod& pod) const {
    Outcome out;
    std::map<std::string, std::int64_t> intolerable, preferred;
    for (const auto& [name, node] : nodes) {
      std::vector<std::string> why = reject(pod, *node);
      for (const std::string& r : why) ++out.reasons[r];
      if (!why.empty()) {
        out.rejected[name] = std::move(why);
        continue;
      }
      out.feasible[name] = resources(pod, *node);
      for (const auto& t : node->spec.taints)
        if (t.effect == "PreferNoSchedule" && !tolerates(pod, t)) ++intolerable[name];
      preferred[name] = 0;
      if (pod.spec.affinity)
        for (const auto& term : pod.spec.affinity->node_affinity->preferred)
          if (match(term.preference, *node)) preferred[name] += term.weight;
    }
    std::int64_t worst = 0, best = 0;
    for (const auto& [name, n] : intolerable) worst = std::max(worst, n);
    for (const auto& [name, n] : preferred) best = std::max(best, n);
    bool has_preferences = pod.spec.affinity && !pod.spec.affinity->node_affinity->preferred.empty();
    for (auto& [name, score] : out.feasible) {
      score += 3 * (worst == 0 ? 100 : 100 - 100 * intolerable[name] / worst);
      if (has_preferences && best > 0) score += 2 * (100 * preferred[name] / best);
    }
    return out;
  }

 private:
  static bool tolerates(const api::Pod& pod, const api::Taint& taint) {
    for (const auto& t : pod.spec.tolerations)
      if ((t.effect.empty() || t.effect == taint.effect) && (t.key.empty() || t.key == taint.key) &&
          (t.operator_ == "Exists" || t.value == taint.value))
        return true;
    return false;
  }
  static bool match(const api::NodeSelectorTerm& term, const api::Node& node) {
    for (const auto& r : term.match_fields)
      if (std::count(r.values.begin(), r.values.end(), Symbol(node.metadata.name)) == 0) return false;
    for (const auto& r : term.match_expressions) {
      const Symbol* label = node.metadata.labels.find(r.key.view());
      bool in = label != nullptr && std::count(r.values.begin(), r.values.end(), Symbol(*label)) > 0;
      if (r.operator_ == "In" && !in) return false;
      if (r.operator_ == "NotIn" && in) return false;
      if (r.operator_ == "Exists" && label == nullptr) return false;
    }
    return !term.match_expressions.empty() || !term.match_fields.empty();
  }
  static bool named(const api::Pod& pod, const api::Node& node) {
    if (!pod.spec.affinity || !pod.spec.affinity->node_affinity->required) return true;
    bool any = false;
    for (const auto& term : pod.spec.affinity->node_affinity->required->node_selector_terms)
      any = any || term.match_fields.empty() || match({{}, term.match_fields}, node);
    return any;
  }
  std::vector<std::string> reject(const api::Pod& pod, const api::Node& node) const {
    if (!named(pod, node)) return {"node(s) didn't satisfy plugin(s) [NodeAffinity]"};
    if (node.spec.unschedulable) return {"node(s) were unschedulable"};
    for (const auto& t : node.spec.taints)
      if (t.effect == "NoSchedule" && !tolerates(pod, t)) return {"node(s) had untolerated taint(s)"};
    bool selected = true;
    for (const auto& [key, value] : pod.spec.node_selector) {
      const Symbol* label = node.metadata.labels.find(key.view());
      selected = selected && label != nullptr && *label == value;
    }
    if (pod.spec.affinity && pod.spec.affinity->node_affinity->required) {
      bool any = false;
      for (const auto& t : pod.spec.affinity->node_affinity->required->node_selector_terms)
        any = any || match(t, node);
      selected = selected && any;
    }
    if (!selected) return {"node(s) didn't match Pod's node affinity/selector"};
    std::map<std::string, std::int64_t> used;
    std::int64_t pods = 0;
    for (const auto& [key, other] : placed) {
      if (other->spec.node_name != node.metadata.name) continue;
      ++pods;
      for (const auto& [name, q] : other->spec.containers[0].resources.requests)
        used[name.str()] += name == "cpu" ? q.milli_value() : q.value();
      for (const auto& a : pod.spec.containers[0].ports)
        for (const auto& b : other->spec.containers[0].ports)
          if (a.host_port == b.host_port && a.protocol == b.protocol &&
              (a.host_ip.empty() || b.host_ip.empty() || a.host_ip == b.host_ip))
            return {"node(s) didn't have free ports for the requested pod ports"};
    }
    std::vector<std::string> why;
    if (pods + 1 > node.status.allocatable.find("pods")->value()) why.push_back("Too many pods");
    for (const auto& [name, q] : pod.spec.containers[0].resources.requests) {
      std::int64_t wanted = name == "cpu" ? q.milli_value() : q.value();
      const api::Quantity* there = node.status.allocatable.find(name.view());
      std::int64_t has = there == nullptr ? 0 : name == "cpu" ? there->milli_value() : there->value();
      if (wanted > has - used[name.str()]) why.push_back("Insufficient " + name.str());
    }
    return why;
  }
  std::int64_t resources(const api::Pod& pod, const api::Node& node) const {
    double cpu = 0, memory = 0, plain_cpu = 0, plain_memory = 0;
    auto count = [&](const api::Pod& p) {
      const auto& r = p.spec.containers[0].resources.requests;
      const auto *c = r.find("cpu"), *m = r.find("memory");
      cpu += static_cast<double>(c ? c->milli_value() : 100);
      memory += static_cast<double>(m ? m->value() : 200 << 20);
      plain_cpu += static_cast<double>(c ? c->milli_value() : 0);
      plain_memory += static_cast<double>(m ? m->value() : 0);
    };
    for (const auto& [key, other] : placed)
      if (other->spec.node_name == node.metadata.name) count(*other);
    count(pod);
    auto has_cpu = static_cast<double>(node.status.allocatable.find("cpu")->milli_value());
    auto has_memory = static_cast<double>(node.status.allocatable.find("memory")->value());
    auto least = [](double used, double has) {
      if (used > has) return std::int64_t{0};
      return static_cast<std::int64_t>(has - used) * 100 / static_cast<std::int64_t>(has);
    };
    std::int64_t score = (least(cpu, has_cpu) + least(memory, has_memory)) / 2;
    const auto& asked = pod.spec.containers[0].resources.requests;
    if (!asked.contains("cpu") && !asked.contains("memory")) return score;
    double a = std::min(plain_cpu / has_cpu, 1.0), b = std::min(plain_memory / has_memory, 1.0);
    return score + static_cast<std::int64_t>((1 - std::fabs((a - b) / 2)) * 100);
  }
};

class Scenario {
 public:
  explicit Scenario(unsigned seed, EngineOptions options = {}, PluginTable table = plugin_table())
      : world({}, options, table), random_(seed), nodes_(8 + static_cast<int>(seed % 33)) {}

  void step() {
    int what = below(100);
    if (what < 15 || reference.nodes.empty()) return put_node(below(nodes_));
    if (what < 20) return remove_node(below(nodes_));
    if (what < 40) return remove_placed();
    add_pod();
  }

  /// What the engine says of a pod of this kind and the reference does not; empty: they agree.
  std::string difference(const api::Pod& pod) {
    const Profile& profile = world.engine.profiles()[0];
    ClassState& state = world.engine.evaluate(profile, std::make_shared<api::Pod>(pod));
    Reference::Outcome expected = reference.judge(pod);
    std::map<std::string, std::int64_t> feasible;
    std::map<std::string, std::vector<std::string>> rejected;
    const NodeTable& table = world.engine.nodes();
    const VerdictTable& verdicts = world.engine.context().verdicts;
    for (Row row = 0; row < table.rows(); ++row) {
      const VerdictId verdict = state.verdict(row);
      if (verdict == kPass) {
        feasible[table.name(row).str()] = state.score(row);
      } else if (verdict != kAbsent) {
        rejected[table.name(row).str()] = verdicts[verdict].reasons;
      }
    }
    if (feasible != expected.feasible || state.feasible() != feasible.size())
      return fmt::format("feasible: {} of {} instead of {}", text(feasible), state.feasible(),
                         text(expected.feasible));
    for (auto* each : {&rejected, &expected.rejected})
      for (auto& [name, why] : *each) std::sort(why.begin(), why.end());
    if (rejected != expected.rejected)
      return fmt::format("rejected: {} instead of {}", text(rejected), text(expected.rejected));
    std::map<std::string, std::int64_t> reasons;
    for (const auto& [reason, n] : state.diagnose().reasons) reasons[reason] = n;
    if (reasons == expected.reasons) return {};
    return fmt::format("reasons: {} instead of {}", text(reasons), text(expected.reasons));
  }

  World world;
  Reference reference;
  /// The first decision that the reference would not have made; empty: there was none.
  std::string wrong;

  std::shared_ptr<const api::Pod> random_pod(std::string name) {
    static const char* kCpu[] = {"", "100m", "250m", "1", "3"};
    static const char* kMemory[] = {"", "64Mi", "1Gi", "3Gi"};
    return make_pod(std::move(name), kCpu[below(5)], kMemory[below(4)], [&](api::Pod& p) {
      if (below(4) == 0)
        p.spec.containers[0].resources.requests["a.com/x"] = api::Quantity::from_int(1 + below(2));
      if (below(4) == 0)
        p.spec.containers[0].ports.push_back({{},
                                              80 + below(2),
                                              80,
                                              "TCP",
                                              below(2) == 0   ? ""
                                              : below(2) == 0 ? "10.0.0.1"
                                                              : "10.0.0.2"});
      if (below(3) == 0) p.spec.tolerations.push_back({"t", "Exists", {}, {}, {}});
      if (below(4) == 0) p.spec.node_selector["zone"] = zone();
      if (below(8) == 0) {
        const auto name = [&] { return Symbol(fmt::format("n{}", below(nodes_))); };
        p.spec.affinity.ensure().node_affinity.ensure().required.ensure().node_selector_terms = {
            {{}, {{"metadata.name", "In", {name()}}}}, {{}, {{"metadata.name", "In", {name()}}}}};
      } else if (below(4) == 0) {
        auto& affinity = p.spec.affinity.ensure().node_affinity.ensure();
        if (below(2) == 0)
          affinity.required.ensure().node_selector_terms = {
              {{{"zone", below(2) == 0 ? "In" : "NotIn", {zone(), zone()}}}, {}}};
        for (int i = below(3); i > 0; --i)
          affinity.preferred.push_back({1 + below(100), {{{"zone", "In", {zone()}}}, {}}});
      }
    });
  }

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

 private:
  template <class Value>
  static std::string text(const std::map<std::string, Value>& values) {
    return fmt::format("{}", fmt::join(values, ", "));
  }
  void check(bool right, const Decision& d) {
    if (!right && wrong.empty())
      wrong = fmt::format("{} to \"{}\" {}", d.pod->metadata.name, d.node.view(), d.message);
  }
  const char* zone() {
    static const char* kZones[] = {"a", "b", "c"};
    return kZones[below(3)];
  }
  void put_node(int n) {
    auto node = make_node("n" + std::to_string(n), below(2) == 0 ? "2" : "4", "4Gi", [&](api::Node& x) {
      x.metadata.labels["zone"] = zone();
      x.spec.unschedulable = below(8) == 0;
      x.status.allocatable["pods"] = api::Quantity::from_int(3 + below(4));
      if (below(2) == 0) x.status.allocatable["a.com/x"] = api::Quantity::from_int(below(4));
      if (below(3) == 0) x.spec.taints.push_back({"t", "v", "NoSchedule", {}});
      for (int i = below(3); i > 0; --i) x.spec.taints.push_back({"soft", {}, "PreferNoSchedule", {}});
    });
    reference.nodes[node->metadata.name] = node;
    world.engine.put_node(node);
  }
  void remove_node(int n) {
    std::string name = "n" + std::to_string(n);
    reference.nodes.erase(name);
    world.engine.remove_node(name);
  }
  void remove_placed() {
    if (reference.placed.empty()) return;
    auto it = std::next(reference.placed.begin(), below(static_cast<int>(reference.placed.size())));
    world.engine.remove_pod(*it->second);
    reference.placed.erase(it);
  }
  void add_pod() {
    auto pod = random_pod("p" + std::to_string(++pods_));
    world.engine.put_pod(pod);
    Reference::Outcome expected = reference.judge(*pod);
    for (const Decision& d : world.run()) {
      if (d.kind != Decision::Kind::bind) {
        if (d.pod == pod) check(expected.feasible.empty(), d);
        world.engine.remove_pod(*d.pod);
        continue;
      }
      if (d.pod == pod) {
        // One of the best, whichever.
        std::int64_t best = 0;
        for (const auto& [name, score] : expected.feasible) best = std::max(best, score);
        const auto node = expected.feasible.find(d.node.str());
        check(node != expected.feasible.end() && node->second == best, d);
      }
      auto bound = changed(d.pod, [&](api::Pod& p) { p.spec.node_name = d.node; });
      reference.placed[bound->metadata.name] = bound;
      if (below(2) == 0) world.engine.put_pod(bound);
    }
  }

  std::mt19937 random_;
  int nodes_;  // that there may be at a time
  int pods_ = 0;
};

/// 200 changes, and after each what differs first between engine and reference; empty: nothing did.
/// `all`: every class is asked after each change, else some often, so that little changed since, and some
/// rarely.
std::string first_difference(unsigned seed, PluginTable table = plugin_table(), EngineOptions options = {},
                             bool all = false) {
  Scenario s(seed, options, table);
  std::vector<std::shared_ptr<const api::Pod>> probes;
  for (int i = 0; i < 12; ++i) probes.push_back(s.random_pod("probe" + std::to_string(i)));
  for (int i = 0; i < 200; ++i) {
    s.step();
    if (!s.wrong.empty()) return s.wrong;
    auto asked = probes;
    if (!all) asked = {probes[0], probes[static_cast<std::size_t>(s.below(12))]};
    for (const auto& probe : asked)
      if (std::string found = s.difference(*probe); !found.empty()) return found;
  }
  return {};
}

TEST_CASE("repaired verdicts and scores equal those computed anew") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    REQUIRE(first_difference(seed) == "");
  }
}

// Canaries: what this file compares must not pass when the engine's repairs are broken on purpose.

enum class Defect { none, stale_verdicts, stale_scores, one_class_for_all };

/// NodeResourcesFit, but for one defect.
class BrokenFit final : public Plugin, public FilterPlugin, public ScorePlugin {
 public:
  BrokenFit(std::unique_ptr<Plugin> fit, Defect defect)
      : fit_(std::move(fit)),
        filter_(dynamic_cast<FilterPlugin&>(*fit_)),
        score_(dynamic_cast<ScorePlugin&>(*fit_)),
        defect_(defect) {}
  bool sign(const PodInfo& pod, Signature& signature) const override {
    return defect_ == Defect::one_class_for_all || fit_->sign(pod, signature);
  }
  Depends filter_depends() const override {
    return defect_ == Defect::stale_verdicts ? Depends::node : filter_.filter_depends();
  }
  FilterPlugin::Prepared prepare_filter(const PodInfo& pod) override { return filter_.prepare_filter(pod); }
  void filter(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
              std::span<VerdictId> out) const override {
    filter_.filter(state, nodes, rows, out);
  }
  Depends score_depends() const override {
    return defect_ == Defect::stale_scores ? Depends::node : score_.score_depends();
  }
  ScorePlugin::Prepared prepare_score(const PodInfo& pod) override { return score_.prepare_score(pod); }
  void score(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int32_t> out) const override {
    score_.score(state, nodes, rows, out);
  }

 private:
  std::unique_ptr<Plugin> fit_;
  FilterPlugin& filter_;
  ScorePlugin& score_;
  Defect defect_;
};

template <Defect defect>
Result<std::unique_ptr<Plugin>> make_broken(const Args& args, const PluginContext& context) {
  KOORD_TRY(fit, find_plugin(plugin_table(), "NodeResourcesFit")->make(args, context));
  return std::unique_ptr<Plugin>(std::make_unique<BrokenFit>(std::move(fit), defect));
}

template <Defect defect>
bool is_noticed() {
  PluginEntry broken = *find_plugin(plugin_table(), "NodeResourcesFit");
  broken.make = &make_broken<defect>;
  std::vector<const PluginEntry*> table(plugin_table().begin(), plugin_table().end());
  for (const PluginEntry*& row : table)
    if (row->name == broken.name) row = &broken;
  for (unsigned seed = 1; seed <= 5; ++seed)
    if (!first_difference(seed, table).empty()) return true;
  return false;
}

TEST_CASE("a repair that is left out is noticed") {
  CHECK_FALSE(is_noticed<Defect::none>());
  CHECK(is_noticed<Defect::stale_verdicts>());
  CHECK(is_noticed<Defect::stale_scores>());
  CHECK(is_noticed<Defect::one_class_for_all>());
}

TEST_CASE("the same seed decides the same, another seed breaks ties otherwise") {
  auto decide = [](std::uint64_t seed) {
    World world({}, {.queue = {}, .seed = seed});
    for (int i = 0; i < 50; ++i) world.engine.put_node(make_node("n" + std::to_string(i)));
    for (int i = 0; i < 60; ++i) world.engine.put_pod(make_pod("p" + std::to_string(i)));
    std::string text;
    for (const Decision& d : world.run()) text += d.node.str() + " ";
    return text;
  };
  CHECK(decide(1) == decide(1));
  CHECK(decide(1) != decide(2));
}

TEST_CASE("ties are broken evenly") {
  std::map<std::string, int> hits;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    World world({}, {.queue = {}, .seed = seed});
    for (const char* name : {"a", "b", "c", "d"}) world.engine.put_node(make_node(name));
    world.engine.put_pod(make_pod("p"));
    ++hits[world.one().node.str()];
  }
  for (const auto& [name, n] : hits) CHECK(std::abs(n - 500) < 100);
}

TEST_CASE("a percentage stops the search, and the next one goes on from there") {
  KubeSchedulerConfiguration config;
  config.percentage_of_nodes_to_score = 10;
  World world(config);
  for (int i = 0; i < 2000; ++i) world.engine.put_node(make_node("n" + std::to_string(i)));
  for (int i = 0; i < 20; ++i) world.engine.put_pod(make_pod("p" + std::to_string(i)));
  auto out = world.run();
  REQUIRE(out.size() == 20);
  for (std::size_t i = 0; i < out.size(); ++i) {
    Row row = world.engine.nodes().find(out[i].node.view());
    CHECK(row / 200 == i % 10);
  }
}

TEST_CASE("a memory that holds next to nothing and a short log change nothing") {
  // 1 KiB is a facet or two; with more some classes are kept too.
  const std::size_t memory = GENERATE(std::size_t{0}, std::size_t{1} << 10, std::size_t{8} << 10);
  for (unsigned seed = 100; seed < 104; ++seed) {
    INFO("seed " << seed << ", memory " << memory);
    const EngineOptions options{.queue = {}, .class_memory = {.per_node = 0, .floor = memory}, .min_log = 16};
    REQUIRE(first_difference(seed, plugin_table(), options, true) == "");
  }
}

}  // namespace
}  // namespace koord::scheduler::test
