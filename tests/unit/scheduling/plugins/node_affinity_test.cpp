// NodeAffinity: selectors, terms and what the arguments add.
#include <catch2/catch.hpp>

#include "filter_cases.hpp"
#include "koord/api/rules/node_selector.hpp"

namespace koord::scheduling::test {
namespace {

api::NodeSelectorRequirement need(const char* key, const char* op, std::vector<Symbol> values) {
  return {key, op, std::move(values)};
}
void require(api::Pod& pod, std::vector<api::NodeSelectorTerm> terms) {
  pod.spec.affinity.ensure().node_affinity.ensure().required.ensure().node_selector_terms = std::move(terms);
}

const std::string kAffinity = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.";

TEST_CASE("pods go where their selectors and terms say") {
  check_filter({
      {"nodeSelector", [](auto& n) { n.metadata.labels["disk"] = "ssd"; },
       [](auto& p) { p.spec.node_selector["disk"] = "ssd"; }, ""},
      {"nodeSelector, other value", [](auto& n) { n.metadata.labels["disk"] = "hdd"; },
       [](auto& p) { p.spec.node_selector["disk"] = "ssd"; }, kAffinity},
      {"In", [](auto& n) { n.metadata.labels["z"] = "b"; },
       [](auto& p) {
         require(p, {{{need("z", "In", {"a", "b"})}, {}}});
       },
       ""},
      {"NotIn", [](auto& n) { n.metadata.labels["z"] = "b"; },
       [](auto& p) {
         require(p, {{{need("z", "NotIn", {"a", "b"})}, {}}});
       },
       kAffinity},
      {"NotIn without the label",
       {},
       [](auto& p) {
         require(p, {{{need("z", "NotIn", {"a"})}, {}}});
       },
       ""},
      {"Exists",
       {},
       [](auto& p) {
         require(p, {{{need("z", "Exists", {})}, {}}});
       },
       kAffinity},
      {"DoesNotExist",
       {},
       [](auto& p) {
         require(p, {{{need("z", "DoesNotExist", {})}, {}}});
       },
       ""},
      {"Gt", [](auto& n) { n.metadata.labels["z"] = "10"; },
       [](auto& p) {
         require(p, {{{need("z", "Gt", {"9"})}, {}}});
       },
       ""},
      {"Lt", [](auto& n) { n.metadata.labels["z"] = "10"; },
       [](auto& p) {
         require(p, {{{need("z", "Lt", {"10"})}, {}}});
       },
       kAffinity},
      {"Gt of no number", [](auto& n) { n.metadata.labels["z"] = "ten"; },
       [](auto& p) {
         require(p, {{{need("z", "Gt", {"9"})}, {}}});
       },
       kAffinity},
      {"second term", [](auto& n) { n.metadata.labels["z"] = "b"; },
       [](auto& p) {
         require(p, {{{need("z", "In", {"a"})}, {}}, {{need("z", "In", {"b"})}, {}}});
       },
       ""},
      {"empty term", {}, [](auto& p) { require(p, {{}}); }, kAffinity},
      {"no terms", {}, [](auto& p) { require(p, {}); }, kAffinity},
      {"field",
       {},
       [](auto& p) {
         require(p, {{{}, {need("metadata.name", "In", {"n"})}}});
       },
       ""},
      {"field of another node",
       {},
       [](auto& p) {
         require(p, {{{}, {need("metadata.name", "In", {"m"})}}});
       },
       "0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity]."},
      {"field NotIn",
       {},
       [](auto& p) {
         require(p, {{{}, {need("metadata.name", "NotIn", {"n"})}}});
       },
       kAffinity},
      {"terms conflict",
       {},
       [](auto& p) {
         require(p, {{{}, {need("metadata.name", "In", {"n"}), need("metadata.name", "In", {"m"})}}});
       },
       "0/1 nodes are available: pod affinity terms conflict."},
  });
}

TEST_CASE("added affinity") {
  KubeSchedulerConfiguration config;
  config.profiles.emplace_back().plugin_config.push_back(
      {"NodeAffinity",
       {R"({"addedAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":)"
        R"([{"matchExpressions":[{"key":"pool","operator":"Exists"}]}]}}})"},
       {}});
  World world(config);
  world.engine.put_node(make_node("n"));
  world.engine.put_pod(make_pod("p"));
  CHECK(world.one().message() ==
        "0/1 nodes are available: 1 node(s) didn't match scheduler-enforced node affinity.");
  // A label that the arguments ask for moves every pod.
  world.clock.advance(std::chrono::seconds(11));
  world.engine.put_node(make_node("n", "4", "8Gi", [](api::Node& n) { n.metadata.labels["pool"] = "a"; }));
  CHECK(world.one().node() == "n");
}

TEST_CASE("labels that come move the pods that they may help") {
  check_events({
      {"label came",
       {},
       [](auto& p) { p.spec.node_selector["a"] = "b"; },
       [](auto& n) { n.metadata.labels["a"] = "b"; },
       true},
      {"other label came",
       {},
       [](auto& p) { p.spec.node_selector["a"] = "b"; },
       [](auto& n) { n.metadata.labels["a"] = "c"; },
       false},
      {"condition",
       {},
       [](auto& p) { p.spec.node_selector["a"] = "b"; },
       [](auto& n) {
         n.status.conditions.push_back({"Ready", "True", {}, {}, {}, {}});
       },
       false},
  });
}

TEST_CASE("preferred terms add up") {
  World world;
  for (const char* zone : {"a", "b", "c"})
    world.engine.put_node(make_node(zone, "4", "8Gi", [&](auto& n) { n.metadata.labels["zone"] = zone; }));
  world.engine.put_pod(make_pod("p", "1", "1Gi", [](auto& p) {
    auto& affinity = p.spec.affinity.ensure().node_affinity.ensure();
    affinity.preferred = {{10, {{need("zone", "In", {"a", "b"})}, {}}},
                          {5, {{need("zone", "In", {"b"})}, {}}}};
  }));
  CHECK(world.one().node() == "b");
}

/// Sees the compiled affinity that pods carry at events; no node is good enough for it.
class WatchingPlugin final : public Plugin, public NodeFilterPlugin, public EventPlugin {
 public:
  using Affinity = std::shared_ptr<const api::RequiredNodeAffinity>;
  static inline std::vector<Affinity> seen;

  explicit WatchingPlugin(const PluginContext& context)
      : no_(context.verdicts.intern({context.index, true, {"watched"}})) {}
  bool sign(const PodInfo&, Signature&) const override { return true; }
  Depends filter_depends() const override { return Depends::pods; }
  Prepared prepare_filter(const PodInfo&) override { return {}; }
  VerdictId filter_node(PodState*, const NodeTable&, Row) const override { return no_; }
  EventMask events() const override { return events_of(EventKind::node_label); }
  bool worth_retrying(const PodInfo& pod, const ClusterEvent&) const override {
    seen.push_back(pod.read.share<const api::RequiredNodeAffinity>());
    return false;
  }

 private:
  VerdictId no_;
};
constexpr PluginEntry kWatching{.name = "Watching", .make = &make<WatchingPlugin>};

TEST_CASE("a pod's affinity is compiled once per version of the pod") {
  auto& seen = WatchingPlugin::seen;
  seen.clear();
  std::vector<const PluginEntry*> table(plugin_table().begin(), plugin_table().end());
  table.push_back(&kWatching);
  KubeSchedulerConfiguration config;
  config.profiles.emplace_back().plugins.emplace().filter.enabled = {{"Watching", {}}};
  World world(config, {}, table);
  const auto elsewhere = make_node("a", "4", "8Gi");
  world.engine.put_node(elsewhere);
  world.engine.put_node(make_node("b", "4", "8Gi", [](api::Node& n) { n.metadata.labels["z"] = "b"; }));
  auto pod = make_pod("p", "1", "1Gi", [](api::Pod& p) { require(p, {{{need("z", "In", {"b"})}, {}}}); });
  world.engine.put_pod(pod);
  CHECK(world.one().kind() == Decision::Kind::unschedulable);
  const auto events = [&](std::initializer_list<const char*> labels) {
    for (const char* label : labels) {
      auto labelled = std::make_shared<api::Node>(*elsewhere);
      labelled->metadata.labels[label] = "1";
      world.engine.put_node(labelled);
      CHECK(world.run().empty());
    }
  };
  events({"v", "w"});
  world.engine.put_pod(changed(pod, [](api::Pod& p) { require(p, {{{need("z", "In", {"b", "c"})}, {}}}); }));
  events({"x", "y"});
  REQUIRE(seen.size() == 4);
  REQUIRE(seen[0] != nullptr);
  CHECK(seen[1] == seen[0]);
  REQUIRE(seen[2] != nullptr);
  CHECK(seen[2] != seen[0]);
  CHECK(seen[3] == seen[2]);
  seen.clear();
}

}  // namespace
}  // namespace koord::scheduling::test
