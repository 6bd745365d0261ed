// The noderesource controller: see node_resources.hpp.
#include "controllers/node_resources.hpp"

#include "koord/api/rules/koord_classes.hpp"

namespace koord::manager {
namespace {

constexpr std::array<ResourcePlugin, 2> kPlugins = {{
    {"MidResource", api::kMidCpu, api::kMidMemory, &mid_loan},
    {"BatchResource", api::kBatchCpu, api::kBatchMemory, &batch_loan},
}};

constexpr metrics::Metric kReconciled{.name = "slo_controller_node_resource_reconcile_count",
                                      .type = metrics::Type::counter,
                                      .help = "Writes of what nodes lend.",
                                      .labels = {"status", "reason"}};
constexpr metrics::Metric kRan{.name = "slo_controller_node_resource_run_plugin_status",
                               .type = metrics::Type::counter,
                               .help = "Runs of the plugins that work out what nodes lend.",
                               .labels = {"plugin", "status", "reason"}};
constexpr metrics::Metric kAllocatable{.name = "slo_controller_node_extended_resource_allocatable_internal",
                                       .type = metrics::Type::gauge,
                                       .help = "What a node lends as it was worked out last: cores, bytes.",
                                       .labels = {"node", "resource", "unit"},
                                       .max_series = 100'000};

}  // namespace

const metrics::Table NodeResources::kMetrics = {&kReconciled, &kRan, &kAllocatable};

std::span<const ResourcePlugin> resource_plugins() { return kPlugins; }

NodeResources::NodeResources(Parts parts)
    : parts_(std::move(parts)),
      reconciled_(parts_.registry.counters(kReconciled)),
      ran_(parts_.registry.counters(kRan)),
      allocatable_(parts_.registry.gauges(kAllocatable)),
      workers_(
          parts_.clock, parts_.log, "noderesource",
          [this](const std::string& node) { return reconcile(node); }, parts_.may_write) {}

void NodeResources::forget(std::string_view node) {
  written_.erase(std::string(node));
  for (const ResourcePlugin& plugin : kPlugins) {
    allocatable_.remove({node, plugin.cpu, "integer"});
    allocatable_.remove({node, plugin.memory, "byte"});
  }
}

std::vector<LoanOf> NodeResources::loans(const api::Node& node, const ColocationStrategy& strategy,
                                         std::optional<nanoseconds>& wait) {
  // A group of nodes, or one, cannot have colocation where the cluster has none.
  const bool enabled =
      parts_.config.colocation().cluster.enable.value_or(false) && strategy.enable.value_or(false);
  std::vector<LoanOf> all;
  all.reserve(parts_.plugins.size());
  for (const ResourcePlugin* plugin : parts_.plugins) all.push_back({plugin->cpu, plugin->memory, {}});
  if (!enabled) return all;
  if (const auto wrong = invalid(strategy)) {  // by the node's own annotation
    parts_.log.v(4, "a node lends nothing", kv("node", node.metadata.name), kv("reason", *wrong));
    return all;
  }
  const auto metric = parts_.metrics.get("", node.metadata.name);
  const auto pods = parts_.pods.list_by("node", node.metadata.name);
  const NodeView view{node, pods, metric.get(), strategy, api::Time(parts_.clock.now())};
  if (const auto why = stale(view)) {
    parts_.log.v(4, "a node lends nothing", kv("node", node.metadata.name), kv("reason", *why));
    return all;
  }
  wait = metric->status.update_time->at + fresh_for(strategy) - view.now.at + std::chrono::seconds(1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].loan = parts_.plugins[i]->loan(view);
    ran_.with({parts_.plugins[i]->name, "succeeded", "ResourceCalculate"}).inc();
  }
  return all;
}

void NodeResources::show(const std::string& node, std::span<const LoanOf> loans) {
  for (const LoanOf& one : loans) {
    if (!one.loan) continue;
    allocatable_.with({node, one.cpu, "integer"}).set(static_cast<double>(one.loan->cpu.value()) / 1000);
    allocatable_.with({node, one.memory, "byte"}).set(static_cast<double>(one.loan->memory.value()));
  }
}

Task<Result<>> NodeResources::reconcile(std::string name) {
  if (!parts_.config.colocation_available()) co_return Result<>();
  const auto node = parts_.nodes.get("", name);
  if (!node) {
    forget(name);
    co_return Result<>();
  }
  const ColocationStrategy strategy = colocation_of(parts_.config.colocation(), *node);
  std::optional<nanoseconds> wait;
  const std::vector<LoanOf> lent = loans(*node, strategy, wait);
  show(name, lent);
  if (wait) workers_.add_after(name, *wait);
  const api::Node after = with_loans(*node, lent);
  if (same_loans(*node, after)) co_return Result<>();
  // Small changes are gathered: written when the last write is long enough ago.
  const auto written = written_.find(name);
  constexpr std::int64_t kDay = 86'400;
  const nanoseconds gather = std::chrono::seconds(
      std::clamp<std::int64_t>(strategy.update_time_threshold_seconds.value_or(300), 0, kDay));
  if (written != written_.end() &&
      !worth_writing(*node, after, lent, strategy.resource_diff_threshold.value_or(0.1))) {
    const nanoseconds since = parts_.clock.mono() - written->second;
    if (since < gather) {
      workers_.add_after(name, gather - since);
      co_return Result<>();
    }
  }
  const Result<> done = co_await parts_.client.patch(*node, after, "status");
  if (!done && done.error().code() == Code::not_found) co_return Result<>();
  if (done) written_[name] = parts_.clock.mono();
  reconciled_.with({done ? "succeeded" : "failed", "updateNodeStatus"}).inc();
  co_return done;
}

}  // namespace koord::manager
