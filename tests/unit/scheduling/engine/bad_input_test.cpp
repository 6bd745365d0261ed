// What anybody may write into a pod costs the others little: work and memory are counted, not timed.
#include <catch2/catch.hpp>

#include "koord/scheduling/classes/cache_memory.hpp"
#include "plain_pods.hpp"
#include "support/sanitized.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

constexpr int kNodes = 20;
const int kMany = static_cast<int>(koord::test::hostile(10'000));

struct Flood : World {
  Flood() {
    for (int i = 0; i < kNodes; ++i) engine.put_node(make_node(fmt::format("n{}", i), "64", "256Gi"));
  }
  std::uint64_t rows_of(int pods) {
    const std::uint64_t before = engine.classes().rows_looked_at();
    CHECK(run().size() == static_cast<std::size_t>(pods));
    return engine.classes().rows_looked_at() - before;
  }
  void check_memory() {
    // One thing more than the bound may have grown.
    CHECK(engine.classes().memory().bytes() < (std::size_t{1} << 20) + (std::size_t{1} << 18));
  }
};

TEST_CASE("10,000 different pods at once cost a look at all nodes each, and the others nothing") {
  Flood world;
  // What is seen twice is remembered.
  for (const char* name : {"first", "again"}) plain_pod(world, name);
  for (int i = 0; i < kMany; ++i)
    world.engine.put_pod(make_pod(fmt::format("p{}", i), fmt::format("{}m", 100'000 + i)));
  // With a class of its own that is known, and ahead of those that wait.
  CHECK(plain_pod(world, "second") <= 2);
  CHECK(world.rows_of(kMany) <= static_cast<std::uint64_t>(kMany + 10) * kNodes);
  world.check_memory();
  // They wait, and a change of a node is asked about class by class, of its own row.
  world.clock.advance(std::chrono::seconds(20));
  const std::uint64_t before = world.engine.classes().rows_looked_at();
  world.engine.put_node(make_node("n0", "65", "256Gi"));
  CHECK(world.run().empty());
  CHECK(world.engine.classes().rows_looked_at() == before);
  for (int i = 0; i < kMany; ++i)
    world.engine.remove_pod(*make_pod(fmt::format("p{}", i), fmt::format("{}m", 100'000 + i)));
  CHECK(world.engine.classes().size() <= 4096 + 1);
  CHECK(world.engine.queue_sizes() == QueueSizes{});
}

TEST_CASE("a resource of its own for each pod costs a name each, while there are the pods") {
  Flood world;
  const int many = koord::test::is_short() ? 5000 : 10'000;  // more than are remembered
  const std::size_t cells = world.engine.nodes().cells().stored();
  const auto pod = [](int i, const char* node) {
    return make_pod(fmt::format("p{}", i), "1m", "1Mi", [&](api::Pod& p) {
      p.spec.containers[0].resources.requests[fmt::format("a.com/r{}", i)] = api::Quantity::must("1");
      p.spec.node_name = node;
    });
  };
  for (int i = 0; i < many; ++i) world.engine.put_pod(pod(i, ""));
  CHECK(world.rows_of(many) <= static_cast<std::uint64_t>(many + 10) * kNodes);
  world.check_memory();
  // What is said of them is remembered with their classes alone.
  CHECK(world.engine.context().verdicts.size() < 5000);
  for (int i = 0; i < many; ++i) world.engine.remove_pod(*pod(i, ""));
  // Bound ones take a number beside the columns, and no column.
  for (int i = many; i < 2 * many; ++i) world.engine.put_pod(pod(i, "n1"));
  CHECK(world.engine.nodes().cells().stored() <= cells + 2 * many);
  for (int i = many; i < 2 * many; ++i) world.engine.remove_pod(*pod(i, "n1"));
  CHECK(world.engine.nodes().cells().stored() == cells);
  plain_pod(world, "plain");
  CHECK(world.engine.nodes().resources().known() < static_cast<std::size_t>(2 * many));
}

TEST_CASE("malformed rules are the pod's own affair") {
  struct Bad {
    const char* name;
    PodEdit edit;
  };
  const auto required = [](api::NodeSelectorRequirement r) {
    return [=](api::Pod& p) {
      api::NodeSelectorTerm term;
      term.match_expressions.push_back(r);
      p.spec.affinity.ensure().node_affinity.ensure().required.ensure().node_selector_terms.push_back(term);
    };
  };
  const auto anti = [](const char* key, api::LabelSelectorRequirement r) {
    return [=](api::Pod& p) {
      api::PodAffinityTerm term;
      term.topology_key = key;
      term.label_selector.ensure().match_expressions.push_back(r);
      p.spec.affinity.ensure().pod_anti_affinity.ensure().required.push_back(term);
    };
  };
  const auto spread = [](const char* key, int skew, api::LabelSelectorRequirement r) {
    return [=](api::Pod& p) {
      api::TopologySpreadConstraint& c = p.spec.topology_spread_constraints.emplace_back();
      c.topology_key = key;
      c.max_skew = skew;
      c.when_unsatisfiable = "DoNotSchedule";
      c.label_selector.ensure().match_expressions.push_back(r);
    };
  };
  const Bad kCases[] = {
      {"an operator that there is not", required({"a", "Like", {"b"}})},
      {"more than what", required({"a", "Gt", {"much"}})},
      {"no key", required({"", "Exists", {}})},
      {"no values", required({"a", "In", {}})},
      {"no terms", [](api::Pod& p) { p.spec.affinity.ensure().node_affinity.ensure().required.ensure(); }},
      {"another field",
       [](api::Pod& p) {
         api::NodeSelectorTerm term;
         term.match_fields.push_back({"spec.unschedulable", "In", {"true"}});
         p.spec.affinity.ensure().node_affinity.ensure().required.ensure().node_selector_terms.push_back(
             term);
       }},
      {"a selector of pods with an operator that there is not", anti("zone", {"a", "Like", {"b"}})},
      {"no topology key", anti("", {"a", "Exists", {}})},
      {"a topology key that no node has", spread("nowhere", 1, {"a", "Exists", {}})},
      {"a skew below nothing", spread("kubernetes.io/hostname", -5, {"a", "Exists", {}})},
      {"a spread with an operator that there is not",
       spread("kubernetes.io/hostname", 1, {"a", "Like", {"b"}})},
      {"a port that there is not",
       [](api::Pod& p) {
         p.spec.containers[0].ports.push_back({{}, 70'000, 80, "GOPHER", "somewhere"});
       }},
      {"a toleration of what",
       [](api::Pod& p) {
         api::Toleration& t = p.spec.tolerations.emplace_back();
         t.operator_ = "Maybe";
         t.effect = "Never";
       }},
  };
  Flood world;
  for (const Bad& bad : kCases) {
    INFO(bad.name);
    world.engine.put_pod(make_pod("bad", "1", "1Gi", bad.edit));
    const auto out = world.run();
    REQUIRE(out.size() == 1);
    // It goes somewhere or is told why not; nobody else notices.
    CHECK((out[0].kind() == Decision::Kind::bind) == out[0].message().empty());
    plain_pod(world, fmt::format("plain {}", bad.name));
    world.engine.remove_pod(*make_pod("bad"));
  }
  CHECK(world.engine.pods() == std::size(kCases));
}

TEST_CASE("topology keys that no node has cost a look at no node") {
  Flood world;
  const auto terms = [](api::List<api::PodAffinityTerm>& required) {
    for (int i = 0; i < kMany; ++i) {
      api::PodAffinityTerm& term = required.emplace_back();
      term.topology_key = fmt::format("a.com/k{:05}", i);
      term.label_selector.ensure().match_labels["app"] = "a";
    }
  };
  const auto labelled = [](api::Pod& p) { p.metadata.labels["app"] = "a"; };
  world.engine.put_pod(make_pod("there", "1", "1Gi", [&](api::Pod& p) {
    labelled(p);
    p.spec.node_name = "n1";
  }));
  world.engine.put_pod(make_pod("far", "1", "1Gi", [&](api::Pod& p) {
    labelled(p);
    terms(p.spec.affinity.ensure().pod_anti_affinity.ensure().required);
  }));
  world.engine.put_pod(make_pod("near", "1", "1Gi", [&](api::Pod& p) {
    labelled(p);
    terms(p.spec.affinity.ensure().pod_affinity.ensure().required);
  }));
  const auto out = world.run();
  REQUIRE(out.size() == 2);
  CHECK(out[0].kind() == Decision::Kind::bind);
  CHECK(out[1].message() == "0/20 nodes are available: 20 node(s) didn't match pod affinity rules.");
  plain_pod(world, "plain");
}

TEST_CASE("giant selectors are read once, looked at once a node, and forgotten") {
  Flood world;
  constexpr int kValues = 20'000;
  const auto pod = [](int i) {
    return make_pod(fmt::format("p{}", i), "1", "1Gi", [&](api::Pod& p) {
      api::NodeSelectorTerm term;
      api::NodeSelectorRequirement& r = term.match_expressions.emplace_back();
      r.key = "absent";
      r.operator_ = "In";
      for (int v = 0; v < kValues; ++v) r.values.push_back(fmt::format("v{}-{}", i, v));
      p.spec.affinity.ensure().node_affinity.ensure().required.ensure().node_selector_terms.push_back(term);
    });
  };
  constexpr int kPods = 16;
  for (int i = 0; i < kPods; ++i) world.engine.put_pod(pod(i));
  CHECK(world.rows_of(kPods) <= std::uint64_t{kPods + 10} * 2 * kNodes);
  for (int i = 0; i < kPods; ++i) world.engine.remove_pod(*make_pod(fmt::format("p{}", i)));
  // Of what is that large nearly nothing is remembered without a pod.
  CHECK(world.engine.classes().size() <= 13);
}

}  // namespace
}  // namespace koord::scheduling::test
