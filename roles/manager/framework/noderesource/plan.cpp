// All plugins of noderesource: see plan.hpp.
#include "framework/noderesource/plan.hpp"

#include <algorithm>

#include "framework/noderesource/cpu_memory.hpp"
#include "framework/noderesource/node_update.hpp"

namespace koord::manager {
namespace {

std::string_view annotation(const api::Node& node, std::string_view name) {
  return api::value_or(node.metadata.annotations, name);
}

bool differ(const api::Node& a, const api::Node& b, std::string_view name) {
  return annotation(a, name) != annotation(b, name);
}

std::string why_not(const NodeView& view, bool enabled) {
  if (!enabled) return "colocation is off";
  if (auto wrong = invalid(view.strategy)) return *std::move(wrong);  // by the node's own annotation
  if (auto old = stale(view)) return *std::move(old);
  return {};
}

std::string_view to_string(PluginStage stage) {
  return stage == PluginStage::reset ? "ResourceReset" : "ResourceCalculate";
}

}  // namespace

OvercommitAmount NodeDraft::lowered(const OvercommitAmount& amount) const {
  if (level.percent >= 100) return amount;
  const auto part = [this](const api::Quantity& all) {
    return api::Quantity::from_int(
        cut(static_cast<double>(all.value()) * static_cast<double>(level.percent) / 100), all.format());
  };
  return {part(amount.cpu), part(amount.memory)};
}

ResourcePlugins choose_plugins(ResourcePluginTable table, const FeatureGates& gates,
                               const std::function<bool(std::string_view)>& is_on) {
  ResourcePlugins chosen{table, {}};
  for (const ResourcePlugin* plugin : table)
    if (is_on(plugin->name)) chosen.on.push_back({plugin, plugin->make(gates)});
  return chosen;
}

NodePlan plan_node(const NodeFacts& facts, const SloConfig& config, const ColocationStrategy& strategy,
                   const ResourcePlugins& plugins) {
  NodePlan plan;
  plan.after = facts.node;
  // A group of nodes, or one, cannot have colocation where the cluster has none.
  const bool enabled = config.colocation().cluster.enable.value_or(false) && strategy.enable.value_or(false);
  NodeDraft draft{.facts = facts,
                  .config = config,
                  .view = {facts.node, facts.pods, facts.metric, strategy, facts.now},
                  .level = lowers_level(strategy) ? facts.level : OvercommitLevel(),
                  .enabled = enabled,
                  .plan = plan};
  // The level of a rule that is off (again) goes.
  set_annotation(plan.after, kLevelAnnotation,
                 draft.level.percent < 100 ? draft.level.to_string() : std::string());
  plan.level_percent = draft.level.percent;
  plan.why_not = why_not(draft.view, enabled);
  if (draft.lends()) {
    plan.wait =
        facts.metric->status.update_time->at + fresh_for(strategy) - facts.now.at + std::chrono::seconds(1);
    if (const auto rises = draft.level.rises_in(strategy, facts.now))
      plan.wait = std::min<std::chrono::nanoseconds>(*plan.wait, *rises);
  }
  for (const ResourcePlugins::On& each : plugins.on) {
    const Result<PluginStage> stage = each.run(draft);
    if (!stage)
      plan.runs.push_back({each.plugin->name, to_string(draft.stage()), stage.error().message()});
    else if (*stage != PluginStage::none)
      plan.runs.push_back({each.plugin->name, to_string(*stage), {}});
  }
  return plan;
}

NodeChanges changes_of(const api::Node& before, const NodePlan& plan, double share,
                       ResourcePluginTable table) {
  const api::Node& after = plan.after;
  NodeChanges changes;
  changes.status = before.status.allocatable != after.status.allocatable ||
                   before.status.capacity != after.status.capacity;
  changes.meta = before.metadata.labels != after.metadata.labels || differ(before, after, kLevelAnnotation);
  const auto differs = [&](std::string_view name) { return differ(before, after, name); };
  for (const ResourcePlugin* plugin : table) {
    changes.status |= std::ranges::any_of(plugin->status_annotations, differs);
    changes.meta |= std::ranges::any_of(plugin->annotations, differs);
    changes.status_now |= std::ranges::any_of(plugin->resources, [&](std::string_view name) {
      return is_worth(before.status.allocatable, after.status.allocatable, name,
                      plugin->of_devices ? 0 : share);
    });
  }
  return changes;
}

api::Node with_status(const api::Node& node, const NodePlan& plan, ResourcePluginTable table) {
  api::Node after = node;
  after.status = plan.after.status;
  for (const ResourcePlugin* plugin : table)
    for (const std::string_view name : plugin->status_annotations)
      set_annotation(after, name, annotation(plan.after, name));
  return after;
}

api::Node with_meta(const api::Node& node, const NodePlan& plan, ResourcePluginTable table) {
  api::Node after = node;
  after.metadata.labels = plan.after.metadata.labels;
  set_annotation(after, kLevelAnnotation, annotation(plan.after, kLevelAnnotation));
  for (const ResourcePlugin* plugin : table)
    for (const std::string_view name : plugin->annotations)
      set_annotation(after, name, annotation(plan.after, name));
  return after;
}

}  // namespace koord::manager
