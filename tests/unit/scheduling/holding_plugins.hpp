// Plugins that see rows otherwise: one keeps room on a node for some pods, the other does what a test says.
#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cross_node_fakes.hpp"

namespace koord::scheduling::test {

/// A pod with the label "holds" keeps its CPUs, on its node, for those whose label "owner" says the same.
/// They live in its room, which counts once for everybody else.
class Holds final : public Plugin, public RowDeltaPlugin, public ClusterObserver {
 public:
  explicit Holds(const PluginContext& context) : nodes_(context.nodes) { context.observe(*this); }
  bool sign(const PodInfo& pod, Signature& signature) const override {
    signature.add(label_of(*pod.pod, "owner"));
    return true;
  }

  std::unique_ptr<PodState> prepare_deltas(const PodInfo& pod) override {
    auto state = std::make_unique<State>();
    state->name = label_of(*pod.pod, "owner");
    if (state->name.empty()) return nullptr;
    return state;
  }
  std::span<const Row> delta_rows(PodState& state, const PodInfo&) override {
    auto& s = static_cast<State&>(state);
    const auto it = holds_.find(s.name);
    s.rows.clear();
    if (it != holds_.end()) s.rows.push_back(it->second.row);
    return s.rows;
  }
  std::uint64_t delta_version(const PodState& state, Row) const override {
    return holds_.at(static_cast<const State&>(state).name).version;
  }
  void apply(const PodState& state, NodeView& view) const override {
    const Hold& hold = holds_.at(static_cast<const State&>(state).name);
    view.remove(*hold.pod);
    view.use(kCpu, hold.taken);
    view.use(kNonzeroCpu, hold.taken);
  }

  void pod_added(Row row, const PodInfo& pod) override {
    if (const std::string name = label_of(*pod.pod, "holds"); !name.empty())
      holds_[name] = {&pod, row, 0, ++versions_};
    const auto it = holds_.find(label_of(*pod.pod, "owner"));
    if (it == holds_.end() || it->second.row != row) return;
    // It has what it was given before, whatever became of its labels.
    if (pod.kept.find<Taken>() == nullptr) {
      const std::int64_t left = it->second.pod->requests.cpu - it->second.taken;
      pod.kept.put(std::make_shared<Taken>(it->first, std::min(left, pod.requests.cpu)));
    }
    count(row, *pod.kept.find<Taken>(), 1);
  }
  void pod_removed(Row row, const PodInfo& pod) override {
    if (const Taken* taken = pod.kept.find<Taken>()) count(row, *taken, -1);
    const auto it = holds_.find(label_of(*pod.pod, "holds"));
    if (it == holds_.end()) return;
    correct(row, it->second.taken);
    holds_.erase(it);
  }
  void node_changed(Row, const api::Node*, const api::Node*) override {}

 private:
  struct State final : PodState {
    std::string name;
    std::vector<Row> rows;
  };
  struct Hold {
    const PodInfo* pod;
    Row row;
    std::int64_t taken;
    std::uint64_t version;
  };
  struct Taken {
    Taken(std::string h, std::int64_t c) : hold(std::move(h)), cpu(c) {}
    std::string hold;
    std::int64_t cpu;
  };
  void count(Row row, const Taken& taken, std::int64_t sign) {
    const auto it = holds_.find(taken.hold);
    if (it == holds_.end()) return;
    it->second.taken += sign * taken.cpu;
    it->second.version = ++versions_;
    correct(row, -sign * taken.cpu);
  }
  void correct(Row row, std::int64_t amount) {
    for (const ResourceId resource : {kCpu, kNonzeroCpu}) nodes_.correct(row, resource, amount);
  }

  NodeTable& nodes_;
  std::map<std::string, Hold> holds_;
  std::uint64_t versions_ = 0;
};

/// Nodes have eight cores each, of which the test says how many are taken; a pod asks for as many as its
/// label "cores" says, and the more are left the better. How a pod sees a node is told by its label "kind".
class Scripted final : public Plugin, public FilterPlugin, public ScorePlugin, public RowDeltaPlugin {
 public:
  struct Delta {
    std::vector<std::string> gone;  // names of pods
    std::map<ResourceId, std::int64_t> more;
    std::vector<int> freed, taken;  // host ports
    int cores = 0;                  // given back
    std::uint64_t version = 0;
  };
  struct Said {
    std::map<std::string, int> cores;                            // taken, by node
    std::map<std::string, std::map<std::string, Delta>> deltas;  // by kind and node
    std::size_t applied = 0;
  };
  /// Of the worlds that are asked from now on.
  static Said*& said() {
    static Said* now = nullptr;
    return now;
  }

  explicit Scripted(const PluginContext& context)
      : nodes_(context.nodes),
        short_(context.verdicts.intern({context.index, false, {"cores were short"}})) {}
  bool sign(const PodInfo& pod, Signature& signature) const override {
    for (const char* key : {"kind", "cores"}) signature.add(label_of(*pod.pod, key));
    return true;
  }

  Depends filter_depends() const override { return Depends::pods; }
  FilterPlugin::Prepared prepare_filter(const PodInfo& pod) override {
    FilterPlugin::Prepared prepared;
    prepared.state = read(pod);
    return prepared;
  }
  void filter(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
              std::span<VerdictId> out) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) out[i] = judge(state, left(nodes.name(rows[i]).str()));
  }
  VerdictId filter_view(PodState* state, const NodeTable&, const NodeView& view) const override {
    return judge(state, left(view));
  }
  Depends score_depends() const override { return Depends::pods; }
  Normalize normalize() const override { return Normalize::to_best; }
  ScorePlugin::Prepared prepare_score(const PodInfo& pod) override { return {read(pod), false}; }
  void score(PodState*, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int32_t> out) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) out[i] = left(nodes.name(rows[i]).str());
  }
  std::int32_t score_view(PodState*, const NodeTable&, const NodeView& view) const override {
    return left(view);
  }

  std::unique_ptr<PodState> prepare_deltas(const PodInfo& pod) override {
    auto state = read(pod);
    if (state->kind.empty()) return nullptr;
    return state;
  }
  std::span<const Row> delta_rows(PodState& state, const PodInfo&) override {
    auto& s = static_cast<State&>(state);
    s.rows.clear();
    for (const auto& [node, delta] : said()->deltas[s.kind])
      if (const Row row = nodes_.find(node); row != kNoRow) s.rows.push_back(row);
    std::sort(s.rows.begin(), s.rows.end());
    return s.rows;
  }
  std::uint64_t delta_version(const PodState& state, Row row) const override {
    return delta(state, row).version;
  }
  void apply(const PodState& state, NodeView& view) const override {
    ++said()->applied;
    const Delta& d = delta(state, view.row());
    for (const std::string& name : d.gone)
      for (const PodInfo* pod : nodes_.pods(view.row()))
        if (pod->pod->metadata.name == name) view.remove(*pod);
    for (const auto& [resource, amount] : d.more) view.use(resource, amount);
    for (const int port : d.freed) view.free({Symbol(), Symbol("TCP"), port});
    for (const int port : d.taken) view.take({Symbol(), Symbol("TCP"), port});
    if (d.cores != 0) view.slots().put(std::make_shared<Cores>(Cores{d.cores}));
  }

 private:
  struct Cores {
    int back;
  };
  struct State final : PodState {
    std::string kind;
    int cores = 0;
    std::vector<Row> rows;
  };
  std::unique_ptr<State> read(const PodInfo& pod) const {
    auto state = std::make_unique<State>();
    state->kind = label_of(*pod.pod, "kind");
    const std::string cores = label_of(*pod.pod, "cores");
    state->cores = cores.empty() ? 0 : std::stoi(cores);
    return state;
  }
  const Delta& delta(const PodState& state, Row row) const {
    return said()->deltas.at(static_cast<const State&>(state).kind).at(nodes_.name(row).str());
  }
  static int left(const std::string& node) { return 8 - said()->cores[node]; }
  int left(const NodeView& view) const {
    const Cores* cores = view.slots().find<Cores>();
    return left(nodes_.name(view.row()).str()) + (cores != nullptr ? cores->back : 0);
  }
  VerdictId judge(PodState* state, int left) const {
    return left < static_cast<State*>(state)->cores ? short_ : kPass;
  }

  NodeTable& nodes_;
  VerdictId short_;
};

/// The default profile with the plugin of that name, "Holds" or "Scripted".
struct Holding : World {
  explicit Holding(const char* name) : World(config(name), {}, table()) {}
  static PluginTable table() {
    static constexpr PluginEntry kHolds{.name = "Holds", .make = &make<Holds>};
    static constexpr PluginEntry kScripted{.name = "Scripted", .make = &make<Scripted>};
    static const std::vector<const PluginEntry*> all = [] {
      std::vector<const PluginEntry*> rows(plugin_table().begin(), plugin_table().end());
      rows.insert(rows.end(), {&kHolds, &kScripted});
      return rows;
    }();
    return all;
  }
  static KubeSchedulerConfiguration config(const char* name) {
    KubeSchedulerConfiguration config;
    config.profiles.emplace_back().plugins.ensure().multi_point.enabled.push_back({name, {}});
    return config;
  }
  ClassState& ask(const std::shared_ptr<const api::Pod>& pod) {
    return engine.evaluate(engine.profiles()[0], pod);
  }
  Row row(std::string_view node) const { return engine.nodes().find(node); }
  /// What a pod gets on each node: its score, or why not.
  std::map<std::string, std::string> answers(const std::shared_ptr<const api::Pod>& pod) {
    ClassState& state = ask(pod);
    std::map<std::string, std::string> all;
    for (Row row = 0; row < engine.nodes().rows(); ++row) {
      if (!engine.nodes().node(row)) continue;
      const VerdictId id = state.verdict(row);
      all[engine.nodes().name(row).str()] =
          id == kPass ? std::to_string(state.explain(row).total)
                      : fmt::format("{}", fmt::join(engine.context().verdicts[id].reasons, ", "));
      if (id == kPass && state.score(row) != state.explain(row).total)
        all[engine.nodes().name(row).str()] += fmt::format(", scored {}", state.score(row));
    }
    return all;
  }
};

}  // namespace koord::scheduling::test
