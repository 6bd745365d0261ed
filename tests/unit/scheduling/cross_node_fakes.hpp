// Plugins that reach over rows, small enough to see what the engine asks of them.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduling/classes/trial.hpp"
#include "world.hpp"

namespace koord::scheduling::test {

inline std::string label_of(const api::Pod& pod, std::string_view key) {
  const auto* value = pod.metadata.labels.find(key);
  return value == nullptr ? std::string() : value->str();
}
inline std::string zone_of(const api::Node* node) {
  const auto* value = node == nullptr ? nullptr : node->metadata.labels.find("zone");
  return value == nullptr ? std::string() : value->str();
}

/// At most so many pods of an app in a zone, as the pod's label "most" says; and the emptier the zone, the
/// better. A pod with the label "prefilter" is rejected by that, of code "code"; one without an app is none
/// of its business.
class Zones final : public Plugin,
                    public CrossNodeFilterPlugin,
                    public CrossNodeScorePlugin,
                    public ClusterObserver,
                    public EventPlugin {
 public:
  /// What all of them were asked since it was cleared.
  struct Asked {
    std::size_t filtered = 0, scored = 0;
    std::vector<Row> feasible;  // of the last pre_score()
    int open = 0;               // add_pod() and remove_pod() that were not undone
  };
  static Asked& asked() {
    static Asked now;
    return now;
  }

  explicit Zones(const PluginContext& context)
      : nodes_(context.nodes),
        full_(context.verdicts.intern({context.index, false, {"zone(s) were full"}})),
        nowhere_(context.verdicts.intern({context.index, true, {"node(s) had no zone"}})),
        broken_(context.verdicts.intern({context.index, false, {"out of luck"}, true})) {
    context.observe(*this);
  }

  bool sign(const PodInfo& pod, Signature& signature) const override {
    for (const char* key : {"app", "most", "prefilter", "code"}) signature.add(label_of(*pod.pod, key));
    return true;
  }

  struct State final : PodState {
    std::string app;
    int most = 0;
    std::map<std::string, int> counts;  // of this cycle, by zone
    std::int64_t best = 0;
  };
  std::unique_ptr<PodState> prepare_cross_node_filter(const PodInfo& pod) override { return prepare(pod); }
  PreFiltered pre_filter(PodState& state, const PodInfo& pod) override {
    auto& s = static_cast<State&>(state);
    PreFiltered said;
    said.rejected = label_of(*pod.pod, "prefilter");
    const std::string code = label_of(*pod.pod, "code");
    said.code = code == "error"           ? StatusCode::error
                : code == "pending"       ? StatusCode::pending
                : code == "unschedulable" ? StatusCode::unschedulable
                                          : StatusCode::unresolvable;
    said.skip = s.app.empty();
    s.counts = counts_[s.app];
    return said;
  }
  void filter(PodState& state, const NodeTable& nodes, std::span<const Row> rows,
              std::span<VerdictId> out) const override {
    auto& s = static_cast<State&>(state);
    asked().filtered += rows.size();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string zone = zone_of(nodes.node(rows[i]).get());
      const auto there = s.counts.find(zone);
      out[i] = zone.empty()                                         ? nowhere_
               : zone == "broken"                                   ? broken_
               : there != s.counts.end() && there->second >= s.most ? full_
                                                                    : kPass;
    }
  }
  void add_pod(PodState& state, const PodInfo&, const PodInfo& other, Row row) override {
    ++asked().open;
    tell(state, other, row, 1);
  }
  void remove_pod(PodState& state, const PodInfo&, const PodInfo& other, Row row) override {
    --asked().open;
    tell(state, other, row, -1);
  }

  std::unique_ptr<PodState> prepare_cross_node_score(const PodInfo& pod) override { return prepare(pod); }
  bool may_score(PodState& state, const PodInfo&) override { return !static_cast<State&>(state).app.empty(); }
  bool pre_score(PodState& state, const PodInfo&, const NodeTable&, std::span<const Row> feasible) override {
    auto& s = static_cast<State&>(state);
    asked().feasible.assign(feasible.begin(), feasible.end());
    s.counts = counts_[s.app];
    return s.app != "unscored";
  }
  void score(PodState& state, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int64_t> out) const override {
    asked().scored += rows.size();
    // Beyond 32 bits.
    for (std::size_t i = 0; i < rows.size(); ++i)
      out[i] = std::int64_t{static_cast<State&>(state).counts[zone_of(nodes.node(rows[i]).get())]} << 40;
  }
  void normalize(PodState&, std::span<const Row>, std::span<std::int64_t> scores) const override {
    const std::int64_t most = *std::max_element(scores.begin(), scores.end());
    for (std::int64_t& score : scores) score = most == 0 ? 100 : 100 * (most - score) / most;
  }

  void pod_added(Row row, const PodInfo& pod) override { count(pod, nodes_.node(row).get(), 1); }
  void pod_removed(Row row, const PodInfo& pod) override { count(pod, nodes_.node(row).get(), -1); }
  void node_changed(Row row, const api::Node* before, const api::Node* now) override {
    for (const PodInfo* pod : nodes_.pods(row)) {
      count(*pod, before, -1);
      count(*pod, now, 1);
    }
  }

  EventMask events() const override { return events_of(EventKind::node_add, EventKind::assigned_pod_delete); }
  bool worth_retrying(const PodInfo&, const ClusterEvent&) const override { return true; }

 private:
  static std::unique_ptr<State> prepare(const PodInfo& pod) {
    auto state = std::make_unique<State>();
    state->app = label_of(*pod.pod, "app");
    const std::string most = label_of(*pod.pod, "most");
    state->most = most.empty() ? 1 : std::stoi(most);
    return state;
  }
  void tell(PodState& state, const PodInfo& other, Row row, int by) const {
    auto& s = static_cast<State&>(state);
    if (label_of(*other.pod, "app") == s.app) s.counts[zone_of(nodes_.node(row).get())] += by;
  }
  void count(const PodInfo& pod, const api::Node* node, int by) {
    if (!zone_of(node).empty()) counts_[label_of(*pod.pod, "app")][zone_of(node)] += by;
  }

  NodeTable& nodes_;
  VerdictId full_, nowhere_, broken_;
  std::map<std::string, std::map<std::string, int>> counts_;  // by app and zone
};

/// Rejects nodes by the pod's own name: "not-NODE" and nothing else.
class Picky final : public Plugin, public PerPodFilterPlugin {
 public:
  static std::size_t& asked() {
    static std::size_t rows = 0;
    return rows;
  }
  explicit Picky(const PluginContext& context)
      : rejected_(context.verdicts.intern({context.index, false, {"node(s) were not liked"}})) {}
  bool sign(const PodInfo&, Signature&) const override { return true; }
  struct State final : PodState {
    std::string disliked;
  };
  std::unique_ptr<PodState> pre_filter_pod(const PodInfo& pod, PreFiltered& said) override {
    const std::string& name = pod.pod->metadata.name;
    if (name == "impossible") said.rejected = "pod(s) were impossible";
    if (!name.starts_with("not-")) return nullptr;
    auto state = std::make_unique<State>();
    state->disliked = name.substr(4);
    return state;
  }
  void filter_pod(PodState& state, const NodeTable& nodes, std::span<const Row> rows,
                  std::span<VerdictId> out) const override {
    asked() += rows.size();
    for (std::size_t i = 0; i < rows.size(); ++i)
      out[i] = nodes.name(rows[i]) == static_cast<State&>(state).disliked ? rejected_ : kPass;
  }

 private:
  VerdictId rejected_;
};

inline PluginTable with_fakes() {
  static constexpr PluginEntry kZones{.name = "Zones", .make = &make<Zones>};
  static constexpr PluginEntry kPicky{.name = "Picky", .make = &make<Picky>};
  static const std::vector<const PluginEntry*> table = [] {
    std::vector<const PluginEntry*> all(plugin_table().begin(), plugin_table().end());
    all.insert(all.end(), {&kZones, &kPicky});
    return all;
  }();
  return table;
}

/// The default profile and the fakes: behind all others, or for `first` before them.
inline KubeSchedulerConfiguration fakes_config(bool first = false) {
  KubeSchedulerConfiguration config;
  Plugins& plugins = config.profiles.emplace_back().plugins.ensure();
  for (const char* name : {"Picky", "Zones"}) {
    plugins.multi_point.enabled.push_back({name, {}});
    if (first) plugins.filter.enabled.push_back({name, {}});
  }
  return config;
}

inline PodEdit labels(std::map<std::string, std::string> labels) {
  return [labels = std::move(labels)](api::Pod& pod) {
    for (const auto& [key, value] : labels) pod.metadata.labels[key] = value;
  };
}

inline std::shared_ptr<const api::Node> zone_node(const std::string& name, const std::string& zone,
                                                  std::string_view cpu = "4", const NodeEdit& edit = {}) {
  return make_node(name, cpu, "8Gi", [&](api::Node& node) {
    if (!zone.empty()) node.metadata.labels["zone"] = zone;
    if (edit) edit(node);
  });
}

}  // namespace koord::scheduling::test
