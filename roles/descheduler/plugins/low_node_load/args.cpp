// See args.hpp.
#include "plugins/low_node_load/args.hpp"

#include <fmt/format.h>

#include <limits>

#include "framework/plugin_table.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/base/text.hpp"
#include "plugins/selectors.hpp"

namespace koord::descheduler::low_node_load {

KOORD_SCHEMA(AnomalyConditionArgs, ROW(timeout).doc("How long an anomaly lasts that nobody confirms; 1m."),
             ROW(consecutive_abnormalities)
                 .doc("More passes in a row than these over the thresholds are an anomaly; 5."),
             ROW(consecutive_normalities).doc("More passes in a row than these within them end it; 3."));
KOORD_SCHEMA(PodSelectorArgs, ROW(name), ROW(selector));
KOORD_SCHEMA(PoolArgs, ROW(node_selector).doc("Only these nodes."),
             ROW(use_deviation_thresholds).doc("Thresholds are distances from the nodes' mean use."),
             ROW(high_thresholds).doc("In percent of what a node has: more of any of these is too much."),
             ROW(low_thresholds)
                 .doc("A node that uses no more of all of these has room. Names every resource that counts."),
             ROW(prod_high_thresholds).doc("The same of what prod pods use."), ROW(prod_low_thresholds),
             ROW(resource_weights).doc("Which resource matters more in the order of nodes and pods."),
             ROW(anomaly_condition).doc("For how long a node has to be over its thresholds."));
KOORD_SCHEMA(NodePoolArgs, ROW(name), ROW(pool).inlined());
KOORD_OBJECT(LowNodeLoadArgs, descheduler_kind("LowNodeLoadArgs"), ROW(paused), ROW(dry_run),
             ROW(number_of_nodes).doc("Nothing is done while no more nodes than these have room."),
             ROW(node_metric_expiration_seconds)
                 .default_json("180")
                 .doc("A node whose report is as old is left alone."),
             ROW(evictable_namespaces).doc("Only pods of these namespaces go."),
             ROW(pod_selectors).doc("Only pods that one of these selects go."),
             ROW(node_fit).default_json("true").doc("A pod goes only where there is a node for it."),
             ROW(pool).inlined(),
             ROW(detector_cache_timeout)
                 .default_json("\"5m0s\"")
                 .doc("A node's anomaly is forgotten after so long without a pass over its thresholds."),
             ROW(node_pools).doc("Other thresholds for other nodes, in their order."));

namespace {

constexpr std::int64_t kAbnormal = 5, kNormal = 3;
constexpr nanoseconds kTimeout = std::chrono::minutes(1);

Percentages said(const api::Box<Percentages>& all) { return all ? *all : Percentages(); }

class PoolCheck {
 public:
  PoolCheck(std::string path, api::FieldErrors& errors) : path_(std::move(path)), errors_(errors) {}

  void check(const PoolArgs& pool) const {
    check_selector(pool.node_selector, "nodeSelector");
    const Percentages high = said(pool.high_thresholds), low = said(pool.low_thresholds),
                      prod_high = said(pool.prod_high_thresholds), prod_low = said(pool.prod_low_thresholds);
    check_sign(high, "highThresholds");
    check_sign(low, "lowThresholds");
    check_below(low, high, "lowThresholds", "low percentage must be less than or equal to highThresholds");
    check_sign(prod_high, "prodHighThresholds");
    check_below(prod_high, high, "prodHighThresholds",
                "node percentage must be greater than or equal to prodHighThresholds");
    check_sign(prod_low, "prodLowThresholds");
    check_below(prod_low, prod_high, "prodLowThresholds",
                "low percentage must be less than or equal to prodHighThresholds");
    if (!pool.use_deviation_thresholds) {
      check_trap(low, high, "lowThresholds", "highThresholds");
      check_trap(prod_low, prod_high, "prodLowThresholds", "prodHighThresholds");
    }
    if (pool.resource_weights)
      for (const auto& [name, weight] : *pool.resource_weights)
        if (weight < 0)
          invalid(fmt::format("resourceWeights[{}]", name.view()), weight,
                  "weight must be greater than or equal to 0");
    if (!pool.anomaly_condition) return;
    const auto positive = [&](std::string_view field, std::int64_t count) {
      if (count <= 0 || count > std::numeric_limits<std::uint32_t>::max())
        invalid(fmt::format("anomalyCondition.{}", field), count,
                fmt::format("{} must be greater than 0", field));
    };
    positive("consecutiveAbnormalities", pool.anomaly_condition->consecutive_abnormalities);
    positive("consecutiveNormalities", pool.anomaly_condition->consecutive_normalities);
  }
  void check_selector(const api::Box<api::LabelSelector>& selector, std::string_view field) const {
    if (!selector) return;
    if (const auto read = api::Selector::from(selector.get()); !read)
      errors_.add(fmt::format("{}: {}", at(field), read.error().message()));
  }
  void invalid(std::string_view field, auto value, std::string_view why) const {
    errors_.invalid(at(field), fmt::format("{}", value), why);
  }

 private:
  std::string at(std::string_view field) const {
    return path_.empty() ? std::string(field) : fmt::format("{}.{}", path_, field);
  }
  void check_sign(const Percentages& all, std::string_view field) const {
    for (const auto& [name, percent] : all)
      if (!(percent >= 0))
        invalid(fmt::format("{}[{}]", field, name.view()), percent,
                "percentage must be greater than or equal to 0");
  }
  void check_below(const Percentages& all, const Percentages& above, std::string_view field,
                   std::string_view why) const {
    for (const auto& [name, percent] : all)
      if (const double* const most = above.find(name.view()); most != nullptr && percent > *most)
        invalid(fmt::format("{}[{}]", field, name.view()), percent, why);
  }
  /// What counts is what `low` names; without a high threshold of it, any use of it would be too much.
  void check_trap(const Percentages& low, const Percentages& high, std::string_view low_field,
                  std::string_view high_field) const {
    for (const auto& [name, percent] : low) {
      const double* const most = high.find(name.view());
      const std::string field = fmt::format("{}[{}]", most == nullptr ? low_field : high_field, name.view());
      if (most == nullptr)
        invalid(field, percent,
                fmt::format("{} has no {}: every node that uses any of it would be overutilized", high_field,
                            name.view()));
      else if (*most == 0)
        invalid(field, *most, "every node that uses any of it would be overutilized");
    }
  }

  std::string path_;
  api::FieldErrors& errors_;
};

}  // namespace

void LowNodeLoadArgs::complete() {
  const auto inherit = [](auto& of_pool, const auto& of_all) {
    if (!of_pool) of_pool = of_all;
  };
  if (!pool.anomaly_condition) pool.anomaly_condition.emplace();
  AnomalyConditionArgs& anomaly = *pool.anomaly_condition;
  if (anomaly.consecutive_abnormalities == 0) anomaly.consecutive_abnormalities = kAbnormal;
  if (anomaly.consecutive_normalities == 0) anomaly.consecutive_normalities = kNormal;
  if (!anomaly.timeout) anomaly.timeout = kTimeout;

  if (!pool.resource_weights) pool.resource_weights.emplace();
  const auto weigh = [this](std::string_view name) {
    if (std::int64_t& weight = (*pool.resource_weights)[name]; weight == 0) weight = 1;
  };
  weigh("cpu");
  weigh("memory");
  for (const auto* all : {&pool.low_thresholds, &pool.high_thresholds})
    if (*all)
      for (const auto& [name, percent] : **all) weigh(name.view());

  for (NodePoolArgs& each : node_pools) {
    PoolArgs& own = each.pool;
    inherit(own.high_thresholds, pool.high_thresholds);
    inherit(own.low_thresholds, pool.low_thresholds);
    inherit(own.prod_high_thresholds, pool.prod_high_thresholds);
    inherit(own.prod_low_thresholds, pool.prod_low_thresholds);
    inherit(own.resource_weights, pool.resource_weights);
    if (!own.anomaly_condition) {
      own.anomaly_condition = anomaly;
      continue;
    }
    if (own.anomaly_condition->consecutive_abnormalities == 0)
      own.anomaly_condition->consecutive_abnormalities = anomaly.consecutive_abnormalities;
    if (own.anomaly_condition->consecutive_normalities == 0)
      own.anomaly_condition->consecutive_normalities = anomaly.consecutive_normalities;
  }
}

void LowNodeLoadArgs::validate(const std::string& path, api::FieldErrors& errors) const {
  const PoolCheck top(path, errors);
  if (number_of_nodes < 0)
    top.invalid("numberOfNodes", number_of_nodes, "must be greater than or equal to 0");
  if (node_metric_expiration_seconds && *node_metric_expiration_seconds <= 0)
    top.invalid("nodeMetricExpirationSeconds", *node_metric_expiration_seconds,
                "nodeMetricExpiredSeconds should be a positive value");
  check_namespaces(evictable_namespaces,
                   fmt::format("{}{}evictableNamespaces", path, path.empty() ? "" : "."), errors);
  check_some_selector(pod_selectors, field_of(path, "podSelectors"), errors);
  for (std::size_t i = 0; i < pod_selectors.size(); ++i)
    top.check_selector(pod_selectors[i].selector, fmt::format("podSelectors[{}].selector", i));
  if (detector_cache_timeout && detector_cache_timeout->value <= nanoseconds::zero())
    top.invalid("detectorCacheTimeout", quote(detector_cache_timeout->to_string()), "must be greater than 0");
  top.check(pool);
  for (std::size_t i = 0; i < node_pools.size(); ++i)
    PoolCheck(fmt::format("{}{}nodePools[{}]", path, path.empty() ? "" : ".", i), errors)
        .check(node_pools[i].pool);
}

}  // namespace koord::descheduler::low_node_load
