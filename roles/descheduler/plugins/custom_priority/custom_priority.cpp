// CustomPriority: pods move from nodes of dear levels to nodes of cheaper ones, one by one or by whole nodes.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "framework/plugin_table.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/base/log.hpp"
#include "koord/json/writer.hpp"
#include "koord/kube/client.hpp"
#include "plugins/choice.hpp"
#include "plugins/custom_priority/targets.hpp"
#include "plugins/selectors.hpp"

namespace koord::descheduler {

namespace custom_priority {

constexpr std::string_view kBestEffort = "BestEffort", kDrainNode = "DrainNode";
/// After so many pods in a row that fit nowhere no larger one of the node is tried.
constexpr int kMostMisses = 5;

struct ResourcePriority {
  std::string name;
  api::Box<api::LabelSelector> node_selector;
  api::Box<Percentages> keep_threshold, reject_threshold;
  KOORD_STRUCT(ResourcePriority);
};

struct CustomPriorityArgs {
  bool paused = false, dry_run = false;
  api::Box<NamespaceChoice> evictable_namespaces;
  api::Box<api::LabelSelector> node_selector;
  std::vector<NamedSelector> pod_selectors;
  std::optional<bool> node_fit;
  std::vector<ResourcePriority> eviction_order;
  std::string mode;
  bool auto_cordon = false;

  void validate(const std::string& path, api::FieldErrors& errors) const;
  KOORD_STRUCT(CustomPriorityArgs);
};

KOORD_SCHEMA(ResourcePriority, ROW(name).doc("The level's."), ROW(node_selector).doc("Its nodes, by labels."),
             ROW(keep_threshold)
                 .doc("Per cent by resource: a node of which no more than this is asked keeps its pods."),
             ROW(reject_threshold)
                 .doc("Per cent by resource: a node takes no pod with which more than this would be asked."));
KOORD_OBJECT(
    CustomPriorityArgs, descheduler_kind("CustomPriorityArgs"), ROW(paused).doc("Nothing is looked at."),
    ROW(dry_run).doc("Nothing is evicted and no node cordoned."),
    ROW(evictable_namespaces).doc("Whose pods may go; absent or empty: all."),
    ROW(node_selector).doc("Only nodes with these labels."),
    ROW(pod_selectors).doc("Only pods that one of these selects."),
    ROW(node_fit).default_json("true").doc("Only pods that fit on a node of a later level."),
    ROW(eviction_order).doc("The levels, those first that pods are to leave; two at least."),
    ROW(mode)
        .default_json(R"("BestEffort")")
        .doc("BestEffort: every pod that fits elsewhere. DrainNode: only all pods of a node at once."),
    ROW(auto_cordon).doc("DrainNode: the node is cordoned before its pods go."));

namespace {

std::string wrong_thresholds(std::size_t i, std::string_view field, const api::Box<Percentages>& thresholds) {
  if (!thresholds) return {};
  for (const auto& [name, value] : *thresholds)
    if (!(value >= 0 && value <= 100))
      return fmt::format(
          "priority[{}].{} is invalid: resource threshold for {} must be between 0 and 100, got {:f}", i,
          field, name.view(), value);
  return {};
}

/// What is wrong with the levels; empty: nothing.
std::string wrong_levels(const std::vector<ResourcePriority>& levels) {
  if (levels.size() < 2) return "CustomPriority requires at least 2 resource priority levels";
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const ResourcePriority& level = levels[i];
    if (level.name.empty()) return "priority name cannot be empty";
    if (!names.insert(level.name).second) return "duplicate priority name: " + level.name;
    if (!level.node_selector) return fmt::format("priority {} must have a nodeSelector", level.name);
    if (std::string wrong = wrong_thresholds(i, "keepThreshold", level.keep_threshold); !wrong.empty())
      return wrong;
    if (std::string wrong = wrong_thresholds(i, "rejectThreshold", level.reject_threshold); !wrong.empty())
      return wrong;
  }
  return {};
}

}  // namespace

void CustomPriorityArgs::validate(const std::string& path, api::FieldErrors& errors) const {
  if (const std::string wrong = wrong_levels(eviction_order); !wrong.empty())
    return errors.add(found_at(path, wrong));
  check_selector(node_selector, field_of(path, "nodeSelector"), errors);
  for (std::size_t i = 0; i < eviction_order.size(); ++i)
    check_selector(eviction_order[i].node_selector,
                   fmt::format("{}[{}].nodeSelector", field_of(path, "evictionOrder"), i), errors);
  check_some_selector(pod_selectors, field_of(path, "podSelectors"), errors);
  for (std::size_t i = 0; i < pod_selectors.size(); ++i)
    check_selector(pod_selectors[i].selector, fmt::format("{}[{}]", field_of(path, "podSelectors"), i),
                   errors);
  if (mode != kBestEffort && mode != kDrainNode)
    errors.add(found_at(path, fmt::format("invalid mode: {}, supported: BestEffort, DrainNode", mode)));
}

namespace {

struct Level {
  const ResourcePriority* level = nullptr;
  std::vector<const NodeView*> nodes;  // by name
};

class CustomPriority final : public Plugin {
 public:
  CustomPriority(const CustomPriorityArgs& args, const PluginContext& context)
      : args_(args),
        profile_(context.profile),
        client_(context.client),
        may_write_(context.may_write),
        nodes_(selector_or_all(args.node_selector)),
        pods_(args.pod_selectors),
        choice_({.namespaces = args.evictable_namespaces, .label_selector = {}}) {
    for (const ResourcePriority& level : args_.eviction_order)
      levels_.push_back(selector_or_all(level.node_selector));
  }

  Task<Result<>> balance(Pass& pass) override {
    if (args_.paused) co_return Result<>();
    const std::vector<Level> levels = sorted(pass);
    for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
      Targets targets = targets_after(levels, i);
      for (const NodeView* node : levels[i].nodes) {
        if (keeps(*levels[i].level, *node)) continue;
        const std::vector<PodPtr> pods = movable(pass, *node);
        if (pods.empty()) continue;
        if (args_.mode == kDrainNode)
          co_await drain(pass, *levels[i].level, *node, pods, targets);
        else
          co_await move(pass, *levels[i].level, pods, targets);
      }
    }
    co_return Result<>();
  }

 private:
  /// Each node in the first level that it is of; levels without nodes are left out.
  std::vector<Level> sorted(const Pass& pass) const {
    std::vector<Level> all(levels_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i].level = &args_.eviction_order[i];
    for (const NodeView* node : selected_nodes(pass, nodes_))
      for (std::size_t i = 0; i < levels_.size(); ++i) {
        if (!levels_[i].matches(node->node->metadata.labels)) continue;
        all[i].nodes.push_back(node);
        break;
      }
    std::erase_if(all, [](const Level& level) { return level.nodes.empty(); });
    return all;
  }
  static Targets targets_after(const std::vector<Level>& levels, std::size_t source) {
    std::vector<Targets::Target> targets;
    for (std::size_t i = source + 1; i < levels.size(); ++i)
      for (const NodeView* node : levels[i].nodes)
        targets.push_back({node, levels[i].level->reject_threshold.get()});
    return Targets(std::move(targets));
  }
  static bool keeps(const ResourcePriority& level, const NodeView& node) {
    return level.keep_threshold &&
           !is_above(used_on(node), node.node->status.allocatable, *level.keep_threshold);
  }
  /// Those that ask for the least first.
  std::vector<PodPtr> movable(Pass& pass, const NodeView& node) const {
    using Key = std::tuple<std::int64_t, std::int64_t>;
    std::vector<std::pair<Key, PodPtr>> keyed;
    for (const PodPtr& pod : node.pods) {
      if (has_ended(*pod) || !choice_.has(*pod) || !pods_.has(pod->metadata.labels) || !pass.may_go(*pod))
        continue;
      const api::ResourceList asked = api::pod_requests(*pod, {.use_status = false});
      const api::Quantity *cpu = asked.find("cpu"), *memory = asked.find("memory");
      keyed.emplace_back(
          Key(cpu != nullptr ? cpu->milli_value() : 0, memory != nullptr ? memory->value() : 0), pod);
    }
    std::ranges::stable_sort(keyed, {}, [](const auto& each) { return each.first; });
    std::vector<PodPtr> pods;
    pods.reserve(keyed.size());
    for (auto& [key, pod] : keyed) pods.push_back(std::move(pod));
    return pods;
  }

  Task<> move(Pass& pass, const ResourcePriority& level, std::vector<PodPtr> pods, Targets& targets) const {
    const std::string reason =
        fmt::format("evicting from {} priority resource to lower priority resource", level.name);
    NodeFit* const fits = args_.node_fit.value_or(true) ? &pass.node_fit() : nullptr;
    const bool asks = fits != nullptr || targets.rejects();
    int misses = 0;
    for (const PodPtr& pod : pods) {
      if (misses >= kMostMisses) break;
      const NodeView* const target = asks ? targets.place(*pod, fits) : nullptr;
      if (asks && target == nullptr) {
        ++misses;
        continue;
      }
      misses = 0;
      if (!co_await go(pass, pod, reason) && target != nullptr) targets.take_back(*pod, *target);
    }
  }

  Task<> drain(Pass& pass, const ResourcePriority& level, const NodeView& node, std::vector<PodPtr> pods,
               Targets& targets) const {
    Targets tried = targets;
    NodeFit* const fits = args_.node_fit.value_or(true) ? &pass.node_fit() : nullptr;
    if (!std::ranges::all_of(pods, [&](const PodPtr& pod) { return tried.place(*pod, fits) != nullptr; }))
      co_return;
    const bool cordons = args_.auto_cordon && !node.node->spec.unschedulable && !args_.dry_run;
    if (cordons && !co_await cordon(pass, *node.node, true)) co_return;
    targets = std::move(tried);
    const std::string reason =
        fmt::format("drain node {} (sourcePriority={})", node.node->metadata.name, level.name);
    for (const PodPtr& pod : pods) {
      if (co_await go(pass, pod, reason)) continue;
      if (cordons) co_await cordon(pass, *node.node, false);
      co_return;
    }
  }

  Task<bool> go(Pass& pass, PodPtr pod, std::string reason) const {
    if (!args_.dry_run) co_return pass.may_go_now(*pod) && co_await pass.evict(pod, reason);
    pass.log().info("Would evict pod in dry run mode", kv("pod", pod->metadata.name),
                    kv("namespace", pod->metadata.namespace_.view()), kv("reason", reason));
    co_return true;
  }

  /// Whether it is as wanted now, or would be but for a dry run.
  Task<bool> cordon(Pass& pass, const api::Node& node, bool wanted) const {
    const std::string_view what = wanted ? "cordon" : "uncordon";
    if (pass.dry_run()) {
      pass.log().info("DryRun: a node would be changed", kv("node", node.metadata.name), kv("change", what));
      co_return true;
    }
    Result<> done = Error(Code::unavailable, "nothing may be written");
    if (client_ != nullptr && may_write_()) {
      std::string body;
      json::Writer json(body);
      json.begin_object().key("metadata").begin_object().member("uid", node.metadata.uid).end_object();
      json.key("spec").begin_object().member("unschedulable", wanted).end_object().end_object();
      kube::PatchOptions patch;
      patch.may_go = may_write_;
      patch.by = kube::by({.profile = profile_,
                           .plugin = "CustomPriority",
                           .wanted_by = {},
                           .reason = fmt::format("{}: its pods move to cheaper nodes", what)});
      const auto answer = co_await client_->patch_raw(api::kind<api::Node>(), {"", node.metadata.name},
                                                      std::move(body), std::move(patch));
      done = answer ? Result<>() : Result<>(answer.error());
    }
    if (done)
      pass.log().info("a node was changed", kv("node", node.metadata.name), kv("change", what));
    else
      pass.log().warn("a node was not changed", kv("node", node.metadata.name), kv("change", what),
                      kv("error", done.error()));
    co_return done.has_value();
  }

  CustomPriorityArgs args_;
  std::string profile_;
  kube::Client* client_;
  std::function<bool()> may_write_;
  api::Selector nodes_;
  std::vector<api::Selector> levels_;
  AnyOf pods_;
  PodChoice choice_;
};

}  // namespace
}  // namespace custom_priority

extern const PluginEntry kCustomPriority{
    .name = "CustomPriority",
    .args = &args_type<custom_priority::CustomPriorityArgs>,
    .balances = true,
    .make = &make_with<custom_priority::CustomPriority, custom_priority::CustomPriorityArgs>};

}  // namespace koord::descheduler
