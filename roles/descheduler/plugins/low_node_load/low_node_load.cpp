// LowNodeLoad: pods leave nodes that really use too much, for nodes that really have room.
#include <fmt/format.h>

#include <set>

#include "framework/plugin_table.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/log.hpp"
#include "plugins/low_node_load/args.hpp"
#include "plugins/low_node_load/balance.hpp"
#include "plugins/low_node_load/cluster.hpp"

namespace koord::descheduler::low_node_load {

namespace {

/// Absent selects everything here; what cannot be read, which validate() refuses, nothing.
api::Selector selector_of(const api::Box<api::LabelSelector>& said) {
  if (!said) return {};
  auto read = api::Selector::from(said.get());
  return read ? *std::move(read) : api::Selector::nothing();
}

struct Pool {
  std::string name;
  bool selects;  // pools that name their nodes leave those alone that an earlier one has looked at
  api::Selector nodes;
  PoolRules rules;
};

Pool pool_of(std::string name, const PoolArgs& said, const LowNodeLoadArgs& args) {
  Pool pool{.name = std::move(name),
            .selects = said.node_selector.has_value(),
            .nodes = selector_of(said.node_selector),
            .rules = {}};
  const Percentages none;
  const auto of = [&](const api::Box<Percentages>& all) -> const Percentages& { return all ? *all : none; };
  pool.rules.thresholds =
      complete_thresholds(of(said.low_thresholds), of(said.high_thresholds), of(said.prod_low_thresholds),
                          of(said.prod_high_thresholds), said.use_deviation_thresholds);
  for (const Symbol& resource : pool.rules.thresholds.resources) {
    const std::int64_t* const weight =
        said.resource_weights ? said.resource_weights->find(resource.view()) : nullptr;
    pool.rules.weights.push_back(weight != nullptr ? *weight : 0);
  }
  if (said.anomaly_condition)
    pool.rules.anomaly = {
        .timeout = said.anomaly_condition->timeout ? said.anomaly_condition->timeout->value : nanoseconds(),
        .abnormal = static_cast<std::uint32_t>(said.anomaly_condition->consecutive_abnormalities),
        .normal = static_cast<std::uint32_t>(said.anomaly_condition->consecutive_normalities)};
  pool.rules.number_of_nodes = args.number_of_nodes;
  pool.rules.node_fit = args.node_fit.value_or(true);
  return pool;
}

std::string_view words_of(Balanced::Why why) {
  using Why = Balanced::Why;
  switch (why) {
    case Why::done: return "nodes that use too much were relieved as far as pods may go and others have room";
    case Why::no_nodes: return "no node of the pool reports what it uses";
    case Why::none_overloaded: return "no node uses too much";
    case Why::not_long_enough: return "no node has used too much for long enough yet";
    case Why::none_with_room: return "no node has room; the low thresholds may be too low";
    case Why::few_with_room: return "no more nodes have room than numberOfNodes";
    case Why::all_with_room: return "all nodes have room";
  }
  return "";
}

class LowNodeLoad final : public Plugin {
 public:
  LowNodeLoad(const LowNodeLoadArgs& args, const PluginContext& context)
      : args_(args), detectors_(kept(context)), prod_detectors_(kept(context)) {
    if (args_.evictable_namespaces) choice_args_.namespaces = *args_.evictable_namespaces;
    choice_.emplace(choice_args_);
    for (const PodSelectorArgs& each : args_.pod_selectors)
      if (each.selector) pods_.push_back(selector_of(each.selector));
    pools_.push_back(pool_of("__default_node_pool__", args_.pool, args_));
    for (const NodePoolArgs& each : args_.node_pools) pools_.push_back(pool_of(each.name, each.pool, args_));
    if (context.at_once)
      for (Pool& pool : pools_) pool.rules.anomaly.abnormal = 1;
  }

  Task<Result<>> balance(Pass& pass) override {
    if (args_.paused) {
      pass.log().v(2, "LowNodeLoad is paused and will do nothing");
      co_return Result<>();
    }
    std::set<std::string> processed;
    for (const Pool& pool : pools_) co_await look_at(pool, pass, processed);
    co_return Result<>();
  }

 private:
  /// A detector that is forgotten between two passes would never count.
  nanoseconds kept(const PluginContext& context) const {
    const nanoseconds said = args_.detector_cache_timeout->value;
    if (said >= context.interval) return said;
    context.log.info(
        "detectorCacheTimeout of LowNodeLoad is less than deschedulingInterval, which is taken instead",
        kv("profile", context.profile), kv("detectorCacheTimeout", said),
        kv("deschedulingInterval", context.interval));
    return context.interval;
  }

  bool chooses(const api::Pod& pod) const {
    if (!choice_->has(pod)) return false;
    return pods_.empty() || std::ranges::any_of(pods_, [&](const api::Selector& selector) {
             return selector.matches(pod.metadata.labels);
           });
  }

  struct PassMover final : Mover {
    PassMover(const LowNodeLoad& plugin, Pass& in) : own(plugin), pass(in) {}
    bool may_go(const api::Pod& pod) override { return own.chooses(pod) && pass.may_go(pod); }
    bool fits(const api::Pod& pod, const NodeLoad& node) override {
      return pass.node_fit().fits(pod, *node.view);
    }
    Task<bool> evict(PodPtr pod, std::string reason) override {
      if (!own.args_.dry_run || pass.dry_run())
        co_return co_await pass.evict(std::move(pod), std::move(reason));
      pass.log().info("LowNodeLoad would evict a pod (dryRun)",
                      kv("namespace", pod->metadata.namespace_.view()), kv("pod", pod->metadata.name),
                      kv("node", pod->spec.node_name.view()), kv("reason", reason));
      co_return true;
    }
    const LowNodeLoad& own;
    Pass& pass;
  };

  Task<> look_at(const Pool& pool, Pass& pass, std::set<std::string>& processed) {
    std::vector<const NodeView*> nodes;
    for (const NodeView* node : pass.nodes())
      if (pool.nodes.matches(node->node->metadata.labels) &&
          !(pool.selects && processed.contains(node->node->metadata.name)))
        nodes.push_back(node);
    std::vector<NodeLoad> loads =
        loads_of(nodes, pool.rules.thresholds, std::chrono::seconds(*args_.node_metric_expiration_seconds),
                 pass.snapshot().now(), [&](std::string_view node, std::string_view why) {
                   pass.log().v(4, "LowNodeLoad leaves a node alone", kv("pool", pool.name), kv("node", node),
                                kv("reason", why));
                 });
    PassMover mover(*this, pass);
    const Balanced done =
        co_await low_node_load::balance(pool.rules, loads, detectors_, prod_detectors_, pass.now(), mover);
    if (done.why == Balanced::Why::done)
      for (const std::string& node : done.overloaded) processed.insert(node);
    pass.log().v(done.evicted > 0 ? 1 : 4, "LowNodeLoad has looked at a pool", kv("pool", pool.name),
                 kv("nodes", nodes.size()), kv("measured", loads.size()),
                 kv("overutilized", done.overloaded.size()), kv("evicted", done.evicted),
                 kv("result", words_of(done.why)));
  }

  LowNodeLoadArgs args_;
  PodChoiceArgs choice_args_;
  std::optional<PodChoice> choice_;
  std::vector<api::Selector> pods_;  // one of them, if there are any
  std::vector<Pool> pools_;
  Detectors detectors_, prod_detectors_;
};

}  // namespace
}  // namespace koord::descheduler::low_node_load

namespace koord::descheduler {

extern const PluginEntry kLowNodeLoad{
    .name = "LowNodeLoad",
    .args = &args_type<low_node_load::LowNodeLoadArgs>,
    .balances = true,
    .make = &make_with<low_node_load::LowNodeLoad, low_node_load::LowNodeLoadArgs>};

}  // namespace koord::descheduler
