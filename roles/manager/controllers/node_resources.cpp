// The noderesource controller: see node_resources.hpp.
#include "controllers/node_resources.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/koordinator/classes.hpp"

namespace koord::manager {
namespace {

constexpr metrics::Metric kReconciled{.name = "slo_controller_node_resource_reconcile_count",
                                      .type = metrics::Type::counter,
                                      .help = "Writes of nodes and of the zones of their topologies.",
                                      .labels = {"status", "reason"}};
constexpr metrics::Metric kRan{.name = "slo_controller_node_resource_run_plugin_status",
                               .type = metrics::Type::counter,
                               .help = "Runs of the plugins that work out what nodes have.",
                               .labels = {"plugin", "status", "reason"}};
constexpr metrics::Metric kAllocatable{.name = "slo_controller_node_extended_resource_allocatable_internal",
                                       .type = metrics::Type::gauge,
                                       .help = "What a node lends as it was worked out last: cores, bytes.",
                                       .labels = {"node", "resource", "unit"},
                                       .max_series = 100'000};
constexpr metrics::Metric kLevel{.name = "koord_manager_node_overcommit_percent",
                                 .type = metrics::Type::gauge,
                                 .help = "What an abnormal node lends of what it could, percent.",
                                 .labels = {"node"},
                                 .max_series = 100'000};

constexpr std::string_view kTopologyReason = "updateNodeResourceTopology", kStatusReason = "updateNodeStatus",
                           kMetaReason = "patchNodeMeta";

}  // namespace

const metrics::Table NodeResources::kMetrics = {&kReconciled, &kRan, &kAllocatable, &kLevel};

NodeResources::NodeResources(Parts parts)
    : parts_(std::move(parts)),
      reconciled_(parts_.registry.counters(kReconciled)),
      ran_(parts_.registry.counters(kRan)),
      allocatable_(parts_.registry.gauges(kAllocatable)),
      level_(parts_.registry.gauges(kLevel)),
      workers_(
          parts_.clock, parts_.log, "noderesource",
          [this](const std::string& node) { return reconcile(node); }, parts_.may_write) {}

void NodeResources::forget(const std::string& node) {
  states_.erase(node);
  show(node, {}, false);
}

void NodeResources::evicted(std::string_view node) {
  const auto state = states_.find(std::string(node));
  if (state == states_.end()) return;
  state->second.evicted = true;
  workers_.add(node);
}

void NodeResources::told(bool succeeded, std::string_view reason) const {
  ControllerCounts::count(reconciled_, succeeded, reason);
}

void NodeResources::judge(const api::Node& node, const NodeView& view, State& state) {
  const auto old = stale(view);
  const bool grew_stale = state.fresh && old.has_value(), evicted = state.evicted;
  state.fresh = !old;
  state.evicted = false;
  state.level = state.level.recovered(view.strategy, view.now);
  if ((!grew_stale && !evicted) || !lowers_level(view.strategy) || !view.strategy.enable.value_or(false))
    return;
  const OvercommitLevel lower = state.level.lowered(view.strategy, view.now);
  if (lower.percent == state.level.percent) return;
  state.level = lower;
  parts_.warn(node, "OvercommitLowered",
              fmt::format("the node lends {}% of what it could: {}", lower.percent,
                          grew_stale ? *old : "best-effort pods were evicted"));
}

void NodeResources::show(const std::string& node, const NodePlan& plan, bool judged) {
  for (const auto& [cpu, memory] :
       {std::pair{api::kMidCpu, api::kMidMemory}, std::pair{api::kBatchCpu, api::kBatchMemory}}) {
    const auto lent = std::ranges::find(plan.overcommit, cpu, &OvercommitResource::cpu);
    if (lent == plan.overcommit.end() || !lent->amount) {
      allocatable_.remove({node, cpu, "integer"});
      allocatable_.remove({node, memory, "byte"});
      continue;
    }
    allocatable_.with({node, cpu, "integer"}).set(static_cast<double>(lent->amount->cpu.value()) / 1000);
    allocatable_.with({node, memory, "byte"}).set(static_cast<double>(lent->amount->memory.value()));
  }
  if (judged)
    level_.with({node}).set(static_cast<double>(plan.level_percent));
  else
    level_.remove({node});
}

void NodeResources::count(const std::string& node, const NodePlan& plan) const {
  for (const PluginRun& run : plan.runs) {
    ran_.with({run.plugin, run.error.empty() ? "succeeded" : "failed", run.stage}).inc();
    if (!run.error.empty())
      parts_.log.v(4, "a resource plugin could not compute a node's resources", kv("plugin", run.plugin),
                   kv("node", node), kv("error", run.error));
  }
  if (!plan.why_not.empty())
    parts_.log.v(4, "no batch or mid resources are computed for a node", kv("node", node),
                 kv("reason", plan.why_not));
}

bool NodeResources::gathers(const std::string& node, bool has_written, MonoTime written,
                            const ColocationStrategy& strategy) {
  constexpr std::int64_t kDay = 86'400;
  const nanoseconds gather = std::chrono::seconds(
      std::clamp<std::int64_t>(strategy.update_time_threshold_seconds.value_or(300), 0, kDay));
  const nanoseconds since = parts_.clock.mono() - written;
  if (!has_written || since >= gather) return false;
  workers_.add_after(node, gather - since);
  return true;
}

Task<Result<>> NodeResources::write_zones(const api::NodeResourceTopology& topology, const NodePlan& plan,
                                          const ColocationStrategy& strategy) {
  const std::string& name = topology.metadata.name;
  const State& state = states_[name];
  auto after =
      with_zone_amounts(topology, *plan.zones, plan.ratio, strategy.resource_diff_threshold.value_or(0.1));
  if (!after) {
    after = with_zone_amounts(topology, *plan.zones, plan.ratio, 0);
    if (!after || gathers(name, state.has_written_zones, state.zones_written, strategy)) co_return Result<>();
  }
  if (!api::diff(topology, *after)) co_return Result<>();
  // The zones are written as one: not over what the node agent wrote meanwhile, as the patch says.
  const auto done = co_await parts_.client.patch(topology, *after);
  ran_.with({"BatchResource", done ? "succeeded" : "failed", "NodePreUpdate"}).inc();
  told(done.has_value(), kTopologyReason);
  if (!done) co_return done.error();
  State& now = states_[name];
  now.zones_written = parts_.clock.mono();
  now.has_written_zones = true;
  co_return Result<>();
}

Task<Result<>> NodeResources::write_node(const api::Node& node, const NodePlan& plan,
                                         const ColocationStrategy& strategy) {
  const std::string& name = node.metadata.name;
  const ResourcePluginTable table = parts_.plugins.table;
  const NodeChanges changes = changes_of(node, plan, strategy.resource_diff_threshold.value_or(0.1), table);
  const State& state = states_[name];
  Result<> status, meta;
  // Small changes are gathered: written when the last write is long enough ago.
  if (changes.status && (changes.status_now || !gathers(name, state.has_written, state.written, strategy))) {
    status = co_await parts_.client.patch(node, with_status(node, plan, table), "status");
    told(status.has_value(), kStatusReason);
    if (status) {
      State& now = states_[name];
      now.written = parts_.clock.mono();
      now.has_written = true;
    }
  }
  if (changes.meta) {
    meta = co_await parts_.client.patch(node, with_meta(node, plan, table));
    told(meta.has_value(), kMetaReason);
  }
  co_return status ? meta : status;
}

Task<Result<>> NodeResources::reconcile(std::string name) {
  if (!parts_.config.colocation_available()) co_return Result<>();
  const auto node = parts_.nodes.get("", name);
  if (!node) {
    forget(name);
    co_return Result<>();
  }
  const auto metric = parts_.metrics.get("", name);
  const auto topology = parts_.topologies.get("", name);
  const auto device = parts_.devices.get("", name);
  const auto pods = parts_.pods.list_by("node", name);
  const ColocationStrategy strategy = colocation_of(parts_.config.colocation(), *node);
  const api::Time now(parts_.clock.now());
  const auto [state, is_new] = states_.try_emplace(name);
  if (is_new) state->second.level = OvercommitLevel::of(*node);
  judge(*node, {*node, pods, metric.get(), strategy, now}, state->second);
  const NodeFacts facts{.node = *node,
                        .pods = pods,
                        .metric = metric.get(),
                        .topology = topology.get(),
                        .device = device.get(),
                        .topologies_known = parts_.topologies.listed(),
                        .devices_known = parts_.devices.listed(),
                        .now = now,
                        .level = state->second.level};
  const NodePlan plan = plan_node(facts, parts_.config, strategy, parts_.plugins);
  count(name, plan);
  show(name, plan, lowers_level(strategy));
  if (plan.wait) workers_.add_after(name, *plan.wait);
  Result<> zones;
  if (topology && plan.zones) zones = co_await write_zones(*topology, plan, strategy);
  Result<> written = co_await write_node(*node, plan, strategy);
  if (!written && written.error().code() != Code::not_found) co_return written;
  if (!zones && zones.error().code() != Code::not_found) co_return zones;
  co_return Result<>();
}

}  // namespace koord::manager
