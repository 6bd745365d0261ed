// LowNodeUtilization: pods leave nodes of which too much is asked, while there are some of which little is.
#include <fmt/format.h>

#include <algorithm>

#include "framework/plugin_table.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/base/log.hpp"
#include "plugins/choice.hpp"
#include "plugins/node_utilization/move.hpp"

namespace koord::descheduler {

namespace node_utilization {

struct EvictionLimits {
  std::optional<std::int64_t> node;
  KOORD_STRUCT(EvictionLimits);
};
struct Prometheus {
  std::string query;
  KOORD_STRUCT(Prometheus);
};
struct MetricsUtilization {
  bool metrics_server = false;
  std::string source;
  api::Box<Prometheus> prometheus;
  KOORD_STRUCT(MetricsUtilization);
};

struct LowNodeUtilizationArgs {
  bool use_deviation_thresholds = false;
  Thresholds thresholds, target_thresholds;
  std::int64_t number_of_nodes = 0;
  api::Box<MetricsUtilization> metrics_utilization;
  api::Box<NamespaceChoice> evictable_namespaces;
  api::Box<EvictionLimits> eviction_limits;

  void validate(const std::string& path, api::FieldErrors& errors) const;
  KOORD_STRUCT(LowNodeUtilizationArgs);
};

KOORD_SCHEMA(EvictionLimits, ROW(node).min(0).doc("Of one node in one pass."));
KOORD_SCHEMA(Prometheus, ROW(query).doc("Not supported."));
KOORD_SCHEMA(MetricsUtilization, ROW(metrics_server).doc("Not supported."), ROW(source).doc("Not supported."),
             ROW(prometheus).doc("Not supported."));
KOORD_OBJECT(
    LowNodeUtilizationArgs, descheduler_kind("LowNodeUtilizationArgs"),
    ROW(use_deviation_thresholds)
        .doc("The thresholds are per cent below and above the average of all nodes."),
    ROW(thresholds).doc("Per cent by resource: nodes of which no more is asked take pods."),
    ROW(target_thresholds).doc("Per cent of the same resources: nodes of which more is asked give pods."),
    ROW(number_of_nodes).doc("Only where more nodes than this take pods."),
    ROW(metrics_utilization).doc("Not supported: LowNodeLoad goes by what is really used."),
    ROW(evictable_namespaces).doc("exclude: no pods of these namespaces."),
    ROW(eviction_limits).doc("How many pods go at most."));

namespace {

constexpr std::string_view kKubernetes = "KubernetesMetrics", kPrometheus = "Prometheus";

/// What sigs finds wrong with it; empty: nothing.
std::string contradiction(const MetricsUtilization& metrics) {
  if (metrics.source == kKubernetes && metrics.metrics_server)
    return fmt::format("it is not allowed to set both \"{}\" source and metricsServer", kKubernetes);
  if (metrics.source == kKubernetes && metrics.prometheus)
    return fmt::format("prometheus configuration is not allowed to set when source is set to \"{}\"",
                       kKubernetes);
  if (metrics.source == kPrometheus && (!metrics.prometheus || metrics.prometheus->query.empty()))
    return fmt::format("prometheus query is required when metrics source is set to \"{}\"", kPrometheus);
  return {};
}

/// What is wrong with the two together; empty: nothing.
std::string mismatch(const LowNodeUtilizationArgs& args) {
  if (args.thresholds.size() != args.target_thresholds.size())
    return "thresholds and targetThresholds configured different resources";
  for (const auto& [name, value] : args.thresholds) {
    const double* const target = args.target_thresholds.find(name.view());
    if (target == nullptr) return "thresholds and targetThresholds configured different resources";
    if (args.use_deviation_thresholds) continue;
    if (value > *target)
      return fmt::format("thresholds' {} percentage is greater than targetThresholds'", name.view());
    if (*target == 0)
      return fmt::format(
          "targetThresholds' {} percentage is 0: every node of which any is asked would be "
          "overutilized",
          name.view());
  }
  return {};
}

class LowNodeUtilization final : public Plugin {
 public:
  LowNodeUtilization(const LowNodeUtilizationArgs& args, const PluginContext&)
      : args_(args), resources_(args.thresholds) {}

  Task<Result<>> balance(Pass& pass) override {
    std::vector<Usage> all, low, high;
    for (const NodeView* node : pass.nodes()) all.emplace_back(*node, resources_);
    const Percentages least =
        args_.use_deviation_thresholds ? beside_average(all, args_.thresholds, -1) : fixed(args_.thresholds);
    const Percentages most = args_.use_deviation_thresholds ? beside_average(all, args_.target_thresholds, 1)
                                                            : fixed(args_.target_thresholds);
    for (Usage& usage : all) {
      if (!usage.node->node->spec.unschedulable && usage.is_within(least))
        low.push_back(std::move(usage));
      else if (!usage.is_within(most))
        high.push_back(std::move(usage));
    }
    pass.log().info("nodes by what is asked of them", kv("underutilized", low.size()),
                    kv("overutilized", high.size()), kv("nodes", all.size()));
    if (low.empty() || std::ssize(low) <= args_.number_of_nodes || low.size() == all.size() || high.empty())
      co_return Result<>();
    std::ranges::stable_sort(high, std::greater<>(), &Usage::sum);
    const Moves moves{.resources = resources_,
                      .excluded_namespaces = excluded(),
                      .most_of_node = args_.eviction_limits ? args_.eviction_limits->node : std::nullopt,
                      .wanted = [](const api::Pod&) { return true; },
                      .keeps_going = [&](const Usage& node) { return exceeds(node, most); },
                      .reason = [&](const Usage& node) { return why(node, most); }};
    co_await move_pods(pass, high, low, room_of(low, most, resources_), moves);
    co_return Result<>();
  }

 private:
  std::span<const std::string> excluded() const {
    if (!args_.evictable_namespaces) return {};
    return args_.evictable_namespaces->exclude;
  }
  static bool exceeds(const Usage& node, const Percentages& most) {
    const Amounts may = node.capped(most);
    for (std::size_t i = 0; i < may.size(); ++i)
      if (node.used[i] > may[i]) return true;
    return false;
  }
  std::string why(const Usage& node, const Percentages& most) const {
    for (std::size_t i = 0; i < most.size(); ++i) {
      const auto used = node.percentage(i);
      if (used && most[i] && *used > *most[i])
        return fmt::format("more is asked of the node than it should have: {} {:.2f}%>{:.2f}%",
                           resources_.names()[i], static_cast<double>(*used) / kPercent,
                           static_cast<double>(*most[i]) / kPercent);
    }
    return "more is asked of the node than it should have";
  }

  LowNodeUtilizationArgs args_;
  Resources resources_;
};

}  // namespace

void LowNodeUtilizationArgs::validate(const std::string& path, api::FieldErrors& errors) const {
  if (evictable_namespaces && !evictable_namespaces->include.empty())
    return errors.add(found_at(path, "only Exclude namespaces can be set, inclusion is not supported"));
  if (!check_thresholds(thresholds, path, "thresholds config is not valid: ", errors) ||
      !check_thresholds(target_thresholds, path, "targetThresholds config is not valid: ", errors))
    return;
  if (const std::string wrong = mismatch(*this); !wrong.empty()) return errors.add(found_at(path, wrong));
  if (!metrics_utilization) return;
  std::string wrong = contradiction(*metrics_utilization);
  if (wrong.empty())
    wrong = "metricsUtilization is not supported: LowNodeLoad balances by what is really used";
  errors.add(found_at(path, wrong));
}

}  // namespace node_utilization

extern const PluginEntry kLowNodeUtilization{
    .name = "LowNodeUtilization",
    .args = &args_type<node_utilization::LowNodeUtilizationArgs>,
    .balances = true,
    .make = &make_with<node_utilization::LowNodeUtilization, node_utilization::LowNodeUtilizationArgs>};

}  // namespace koord::descheduler
