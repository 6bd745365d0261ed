// The incremental engine against the oracle, which looks at every node anew, over random clusters and
// changes.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "random/random_world.hpp"
#include "support/sanitized.hpp"

namespace koord::scheduling::test {
namespace {

constexpr int kSteps = 200;
/// Where no difference ends them early; scheduler_reference goes on for longer.
constexpr int kStepsThatAgree = koord::test::kSanitized ? 50 : kSteps;
const unsigned kSeedsThatAgree = koord::test::is_short() ? 2 : 5;

/// So many changes, and what differs first between engine and oracle; empty: nothing did.
std::string first_difference(unsigned seed, int steps, PluginTable table = plugin_table(),
                             EngineOptions options = {}) {
  RandomWorld world(seed, options, table);
  for (int i = 0; i < steps && world.found().empty(); ++i) world.step();
  return world.found();
}

TEST_CASE("repaired verdicts and scores equal those computed anew") {
  for (unsigned seed = 1; seed <= kSeedsThatAgree; ++seed) {
    const std::string found = first_difference(seed, kStepsThatAgree);
    INFO(found);
    REQUIRE(found.empty());
  }
}

// Canaries: what this file compares must not pass when the engine's repairs are broken on purpose.

enum class Defect { none, stale_verdicts, stale_scores, one_class_for_all };

/// NodeResourcesFit, but for one defect.
class BrokenFit final : public Plugin, public FilterPlugin, public ScorePlugin, public EventPlugin {
 public:
  BrokenFit(std::unique_ptr<Plugin> fit, Defect defect)
      : fit_(std::move(fit)),
        filter_(dynamic_cast<FilterPlugin&>(*fit_)),
        score_(dynamic_cast<ScorePlugin&>(*fit_)),
        events_(dynamic_cast<EventPlugin&>(*fit_)),
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
  VerdictId filter_view(PodState* state, const NodeTable& nodes, const NodeView& view) const override {
    return filter_.filter_view(state, nodes, view);
  }
  Depends score_depends() const override {
    return defect_ == Defect::stale_scores ? Depends::node : score_.score_depends();
  }
  ScorePlugin::Prepared prepare_score(const PodInfo& pod) override { return score_.prepare_score(pod); }
  void score(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int32_t> out) const override {
    score_.score(state, nodes, rows, out);
  }
  EventMask events() const override { return events_.events(); }
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override {
    return events_.worth_retrying(pod, event);
  }

 private:
  std::unique_ptr<Plugin> fit_;
  FilterPlugin& filter_;
  ScorePlugin& score_;
  EventPlugin& events_;
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
  constexpr bool kAgrees = defect == Defect::none;
  for (unsigned seed = 1; seed <= (kAgrees ? kSeedsThatAgree : 5); ++seed)
    if (!first_difference(seed, kAgrees ? kStepsThatAgree : kSteps, table).empty()) return true;
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
    for (const Decision& d : world.run()) text += d.node().str() + " ";
    return text;
  };
  CHECK(decide(1) == decide(1));
  CHECK(decide(1) != decide(2));
}

TEST_CASE("ties are broken evenly") {
  std::map<std::string, int> hits;
  const std::size_t seeds = koord::test::hostile(2000);
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    World world({}, {.queue = {}, .seed = seed});
    for (const char* name : {"a", "b", "c", "d"}) world.engine.put_node(make_node(name));
    world.engine.put_pod(make_pod("p"));
    ++hits[world.one().node().str()];
  }
  // Five standard deviations of a fair choice of four.
  const auto fair = static_cast<double>(seeds) / 4;
  for (const auto& [name, n] : hits) CHECK(std::abs(n - fair) < 5 * std::sqrt(fair * 3 / 4));
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
    Row row = world.engine.nodes().find(out[i].node().view());
    CHECK(row / 200 == i % 10);
  }
}

TEST_CASE("a memory that holds next to nothing and a short log change nothing") {
  // 1 KiB is a facet or two; with more some classes are kept too.
  const std::size_t memory = GENERATE(std::size_t{0}, std::size_t{1} << 10, std::size_t{8} << 10);
  INFO("memory " << memory);
  const EngineOptions options{.queue = {}, .class_memory = {.per_node = 0, .floor = memory}, .min_log = 16};
  const std::string found = first_difference(100, kStepsThatAgree, plugin_table(), options);
  INFO(found);
  REQUIRE(found.empty());
}

}  // namespace
}  // namespace koord::scheduling::test
