// Hints of memory nodes: providers are asked once for a row and a shape of pods.
#include "koord/scheduling/plugin/numa_hints.hpp"

#include <bit>
#include <catch2/catch.hpp>

#include "cross_node_fakes.hpp"

namespace koord::scheduling::test {
namespace {

using Lists = std::vector<NumaHintList>;
using Hints = std::vector<NumaHint>;

/// Each node has two memory nodes of four units; the pod's label of the resource's name says how many it
/// wants of it. What is taken of the first one is a label of the node.
template <char kResource>
class Units final : public Plugin, public NumaHintPlugin {
 public:
  explicit Units(const PluginContext&) {}
  bool sign(const PodInfo& pod, Signature& signature) const override {
    signature.add(label_of(*pod.pod, name()));
    return true;
  }
  std::unique_ptr<PodState> prepare_numa_hints(const PodInfo& pod) override {
    const std::string wanted = label_of(*pod.pod, name());
    if (wanted.empty()) return nullptr;
    auto state = std::make_unique<State>();
    state->wanted = std::stoi(wanted);
    return state;
  }
  void numa_hints(PodState& state, const NodeView& view, Lists& out) const override {
    ++asked();
    const auto* taken = view.node()->metadata.labels.find(name());
    const int first = 4 - (taken != nullptr ? std::stoi(taken->str()) : 0),
              wanted = static_cast<State&>(state).wanted;
    Hints hints;
    for (const NumaMask mask : {NumaMask{0b01}, NumaMask{0b10}, NumaMask{0b11}}) {
      const int there = ((mask & 1) != 0 ? first : 0) + ((mask & 2) != 0 ? 4 : 0);
      if (there >= wanted) hints.push_back({mask, std::popcount(mask) == (wanted > 4 ? 2 : 1)});
    }
    out.push_back({std::string(name()), std::move(hints)});
  }
  static std::size_t& asked() {
    static std::size_t rows = 0;
    return rows;
  }

 private:
  struct State final : PodState {
    int wanted = 0;
  };
  static std::string_view name() {
    static constexpr char kName[] = {kResource, 0};
    return kName;
  }
};

/// The pod goes where one memory node has all it asks for.
class OneMemoryNode final : public Plugin, public NodeFilterPlugin {
 public:
  explicit OneMemoryNode(const PluginContext& context)
      : context_(context),
        unaligned_(context.verdicts.intern({context.index, false, {"node(s) were not aligned"}})) {}
  bool sign(const PodInfo&, Signature&) const override { return true; }
  Depends filter_depends() const override { return Depends::pods; }
  Prepared prepare_filter(const PodInfo& pod) override {
    auto state = std::make_unique<State>();
    state->shape = context_.numa_hints->shape(pod, context_.nodes);
    Prepared prepared;
    prepared.skip = state->shape == nullptr;
    prepared.state = std::move(state);
    return prepared;
  }
  VerdictId filter_node(PodState* state, const NodeTable& nodes, Row row) const override {
    return filter_view(state, nodes, NodeView(nodes, row));
  }
  VerdictId filter_view(PodState* state, const NodeTable&, const NodeView& view) const override {
    const NumaQuestion question{.policy = NumaPolicy::single_numa_node, .all = 0b11};
    return static_cast<State*>(state)->shape->on(view, question).choice.admitted ? kPass : unaligned_;
  }

 private:
  struct State final : PodState {
    std::shared_ptr<NumaShape> shape;
  };
  PluginContext context_;
  VerdictId unaligned_;
};

TEST_CASE("providers are asked once for a row and a shape, and again when the row has changed") {
  static constexpr PluginEntry kA{.name = "UnitsA", .make = &make<Units<'a'>>},
      kB{.name = "UnitsB", .make = &make<Units<'b'>>}, kOne{.name = "One", .make = &make<OneMemoryNode>};
  std::vector<const PluginEntry*> table(plugin_table().begin(), plugin_table().end());
  // The filter is made before its providers are.
  table.insert(table.end(), {&kOne, &kA, &kB});
  KubeSchedulerConfiguration config;
  auto& enabled = config.profiles.emplace_back().plugins.ensure().multi_point.enabled;
  for (const char* name : {"One", "UnitsA", "UnitsB"}) enabled.push_back({name, {}});
  World world(config, {}, table);
  const auto node = [](const std::string& name, std::string a, std::string b) {
    return make_node(name, "4", "8Gi", [&](api::Node& n) {
      n.metadata.labels["a"] = a;
      n.metadata.labels["b"] = b;
    });
  };
  world.engine.put_node(node("both", "0", "0"));
  world.engine.put_node(node("full", "4", "4"));
  Units<'a'>::asked() = Units<'b'>::asked() = 0;
  const auto pod = [](const std::string& name, const std::string& a, const std::string& b,
                      std::string_view cpu = "1") {
    return make_pod(name, cpu, "1Gi", labels({{"a", a}, {"b", b}}));
  };
  const auto feasible = [&](const std::shared_ptr<const api::Pod>& asked) {
    return world.engine.evaluate(world.engine.profiles()[0], asked).feasible();
  };
  CHECK(feasible(make_pod("none")) == 2);
  CHECK(Units<'a'>::asked() == 0);
  world.engine.put_pod(pod("p", "2", "3"));
  CHECK(world.one().pod->metadata.name == "p");
  const std::size_t once = Units<'a'>::asked();
  CHECK(once == Units<'b'>::asked());
  CHECK(once >= 2);
  // Another class with the same shape: one row was assumed on since.
  CHECK(feasible(pod("q", "2", "3", "2")) == 2);
  CHECK(Units<'a'>::asked() == once + 1);
  CHECK(feasible(pod("r", "5", "1")) == 0);
  world.engine.put_node(node("full", "4", "0"));
  CHECK(feasible(pod("q", "2", "3", "2")) == 2);
}

}  // namespace
}  // namespace koord::scheduling::test
