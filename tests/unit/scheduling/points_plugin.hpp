// A plugin at all of Koordinator's points of the cycle, "Points", that does there what a test says.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bookings.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"
#include "world.hpp"

namespace koord::scheduling::test {

/// What the test says and the plugin notes; one test at a time.
struct PointsSaid {
  /// By point; success if nothing is said.
  std::map<std::string, Status> says;
  std::function<std::shared_ptr<const api::Pod>(const PodInfo&)> in_place;
  std::optional<std::vector<std::string>> only_nodes;
  std::string one_node;  // empty: it has no say
  std::deque<std::shared_ptr<const api::Pod>> next;
  std::optional<std::int64_t> takes_cpu;
  PostFilterResult post_filter{{StatusCode::unschedulable, {}}, {}, {}};
  bool gates = false;
  /// The points, and who was told of pods: in order.
  std::vector<std::string> asked;
  std::string last_status;  // that AfterPostFilter was told
  CycleControl* cycle = nullptr;

  static PointsSaid*& now() {
    static PointsSaid* said = nullptr;
    return said;
  }
  std::string asked_text() {
    std::string text = fmt::format("{}", fmt::join(asked, " "));
    asked.clear();
    return text;
  }
};

class PointsPlugin final : public Plugin,
                           public NextPodPlugin,
                           public PreEnqueuePlugin,
                           public PreFilterTransformer,
                           public FindOneNodePlugin,
                           public PostFilterPlugin,
                           public PostFilterTransformer,
                           public ScorePlugin,
                           public ScoreTransformer,
                           public ReservationNominatorPlugin,
                           public ResizePodPlugin,
                           public ReservePlugin,
                           public PermitPlugin,
                           public PreBindPlugin,
                           public PreBindReservationPlugin,
                           public JobPlugin,
                           public EventPlugin,
                           public ForgetPlugin {
 public:
  explicit PointsPlugin(const PluginContext& context) { said().cycle = &context.cycle; }
  bool sign(const PodInfo&, Signature&) const override { return true; }
  std::shared_ptr<const api::Pod> next_pod() override {
    said().asked.emplace_back("NextPod");
    if (said().next.empty()) return nullptr;
    auto pod = said().next.front();
    said().next.pop_front();
    return pod;
  }
  bool may_enqueue(const PodInfo&) const override { return !said().gates; }
  std::string why_kept_out(const PodInfo&) const override { return {}; }
  Before before_pre_filter(const PodInfo& pod) override {
    Before before{ask("BeforePreFilter")};
    if (said().in_place) before.in_place = said().in_place(pod);
    return before;
  }
  After after_pre_filter(const PodInfo&) override { return {ask("AfterPreFilter"), said().only_nodes}; }
  Found find_one_node(const PodInfo&) override {
    Status status = ask("FindOneNodePlugin");
    if (status.ok() && said().one_node.empty()) return {{StatusCode::skip, {}}, {}};
    return {std::move(status), said().one_node == "nobody" ? "" : said().one_node};
  }
  PostFilterResult post_filter(PodAttempt&, const Diagnosis&) override {
    said().asked.emplace_back("PostFilter");
    return said().post_filter;
  }
  void after_post_filter(const PodAttempt& attempt, const Diagnosis& diagnosis,
                         const Status& status) override {
    said().asked.emplace_back("AfterPostFilter");
    said().last_status = fmt::format("{} of {} nodes: {} {}", attempt.pod.pod->metadata.name, diagnosis.nodes,
                                     label(status.code), status.message);
  }
  Depends score_depends() const override { return Depends::node; }
  ScorePlugin::Prepared prepare_score(const PodInfo&) override { return {nullptr, true}; }
  void score(PodState*, const NodeTable&, std::span<const Row>, std::span<std::int32_t>) const override {}
  Status before_score(const PodInfo&, std::span<const Row> feasible) override {
    said().asked.push_back(fmt::format("BeforeScore:{}", fmt::join(feasible, ",")));
    return of("BeforeScore");
  }
  Status nominate_reservation(PodAttempt& attempt) override {
    said().asked.push_back(fmt::format("Nominate:{}", attempt.node.view()));
    return of("Nominate");
  }
  Status resize_pod(PodAttempt&, Requests& takes) override {
    if (said().takes_cpu) takes.cpu = *said().takes_cpu;
    return ask("ResizePod");
  }
  Status reserve(PodAttempt&) override { return ask("Reserve"); }
  void unreserve(PodAttempt&) override { said().asked.emplace_back("Unreserve"); }
  Answer permit(PodAttempt&) override { return {ask("Permit"), std::chrono::minutes(1)}; }
  std::shared_ptr<PreBindWork> pre_bind(PodAttempt&) override {
    said().asked.emplace_back("PreBind");
    return nullptr;
  }
  void change_pod(PodAttempt&, PodChanges& changes) override { changes.labels["as"] = "pod"; }
  std::shared_ptr<PreBindWork> pre_bind_reservation(PodAttempt&) override {
    said().asked.emplace_back("PreBindReservation");
    return nullptr;
  }
  void change_reservation(PodAttempt&, PodChanges& changes) override { changes.labels["as"] = "object"; }
  Symbol job_of(const PodInfo& pod) const override {
    return Symbol(api::value_or(pod.pod->metadata.labels, "job"));
  }
  EventMask events() const override { return EventMask::all(); }
  bool worth_retrying(const PodInfo&, const ClusterEvent&) const override { return true; }
  void forgotten(const PodInfo& pod, const Symbol& node) override {
    said().asked.push_back(fmt::format("forgotten:{}@{}", pod.pod->metadata.name, node.view()));
  }
  void gone(const PodInfo& pod) override { said().asked.push_back("gone:" + pod.pod->metadata.name); }

 private:
  static PointsSaid& said() { return *PointsSaid::now(); }
  static Status of(const char* point) {
    const auto it = said().says.find(point);
    return it != said().says.end() ? it->second : Status{};
  }
  static Status ask(const char* point) {
    said().asked.emplace_back(point);
    return of(point);
  }
};

inline constexpr PluginEntry kPoints{.name = "Points", .make = &make<PointsPlugin>};

inline PluginTable points_table() {
  static const std::vector<const PluginEntry*> kTable = [] {
    std::vector<const PluginEntry*> all(plugin_table().begin(), plugin_table().end());
    all.insert(all.end(), {&kPoints, &kBooker});
    return all;
  }();
  return kTable;
}

inline KubeSchedulerConfiguration points_config() {
  KubeSchedulerConfiguration c;
  Plugins& plugins = c.profiles.emplace_back().plugins.emplace();
  plugins.multi_point.enabled = {{"Points", {}}, {"Booker", {}}, {"DefaultPreBind", {}}};
  plugins.post_filter.disabled = {{"DefaultPreemption", {}}, {"DynamicResources", {}}};
  return c;
}

/// The gates that the plugin's points have, on.
inline const FeatureGates& points_gates() {
  static constexpr FeatureGate kGates[] = {
      {.name = "ResizePod", .enabled = true, .stage = Stage::alpha, .help = ""}};
  static const FeatureGates gates{kGates};
  return gates;
}

/// Nodes a, b and c of four CPUs each, in this order of rows.
struct PointsWorld : PointsSaid, World {
  explicit PointsWorld(EngineOptions options = {}, const KubeSchedulerConfiguration& with = points_config(),
                       const FeatureGates& gates = points_gates())
      : PointsSaid(), World((now() = this, with), options, points_table(), gates) {
    for (const char* name : {"a", "b", "c"}) engine.put_node(make_node(name));
  }
  ~PointsWorld() { now() = nullptr; }
  PointsWorld(const PointsWorld&) = delete;
  PointsWorld& operator=(const PointsWorld&) = delete;

  Decision put(const std::shared_ptr<const api::Pod>& pod) {
    engine.put_pod(pod);
    return one();
  }
  std::int64_t used(const char* node) { return engine.nodes().used(kCpu, engine.nodes().find(node)); }
};

}  // namespace koord::scheduling::test
