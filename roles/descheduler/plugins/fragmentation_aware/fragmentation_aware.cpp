// FragmentationAware: of nodes whose resources are asked for unevenly, the pod goes without which they are
// most even.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "framework/plugin_table.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/log.hpp"
#include "koord/base/text.hpp"
#include "plugins/choice.hpp"
#include "plugins/fragmentation_aware/imbalance.hpp"
#include "plugins/selectors.hpp"

namespace koord::descheduler {

namespace fragmentation_aware {

struct PodSelectorArgs {
  api::Box<api::LabelSelector> selector;
  KOORD_STRUCT(PodSelectorArgs);
};

struct FragmentationAwareArgs {
  bool paused = false, dry_run = false;
  api::Box<api::LabelSelector> node_selector;
  api::Box<NamespaceChoice> evictable_namespaces;
  std::vector<PodSelectorArgs> pod_selectors;
  std::optional<bool> node_fit;
  std::vector<std::string> resources;
  std::optional<double> imbalance_threshold, min_improvement_threshold;

  void validate(const std::string& path, api::FieldErrors& errors) const;
  KOORD_STRUCT(FragmentationAwareArgs);
};

KOORD_SCHEMA(PodSelectorArgs, ROW(selector).doc("Pods with these labels; absent: this one does not count."));
KOORD_OBJECT(FragmentationAwareArgs, descheduler_kind("FragmentationAwareArgs"),
             ROW(paused).doc("Nothing is looked at."), ROW(dry_run).doc("Nothing is evicted."),
             ROW(node_selector).doc("Only nodes with these labels, to leave and to go to."),
             ROW(evictable_namespaces).doc("Whose pods may go; absent or empty: all."),
             ROW(pod_selectors).doc("Only pods that one of these selects."),
             ROW(node_fit).default_json("true").doc("Only pods that fit on another of the nodes."),
             ROW(resources).default_json(R"(["cpu","memory"])").doc("What is to be asked for evenly."),
             ROW(imbalance_threshold)
                 .default_json("0.15")
                 .doc("Nodes above it give a pod: the standard deviation of the shares that are asked for."),
             ROW(min_improvement_threshold).default_json("0.02").doc("By more than that it has to fall."));

void FragmentationAwareArgs::validate(const std::string& path, api::FieldErrors& errors) const {
  if (resources.empty()) errors.required(field_of(path, "resources"), "resources must not be empty");
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < resources.size(); ++i)
    if (!seen.insert(resources[i]).second)
      errors.duplicate(fmt::format("{}[{}]", field_of(path, "resources"), i), quote(resources[i]));
  const auto not_negative = [&](std::string_view field, const std::optional<double>& value) {
    if (value.value_or(0) < 0)
      errors.invalid(field_of(path, field), fmt::format("{}", *value), "must be greater than or equal to 0");
  };
  not_negative("imbalanceThreshold", imbalance_threshold);
  not_negative("minImprovementThreshold", min_improvement_threshold);
  check_selector(node_selector, field_of(path, "nodeSelector"), errors);
  check_some_selector(pod_selectors, field_of(path, "podSelectors"), errors);
  for (std::size_t i = 0; i < pod_selectors.size(); ++i)
    check_selector(pod_selectors[i].selector, fmt::format("{}[{}]", field_of(path, "podSelectors"), i),
                   errors);
  if (evictable_namespaces)
    check_either(evictable_namespaces->include, evictable_namespaces->exclude,
                 field_of(path, "evictableNamespaces"), errors);
}

namespace {

struct Best {
  PodPtr pod;
  double before = 0, after = 0;
  double gain() const { return before - after; }
};

class FragmentationAware final : public Plugin {
 public:
  FragmentationAware(const FragmentationAwareArgs& args, const PluginContext&)
      : args_(args),
        nodes_(selector_or_all(args.node_selector)),
        choice_({.namespaces = args.evictable_namespaces, .label_selector = {}}) {
    for (const PodSelectorArgs& each : args.pod_selectors) pods_.add(each.selector);
  }

  Task<Result<>> balance(Pass& pass) override {
    if (args_.paused) co_return Result<>();
    const std::vector<const NodeView*> nodes = selected_nodes(pass, nodes_);
    for (const NodeView* node : nodes) {
      const Best best = best_of(pass, *node, nodes);
      if (!best.pod || !pass.may_go_now(*best.pod)) continue;
      std::string reason =
          fmt::format("fragmentation reduction: stdBefore={:.4f} stdAfter={:.4f} gain={:.4f}", best.before,
                      best.after, best.gain());
      if (args_.dry_run)
        pass.log().info("Evict pod in dry run mode", kv("pod", best.pod->metadata.name),
                        kv("namespace", best.pod->metadata.namespace_.view()), kv("reason", reason));
      else
        co_await pass.evict(best.pod, std::move(reason));
    }
    co_return Result<>();
  }

 private:
  Best best_of(Pass& pass, const NodeView& node, std::span<const NodeView* const> nodes) const {
    Imbalance imbalance(*node.node, args_.resources);
    for (const PodPtr& pod : node.pods)
      if (!has_ended(*pod)) imbalance.add(*pod);
    Best best{.pod = nullptr, .before = imbalance.score(), .after = 0};
    double gain = args_.min_improvement_threshold.value_or(0);
    if (best.before <= args_.imbalance_threshold.value_or(0)) return best;
    for (const PodPtr& pod : node.pods) {
      if (has_ended(*pod) || !choice_.has(*pod) || !pods_.has(pod->metadata.labels)) continue;
      const double after = imbalance.score_without(*pod);
      if (best.before - after <= gain || !pass.may_go(*pod)) continue;
      if (args_.node_fit.value_or(true) && !pass.node_fit().fits_elsewhere(*pod, nodes)) continue;
      best.pod = pod;
      best.after = after;
      gain = best.gain();
    }
    return best;
  }

  FragmentationAwareArgs args_;
  api::Selector nodes_;
  AnyOf pods_;
  PodChoice choice_;
};

}  // namespace
}  // namespace fragmentation_aware

extern const PluginEntry kFragmentationAware{
    .name = "FragmentationAware",
    .args = &args_type<fragmentation_aware::FragmentationAwareArgs>,
    .balances = true,
    .make = &make_with<fragmentation_aware::FragmentationAware, fragmentation_aware::FragmentationAwareArgs>};

}  // namespace koord::descheduler
