// What a pass of the descheduler costs: the snapshot, and LowNodeLoad on a cluster whose tenth node uses too
// much and whose other nodes have room, with the pods' room checked (nodeFit); nobody is really evicted. Once
// with BasicNodeFit, once with the scheduler's filters, and once more where pods are spread over zones, so
// that each is taken out when it is asked about; of these also what it costs to bring the cluster into the
// engine, and to tell it before each pass what a minute changes: all NodeMetrics and a hundredth of the pods.
// usage: descheduler_bench [NODES [PASSES [basic|scheduler|spread]]]
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "fitting/scheduler_model.hpp"
#include "fitting/scheduler_node_fit.hpp"
#include "framework/node_fit.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/log.hpp"
#include "koord/scheduling/engine/engine.hpp"
#include "passes/passes.hpp"
#include "support/run_task.hpp"

namespace {

using namespace koord;
using namespace koord::descheduler;

constexpr int kPodsPerNode = 20;
constexpr std::string_view kStandIn = "StandIn";

double cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Lets all go, and pretends.
class StandIn final : public Evictor {
 public:
  std::string why_not(const api::Pod&) override { return {}; }
  Task<Result<>> evict(std::shared_ptr<const api::Pod>, const EvictOptions&) override {
    co_return Result<>();
  }
};

const PluginEntry kEvictor{.name = kStandIn, .make_evictor = [](const Args&, PluginContext&) {
                             return Result<std::unique_ptr<Evictor>>(std::make_unique<StandIn>());
                           }};

api::ResourceList amounts(std::int64_t millis, std::int64_t mebibytes) {
  return {{"cpu", api::Quantity::must(fmt::format("{}m", millis))},
          {"memory", api::Quantity::must(fmt::format("{}Mi", mebibytes))}};
}

/// As evenly over zones as may be, and in no way else.
void keep_spread(api::Pod& pod, const std::string& app) {
  pod.metadata.labels["app"] = Symbol(app);
  api::TopologySpreadConstraint& constraint = pod.spec.topology_spread_constraints.emplace_back();
  constraint.max_skew = 5;
  constraint.topology_key = "zone";
  constraint.when_unsatisfiable = "DoNotSchedule";
  constraint.label_selector.ensure().match_labels["app"] = Symbol(app);
}

/// In no particular order, as informers give them. `spread`: pods of a hundred workloads, each over three
/// zones.
SnapshotObjects cluster(int nodes, WallTime now, bool spread) {
  SnapshotObjects objects;
  for (int i = 0; i < nodes; ++i) {
    const int at = static_cast<int>((std::int64_t{i} * 7919) % nodes);
    const std::string name = fmt::format("node-{:05}", at);
    auto node = std::make_shared<api::Node>();
    node->metadata.name = name;
    node->status.allocatable = amounts(32'000, 131'072);
    node->metadata.labels["zone"] = Symbol(fmt::format("zone-{}", at % 3));
    node->status.allocatable["pods"] = api::Quantity::must("110");
    auto metric = std::make_shared<api::NodeMetric>();
    metric->metadata.name = name;
    metric->status.update_time = api::Time(now);
    const bool hot = at % 10 == 0;
    metric->status.node_metric.ensure().system_usage.resources = amounts(500, 1024);
    for (int j = 0; j < kPodsPerNode; ++j) {
      auto pod = std::make_shared<api::Pod>();
      pod->metadata.name = fmt::format("web-{}-{}", at, j);
      pod->metadata.namespace_ = Symbol("default");
      pod->metadata.uid = pod->metadata.name;
      pod->spec.node_name = Symbol(name);
      pod->spec.containers.emplace_back().resources.requests = amounts(500, 2048);
      pod->status.phase = Symbol("Running");
      if (spread) keep_spread(*pod, fmt::format("web-{}", (at / 3 + j * 7) % 100));
      auto& used = metric->status.pods_metric.emplace_back();
      used.name = pod->metadata.name;
      used.namespace_ = pod->metadata.namespace_;
      used.pod_usage.resources = hot ? amounts(1300 + j, 4096) : amounts(300 + j, 1024);
      objects.pods.push_back(std::move(pod));
    }
    objects.nodes.push_back(std::move(node));
    objects.node_metrics.push_back(std::move(metric));
  }
  return objects;
}

DeschedulerConfiguration configuration(PluginTable table) {
  DeschedulerConfiguration config;
  ProfileConfig& profile = config.profiles.emplace_back();
  profile.name = "bench";
  Plugins& plugins = profile.plugins.ensure();
  plugins.balance.enabled = {{"LowNodeLoad"}};
  plugins.evict.disabled = plugins.filter.disabled = {{"*"}};
  plugins.evict.enabled = plugins.filter.enabled = {{std::string(kStandIn)}};
  profile.plugin_config.push_back(
      {"LowNodeLoad",
       api::RawJson{R"({"lowThresholds":{"cpu":45,"memory":55},"highThresholds":{"cpu":75,"memory":80},)"
                    R"("anomalyCondition":{"consecutiveAbnormalities":1,"consecutiveNormalities":1}})"},
       nullptr});
  const Result<> done = complete(config, table);
  const Result<> valid = done ? validate(config, table) : done;
  if (!valid) {
    fmt::print("{}\n", valid.error().message());
    std::exit(1);
  }
  return config;
}

double median(std::vector<double> of) {
  std::ranges::sort(of);
  return of[of.size() / 2];
}

/// What informers deliver within a minute, as new objects.
void change(scheduling::Engine& engine, const SnapshotObjects& objects, WallTime at) {
  for (const auto& metric : objects.node_metrics) {
    auto now = std::make_shared<api::NodeMetric>(*metric);
    now->status.update_time = api::Time(at);
    engine.put_object(std::shared_ptr<const api::NodeMetric>(std::move(now)));
  }
  for (std::size_t i = 0; i < objects.pods.size(); i += 100) {
    auto now = std::make_shared<api::Pod>(*objects.pods[i]);
    now->metadata.labels["seen"] = "again";
    engine.put_pod(std::move(now));
    engine.put_pod(objects.pods[i]);
  }
}

enum class Case { basic, scheduler, spread };

int measure(int nodes, int passes, Case which) {
  const bool basic = which == Case::basic;
  constexpr std::string_view kNames[] = {"basic", "scheduler", "scheduler, pods are spread"};
  std::vector<const PluginEntry*> table(plugin_table().begin(), plugin_table().end());
  table.push_back(&kEvictor);
  const DeschedulerConfiguration config = configuration(table);
  koord::test::Loop loop;
  CapturedLog captured;
  const Logger log(captured, loop.clock);
  const FeatureGates gates;
  metrics::Registry registry;
  const std::unique_ptr<SchedulerModel> model = basic ? nullptr : *SchedulerModel::make(loop.clock, {});
  Passes all({.clock = loop.clock,
              .log = log,
              .metrics = registry,
              .may_write = [] { return true; },
              .node_fit = [&](const Snapshot& snapshot) -> std::unique_ptr<NodeFit> {
                if (model) return std::make_unique<SchedulerNodeFit>(*model, snapshot);
                return std::make_unique<BasicNodeFit>(snapshot);
              }});
  auto profiles = make_profiles(config, table, [&](const ProfileConfig&) {
    return PluginContext{.profile = {}, .clock = loop.clock, .log = log, .gates = gates};
  });
  if (!profiles) return 1;
  all.set_profiles(std::move(*profiles));
  const SnapshotObjects objects = cluster(nodes, loop.clock.now(), which == Case::spread);

  const double began_at = cpu_seconds();
  if (model) {
    for (const auto& node : objects.nodes) model->engine().put_node(node);
    for (const PodPtr& pod : objects.pods) model->engine().put_pod(pod);
    for (const auto& metric : objects.node_metrics) model->engine().put_object(metric);
  }
  const double filled = (cpu_seconds() - began_at) * 1e3;
  std::vector<double> snapshots, changes, whole;
  for (int i = 0; i < passes; ++i) {
    const double began = cpu_seconds();
    { const Snapshot snapshot(objects, loop.clock.now()); }
    const double made = cpu_seconds();
    if (model) change(model->engine(), objects, loop.clock.now());
    const double told = cpu_seconds();
    koord::test::run_task(loop, all.run(objects));
    snapshots.push_back((made - began) * 1e3);
    changes.push_back((told - made) * 1e3);
    whole.push_back((cpu_seconds() - told) * 1e3);
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const PassReport& last = all.reports().passes.front();
  fmt::print("| {} | {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {} | {} |\n",
             kNames[static_cast<int>(which)], nodes, objects.pods.size(), median(snapshots), filled,
             median(changes), whole.front(), median(whole), last.gone, usage.ru_maxrss / 1024);
  return last.gone > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 5000, passes = argc > 2 ? std::atoi(argv[2]) : 10;
  fmt::print(
      "| node fit | nodes | pods | a snapshot, ms | the engine filled, ms | told of a minute, ms | a pass, "
      "the "
      "first, ms | a pass, ms | pods chosen | MiB |\n|---|---|---|---|---|---|---|---|---|---|\n");
  std::fflush(stdout);
  // Each in a process of its own, whose memory is its own.
  const std::string_view only = argc > 3 ? argv[3] : "";
  constexpr std::pair<std::string_view, Case> kCases[] = {
      {"basic", Case::basic}, {"scheduler", Case::scheduler}, {"spread", Case::spread}};
  for (const auto& [name, which] : kCases) {
    if (!only.empty() && only != name) continue;
    const pid_t child = ::fork();
    if (child == 0) return measure(nodes, passes, which);
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  return 0;
}
