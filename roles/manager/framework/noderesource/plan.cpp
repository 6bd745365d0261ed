// All plugins of noderesource: see plan.hpp.
#include "framework/noderesource/plan.hpp"

#include <algorithm>
#include <array>

#include "framework/noderesource/cpu_memory.hpp"
#include "framework/noderesource/devices.hpp"
#include "framework/noderesource/normalization.hpp"
#include "koord/api/rules/koord_classes.hpp"

namespace koord::manager {
namespace {

constexpr std::string_view kMid = "MidResource", kBatch = "BatchResource",
                           kNormalization = "CPUNormalization", kAmplification = "ResourceAmplification",
                           kGpu = "GPUDeviceResource", kRdma = "RDMADeviceResource";
constexpr std::array kMetaAnnotations = {kNormalizationRatio, kAmplificationRatio, kLevelAnnotation};
constexpr std::string_view kReset = "ResourceReset", kCalculate = "ResourceCalculate";

void set_annotation(api::Node& node, std::string_view name, std::string_view value) {
  if (value.empty())
    node.metadata.annotations.erase(name);
  else
    node.metadata.annotations[name] = Symbol(value);
}

class Planner {
 public:
  Planner(const NodeFacts& facts, const SloConfig& config, const ColocationStrategy& strategy,
          const ResourcePlugins& plugins)
      : facts_(facts), config_(config), strategy_(strategy), plugins_(plugins) {
    plan_.after = facts.node;
  }

  NodePlan run() {
    // A group of nodes, or one, cannot have colocation where the cluster has none.
    enabled_ = config_.colocation().cluster.enable.value_or(false) && strategy_.enable.value_or(false);
    stage_ = enabled_ ? kCalculate : kReset;
    stand();
    normalize();
    amplify();
    lend();
    set_overcommit(plan_.after, plan_.overcommit, plan_.ratio);
    devices();
    return std::move(plan_);
  }

 private:
  void ran(std::string_view plugin, std::string error = {}) {
    plan_.runs.push_back({plugin, stage_, std::move(error)});
  }
  std::string_view annotation(std::string_view name) const {
    return api::value_or(facts_.node.metadata.annotations, name);
  }

  /// A level of a rule that is off (again) goes.
  void stand() {
    level_ = lowers_level(strategy_) ? facts_.level : OvercommitLevel();
    set_annotation(plan_.after, kLevelAnnotation, level_.percent < 100 ? level_.to_string() : std::string());
    plan_.level_percent = level_.percent;
  }

  void normalize() {
    const auto written = read_ratio(annotation(kNormalizationRatio));
    if (written) cpus_ = *written;
    if (!plugins_.normalization) return;
    if (!enabled_) return ran(kNormalization);
    // Until the topologies are known the ratio is what it was.
    if (facts_.topology == nullptr && !facts_.topologies_known) {
      plan_.ratio = cpus_.value_or(1);
      return;
    }
    const auto ratio = normalization_ratio(config_.normalization().of(facts_.node.metadata.labels),
                                           facts_.node, facts_.topology);
    if (!ratio) return ran(kNormalization, ratio.error().message());
    plan_.ratio = read_ratio(*ratio)->value_or(1);
    if (differs(annotation(kNormalizationRatio), *ratio)) {
      set_annotation(plan_.after, kNormalizationRatio, *ratio);
      cpus_ = plan_.ratio;
    }
    ran(kNormalization);
  }

  void amplify() {
    if (!plugins_.amplification) return;
    if (!enabled_) {
      set_annotation(plan_.after, kAmplificationRatio, {});
      return ran(kAmplification);
    }
    auto ratios = amplification_ratios(config_.amplification().of(facts_.node.metadata.labels), cpus_);
    // Upstream drops the annotation then, and with it resources that pods have already.
    if (!ratios) return ran(kAmplification, ratios.error().message());
    set_annotation(plan_.after, kAmplificationRatio, *ratios);
    ran(kAmplification);
  }

  void lend() {
    if (plugins_.mid) plan_.overcommit.push_back({api::kMidCpu, api::kMidMemory, {}});
    if (plugins_.batch) plan_.overcommit.push_back({api::kBatchCpu, api::kBatchMemory, {}});
    const NodeView view{facts_.node, facts_.pods, facts_.metric, strategy_, facts_.now};
    if (!enabled_)
      plan_.why_not = "colocation is off";
    else if (const auto wrong = invalid(strategy_))  // by the node's own annotation
      plan_.why_not = *wrong;
    else if (const auto old = stale(view))
      plan_.why_not = *old;
    for (OvercommitResource& one : plan_.overcommit) {
      const bool batch = one.cpu == api::kBatchCpu;
      if (plan_.why_not.empty()) one.amount = weighed(batch ? batch_amount(view) : mid_amount(view));
      ran(batch ? kBatch : kMid);
    }
    if (!plan_.why_not.empty()) return;
    plan_.wait = facts_.metric->status.update_time->at + fresh_for(strategy_) - facts_.now.at +
                 std::chrono::seconds(1);
    if (const auto rises = level_.rises_in(strategy_, facts_.now))
      plan_.wait = std::min<std::chrono::nanoseconds>(*plan_.wait, *rises);
    if (!plugins_.batch || facts_.topology == nullptr || !has_zones(*facts_.topology)) return;
    plan_.zones = zone_amounts(view, *facts_.topology);
    for (OvercommitAmount& amount : plan_.zones) amount = weighed(amount);
  }

  OvercommitAmount weighed(OvercommitAmount amount) const {
    if (level_.percent >= 100) return amount;
    const auto part = [this](const api::Quantity& all) {
      return api::Quantity::from_int(
          cut(static_cast<double>(all.value()) * static_cast<double>(level_.percent) / 100), all.format());
    };
    return {part(amount.cpu), part(amount.memory)};
  }

  /// Upstream leaves them alone where there is no colocation: a GPU that broke would be given away for ever.
  void devices() {
    if (!facts_.devices_known) return;
    stage_ = kCalculate;
    if (plugins_.gpu) {
      set_devices(plan_.after, gpu_resource_names(), gpu_resources(facts_.device, plugins_.share_gpu));
      if (facts_.device != nullptr) set_gpu_labels(plan_.after, *facts_.device);
      ran(kGpu);
    }
    if (plugins_.rdma) {
      set_devices(plan_.after, rdma_resource_names(), rdma_resources(facts_.device));
      ran(kRdma);
    }
  }

  const NodeFacts& facts_;
  const SloConfig& config_;
  const ColocationStrategy& strategy_;
  const ResourcePlugins& plugins_;
  NodePlan plan_;
  bool enabled_ = false;
  std::string_view stage_;
  OvercommitLevel level_;
  std::optional<double> cpus_;  // the ratio that the node will say
};

}  // namespace

NodePlan plan_node(const NodeFacts& facts, const SloConfig& config, const ColocationStrategy& strategy,
                   const ResourcePlugins& plugins) {
  return Planner(facts, config, strategy, plugins).run();
}

NodeChanges changes_of(const api::Node& before, const NodePlan& plan, double share) {
  const api::Node& after = plan.after;
  NodeChanges changes;
  changes.status = before.status.allocatable != after.status.allocatable ||
                   before.status.capacity != after.status.capacity ||
                   api::value_or(before.metadata.annotations, kOriginExtended) !=
                       api::value_or(after.metadata.annotations, kOriginExtended);
  const auto worth = [&](std::string_view name, double of) {
    return is_worth(before.status.allocatable, after.status.allocatable, name, of);
  };
  for (const OvercommitResource& one : plan.overcommit)
    changes.status_now |= worth(one.cpu, share) || worth(one.memory, share);
  for (const auto names : {gpu_resource_names(), rdma_resource_names()})
    for (const std::string_view name : names) changes.status_now |= worth(name, 0);
  changes.meta = before.metadata.labels != after.metadata.labels ||
                 std::ranges::any_of(kMetaAnnotations, [&](std::string_view name) {
                   return api::value_or(before.metadata.annotations, name) !=
                          api::value_or(after.metadata.annotations, name);
                 });
  return changes;
}

api::Node with_status(const api::Node& node, const NodePlan& plan) {
  api::Node after = node;
  after.status = plan.after.status;
  set_annotation(after, kOriginExtended, api::value_or(plan.after.metadata.annotations, kOriginExtended));
  return after;
}

api::Node with_meta(const api::Node& node, const NodePlan& plan) {
  api::Node after = node;
  after.metadata.labels = plan.after.metadata.labels;
  for (const std::string_view name : kMetaAnnotations)
    set_annotation(after, name, api::value_or(plan.after.metadata.annotations, name));
  return after;
}

}  // namespace koord::manager
