// Rows that a class sees otherwise, from cycle to cycle, and scores that few rows have.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "cross_node_fakes.hpp"
#include "koord/scheduling/classes/overlay.hpp"

namespace koord::scheduling::test {
namespace {

using Versions = std::map<Row, std::uint64_t>;

struct Sees final : SeenRows {
  Sees(const Versions& v, std::uint64_t k) : versions(v), of(k) {
    for (const auto& [row, version] : v) all.push_back(row);
  }
  std::span<const Row> rows() const override { return all; }
  std::uint64_t key() const override { return of; }
  std::uint64_t version(Row row) const override { return versions.at(row); }
  VerdictId look(Row, std::vector<std::int32_t>&) override { return kPass; }

  Versions versions;
  std::uint64_t of;
  std::vector<Row> all;
};

TEST_CASE("rows are looked at again when they, or how they are seen, have changed") {
  struct Case {
    const char* name;
    std::uint64_t key;  // before it is 7
    bool none;          // nothing is seen otherwise
    Versions now;       // before they are 1:5 and 3:6
    std::vector<Row> changed;
    bool all;
    std::vector<Row> plain, to_see;
  };
  // Row 5 holds no node.
  const std::vector<Case> cases = {
      {"nothing has changed", 7, false, {{1, 5}, {3, 6}}, {}, false, {}, {}},
      {"of the same key only rows that have changed", 7, false, {{1, 9}, {3, 9}}, {4, 3}, false, {4}, {3}},
      {"one comes, one goes", 7, false, {{3, 6}, {4, 1}}, {1, 4}, false, {1}, {4}},
      {"another key", 8, false, {{1, 5}, {3, 9}, {4, 1}}, {}, false, {}, {3, 4}},
      {"another key, and rows have changed", 8, false, {{3, 6}}, {2, 3}, false, {1, 2}, {3}},
      {"a row has changed in both", 8, false, {{1, 5}, {3, 9}}, {1, 3}, false, {}, {1, 3}},
      {"no key", 0, false, {{1, 5}, {3, 9}}, {}, false, {}, {3}},
      {"nobody sees anything", 0, true, {}, {2}, false, {1, 2, 3}, {}},
      {"all rows", 7, false, {{1, 5}, {4, 1}}, {0, 1, 2, 3, 4, 5}, true, {0, 2, 3, 5}, {1, 4}},
      {"without a node", 8, false, {{1, 5}, {5, 1}}, {5}, false, {3, 5}, {}},
      {"without a node, by the key", 7, false, {{1, 5}, {3, 6}, {5, 1}}, {5}, false, {5}, {}},
  };
  World world;
  for (const char* name : {"a", "b", "c", "d", "e", "gone"}) world.engine.put_node(make_node(name));
  world.engine.remove_node("gone");
  for (const Case& c : cases) {
    INFO(c.name);
    Overlay overlay;
    std::vector<Row> plain, to_see;
    const Sees before({{1, 5}, {3, 6}}, 7), now(c.now, c.key);
    overlay.move_to(&before, world.engine.nodes(), false, plain, to_see);
    REQUIRE(to_see == std::vector<Row>{1, 3});
    plain = c.changed;
    overlay.move_to(c.none ? nullptr : &now, world.engine.nodes(), c.all, plain, to_see);
    std::ranges::sort(plain);
    CHECK(plain == c.plain);
    CHECK(to_see == c.to_see);
    std::vector<Row> kept = now.all;
    std::erase(kept, Row{5});
    CHECK(std::ranges::equal(overlay.rows(), kept));
    // What was looked at is known.
    plain.clear();
    overlay.move_to(c.none ? nullptr : &now, world.engine.nodes(), false, plain, to_see);
    CHECK(plain.empty());
    CHECK(to_see.empty());
  }
}

/// What each node is worth, 0 to 100, as the test says; told as that of few rows, or asked of all.
class Worth final : public Plugin, public CrossNodeScorePlugin {
 public:
  struct Said {
    std::map<std::string, int> of;
    bool few = true;
    std::size_t dense = 0;  // how often it was asked of all
  };
  static Said& said() {
    static Said now;
    return now;
  }
  explicit Worth(const PluginContext& context) : nodes_(context.nodes) {}
  bool sign(const PodInfo&, Signature&) const override { return true; }
  std::unique_ptr<PodState> prepare_cross_node_score(const PodInfo&) override {
    return std::make_unique<PodState>();
  }
  bool score_few(PodState&, const PodInfo&, const NodeTable&, std::span<const std::int32_t> slots,
                 FewScores& out) override {
    out = {};
    for (Row row = 0; row < slots.size(); ++row) {
      if (slots[row] < 0 || !said().of.contains(nodes_.name(row).str())) continue;
      out.rows.push_back(row);
      out.scores.push_back(of(row));
    }
    return said().few;
  }
  bool pre_score(PodState&, const PodInfo&, const NodeTable&, std::span<const Row>) override {
    ++said().dense;
    return true;
  }
  void score(PodState&, const NodeTable&, std::span<const Row> rows,
             std::span<std::int64_t> out) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) out[i] = of(rows[i]);
  }
  void normalize(PodState&, std::span<const Row>, std::span<std::int64_t>) const override {}

 private:
  std::int32_t of(Row row) const {
    const auto it = said().of.find(nodes_.name(row).str());
    return it != said().of.end() ? it->second : 0;
  }
  const NodeTable& nodes_;
};

TEST_CASE("who scores few rows decides as if he were asked about all of them") {
  struct Case {
    const char* name;
    std::map<std::string, int> worth;
    std::set<std::string> best;
  };
  // Node d is half full, node e is too full.
  const std::vector<Case> cases = {
      {"nobody is worth anything", {}, {"a", "b", "c"}},
      {"they are worth nothing", {{"a", 0}, {"d", 0}}, {"a", "b", "c"}},
      {"one is", {{"b", 10}}, {"b"}},
      {"two are, one of them more", {{"a", 10}, {"b", 11}}, {"b"}},
      {"two are worth the same", {{"a", 10}, {"b", 10}}, {"a", "b"}},
      {"one that others surpass for themselves", {{"d", 1}}, {"a", "b", "c"}},
      {"one that its worth lifts above them", {{"d", 100}}, {"d"}},
      {"one that its worth lifts to them", {{"d", 25}}, {"a", "b", "c", "d"}},
      {"one that refuses the pod", {{"e", 100}}, {"a", "b", "c"}},
      {"and one that does not", {{"c", 5}, {"e", 100}}, {"c"}},
  };
  static constexpr PluginEntry kWorth{.name = "Worth", .make = &make<Worth>};
  std::vector<const PluginEntry*> table(plugin_table().begin(), plugin_table().end());
  table.push_back(&kWorth);
  KubeSchedulerConfiguration config;
  Plugins& plugins = config.profiles.emplace_back().plugins.ensure();
  plugins.score = {.enabled = {{"NodeResourcesFit", 1}, {"Worth", 1}}, .disabled = {{"*", {}}}};
  World world(config, {}, table);
  for (const char* name : {"a", "b", "c", "d", "e"}) world.engine.put_node(make_node(name, "4", "4Gi"));
  const auto fill = [&](const char* node, const char* cpu, const char* memory) {
    world.engine.put_pod(make_pod(node, cpu, memory, [&](api::Pod& p) { p.spec.node_name = node; }));
  };
  fill("d", "1", "1Gi");
  fill("e", "4", "1Gi");
  const auto pod = make_pod("p", "1", "1Gi");
  Random random(1);
  for (const Case& c : cases) {
    for (const bool few : {true, false}) {
      INFO(c.name << (few ? ", of few" : ", of all"));
      Worth::said() = {c.worth, few, 0};
      std::set<std::string> chosen;
      for (int i = 0; i < 60; ++i) {
        ClassState& state = world.engine.evaluate(world.engine.profiles()[0], pod);
        chosen.insert(world.engine.nodes().name(state.pick(random)).str());
      }
      CHECK(chosen == c.best);
      CHECK((Worth::said().dense == 0) == few);
      ClassState& state = world.engine.evaluate(world.engine.profiles()[0], pod);
      const Row row = world.engine.nodes().find(*c.best.begin());
      const std::int32_t score = state.score(row);
      CHECK(state.explain(row).total == score);
      for (const Row other : std::vector<Row>(state.feasible_rows().begin(), state.feasible_rows().end()))
        CHECK(state.score(other) <= score);
    }
  }
}

}  // namespace
}  // namespace koord::scheduling::test
