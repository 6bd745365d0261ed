// How many nodes are looked at for gangs that name a network topology, in clusters where most of them say
// nothing: what is known of a node is kept, whether it lies in the network or not.
#include <catch2/catch.hpp>

#include "koord/scheduling/plugin/filter_plugin.hpp"
#include "topology_rig.hpp"

namespace koord::scheduling::coscheduling::test {
namespace {

/// Refuses nobody, and counts of how many nodes it is asked.
class Counts final : public Plugin, public FilterPlugin {
 public:
  static inline std::size_t asked = 0;
  explicit Counts(const PluginContext&) {}
  bool sign(const PodInfo&, Signature&) const override { return true; }
  Depends filter_depends() const override { return Depends::pods; }
  FilterPlugin::Prepared prepare_filter(const PodInfo&) override { return {}; }
  void filter(PodState*, const NodeTable&, std::span<const Row> rows,
              std::span<VerdictId> out) const override {
    asked += rows.size();
    std::ranges::fill(out, kPass);
  }
  VerdictId filter_view(PodState*, const NodeTable&, const NodeView&) const override {
    ++asked;
    return kPass;
  }
};

struct Counted : World {
  Counted() : World(config(), {}, table()) {}
  static KubeSchedulerConfiguration config() {
    KubeSchedulerConfiguration config = Gathered::aware();
    config.profiles[0].plugins.ensure().multi_point.enabled.push_back({"Counts", {}});
    return config;
  }
  static PluginTable table() {
    static constexpr PluginEntry kCounts{.name = "Counts", .make = &make<Counts>};
    static const std::vector<const PluginEntry*> kTable = [] {
      std::vector<const PluginEntry*> all(plugin_table().begin(), plugin_table().end());
      all.push_back(&kCounts);
      return all;
    }();
    return kTable;
  }
  /// How many of the gang's pods are bound, and for how many nodes that asked.
  struct Answer {
    std::size_t bound, asked;
  };
  Answer gang(const std::string& name, int members, const Says& says, std::string_view cpu) {
    for (int n = 0; n < members; ++n) engine.put_pod(member(name, n, members, says, cpu));
    return decide();
  }
  Answer decide() {
    Counts::asked = 0;
    Answer answer{0, 0};
    for (const Decision& d : run()) {
      if (d.kind() != Kind::bind) continue;
      ++answer.bound;
      engine.binding_succeeded(*d.pod);
      engine.put_pod(changed(d.pod, [&](api::Pod& p) { p.spec.node_name = d.node(); }));
    }
    answer.asked = Counts::asked;
    return answer;
  }
};

TEST_CASE("a gang looks again at the nodes alone that have changed, whatever others there are") {
  struct Case {
    const char* name;
    std::size_t unlabelled, spines, blocks, racks, nodes;  // racks in a block, nodes in a rack
  };
  const Case cases[] = {{"most nodes are in no network", 100'000, 1, 2, 2, 2},
                        {"three layers", 0, 5, 10, 10, 10}};
  for (const Case& c : cases) {
    INFO(c.name);
    Counted world;
    world.engine.put_object(
        std::shared_ptr<const api::ClusterNetworkTopology>(topology_of({{"Spine", "", {"spine"}},
                                                                        {"Block", "Spine", {"block"}},
                                                                        {"Rack", "Block", {"rack"}},
                                                                        {api::kNodeTopologyLayer, "Rack"}})));
    std::size_t nodes = c.unlabelled;
    for (std::size_t n = 0; n < c.unlabelled; ++n)
      world.engine.put_node(make_node(fmt::format("beside-{}", n), "16", "64Gi"));
    for (std::size_t s = 0; s < c.spines; ++s)
      for (std::size_t b = 0; b < c.blocks; ++b)
        for (std::size_t r = 0; r < c.racks; ++r)
          for (std::size_t n = 0; n < c.nodes; ++n, ++nodes)
            world.engine.put_node(
                make_node(fmt::format("node-{}-{}-{}-{}", s, b, r, n), "16", "64Gi", [&](api::Node& node) {
                  node.metadata.labels["spine"] = fmt::format("s{}", s);
                  node.metadata.labels["block"] = fmt::format("b{}-{}", s, b);
                  node.metadata.labels["rack"] = fmt::format("r{}-{}-{}", s, b, r);
                }));
    const Says rack = gathers({{"Rack", "MustGather"}});
    // One pod a node, so that each gang fills a rack.
    const int members = static_cast<int>(c.nodes);
    const auto first = world.gang("first", members, rack, "10");
    CHECK(first.bound == c.nodes);
    CHECK(first.asked <= 3 * nodes);
    const auto second = world.gang("second", members, rack, "10");
    CHECK(second.bound == c.nodes);
    CHECK(second.asked <= 2 * c.nodes);
    // Of a gang that is too large for a rack, and of its next attempt.
    const auto large = world.gang("large", members + 1, rack, "10");
    CHECK(large.bound == 0);
    CHECK(large.asked <= 2 * c.nodes);
    world.engine.put_node(make_node("node-0-0-0-new", "16", "64Gi", [](api::Node& node) {
      node.metadata.labels = {{"spine", "s0"}, {"block", "b0-1"}, {"rack", "r0-1-0"}};
    }));
    world.clock.advance(std::chrono::seconds(20));
    const auto again = world.decide();
    CHECK(again.bound == c.nodes + 1);
    CHECK(again.asked <= 2 * (c.nodes + 1));
  }
}

}  // namespace
}  // namespace koord::scheduling::coscheduling::test
