// HighNodeUtilization: pods leave nodes of which little is asked for others, so that fewer nodes will do.
#include <fmt/format.h>

#include <algorithm>

#include "framework/plugin_table.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/log.hpp"
#include "plugins/choice.hpp"
#include "plugins/node_utilization/move.hpp"

namespace koord::descheduler {

namespace node_utilization {

constexpr std::string_view kOnlyThresholding = "OnlyThresholdingResources";

struct HighNodeUtilizationArgs {
  Thresholds thresholds;
  std::int64_t number_of_nodes = 0;
  std::vector<std::string> eviction_modes;
  api::Box<NamespaceChoice> evictable_namespaces;

  void validate(const std::string& path, api::FieldErrors& errors) const;
  KOORD_STRUCT(HighNodeUtilizationArgs);
};
KOORD_OBJECT(HighNodeUtilizationArgs, descheduler_kind("HighNodeUtilizationArgs"),
             ROW(thresholds).doc("Per cent by resource: nodes of which no more is asked give their pods."),
             ROW(number_of_nodes).doc("Only where more nodes than this do."),
             ROW(eviction_modes)
                 .doc("OnlyThresholdingResources: only pods that ask for a resource that has a threshold."),
             ROW(evictable_namespaces).doc("exclude: no pods of these namespaces."));

void HighNodeUtilizationArgs::validate(const std::string& path, api::FieldErrors& errors) const {
  if (evictable_namespaces && !evictable_namespaces->include.empty())
    return errors.add(found_at(path, "only Exclude namespaces can be set, inclusion is not supported"));
  if (!check_thresholds(thresholds, path, "", errors)) return;
  for (const std::string& mode : eviction_modes)
    if (mode != kOnlyThresholding)
      return errors.add(found_at(path, fmt::format("invalid eviction mode {}", mode)));
}

namespace {

class HighNodeUtilization final : public Plugin {
 public:
  HighNodeUtilization(const HighNodeUtilizationArgs& args, const PluginContext&)
      : args_(args), resources_(args.thresholds) {}

  Task<Result<>> balance(Pass& pass) override {
    const Percentages most = fixed(args_.thresholds);
    std::vector<Usage> low, others;
    for (const NodeView* node : pass.nodes()) {
      Usage usage(*node, resources_);
      if (usage.is_within(most))
        low.push_back(std::move(usage));
      else if (!node->node->spec.unschedulable)
        others.push_back(std::move(usage));
    }
    pass.log().info("nodes by what is asked of them", kv("underutilized", low.size()),
                    kv("targets", others.size()));
    if (low.empty() || std::ssize(low) <= args_.number_of_nodes || others.empty()) co_return Result<>();
    std::ranges::stable_sort(low, {}, &Usage::sum);
    const bool only_these =
        std::ranges::find(args_.eviction_modes, kOnlyThresholding) != args_.eviction_modes.end();
    const Moves moves{
        .resources = resources_,
        .excluded_namespaces = args_.evictable_namespaces
                                   ? std::span<const std::string>(args_.evictable_namespaces->exclude)
                                   : std::span<const std::string>(),
        .most_of_node = {},
        .wanted = [&](const api::Pod& pod) { return !only_these || asks(pod); },
        .keeps_going = [](const Usage&) { return true; },
        .reason = [](const Usage&) { return "little is asked of the node, others have room"; }};
    co_await move_pods(pass, low, others, room_of(others, {}, resources_), moves);
    co_return Result<>();
  }

 private:
  bool asks(const api::Pod& pod) const {
    const auto asks = [this](const api::Container& container) {
      return std::ranges::any_of(args_.thresholds, [&](const auto& threshold) {
        return container.resources.requests.contains(threshold.key.view());
      });
    };
    return std::ranges::any_of(pod.spec.containers, asks) ||
           std::ranges::any_of(pod.spec.init_containers, asks);
  }

  HighNodeUtilizationArgs args_;
  Resources resources_;
};

}  // namespace
}  // namespace node_utilization

extern const PluginEntry kHighNodeUtilization{
    .name = "HighNodeUtilization",
    .args = &args_type<node_utilization::HighNodeUtilizationArgs>,
    .balances = true,
    .make = &make_with<node_utilization::HighNodeUtilization, node_utilization::HighNodeUtilizationArgs>};

}  // namespace koord::descheduler
