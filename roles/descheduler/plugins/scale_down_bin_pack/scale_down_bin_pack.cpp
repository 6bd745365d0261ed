// ScaleDownBinPack: which pods a workload gives up first so that nodes become empty: by the costs of their
// deletion that controllers heed, or by evicting them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/plugin_table.hpp"
#include "koord/api/koordinator/descheduling.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/log.hpp"
#include "koord/base/text.hpp"
#include "koord/json/writer.hpp"
#include "koord/kube/client.hpp"
#include "plugins/choice.hpp"
#include "plugins/scale_down_bin_pack/ranking.hpp"
#include "plugins/selectors.hpp"

namespace koord::descheduler {

namespace scale_down_bin_pack {

constexpr std::string_view kCalculate = "CalculateOnly", kEvict = "EvictDirectly";

struct ScaleDownBinPackArgs {
  bool paused = false;
  std::string strategy;
  std::optional<std::int32_t> max_pods_to_evict;
  api::Box<api::LabelSelector> node_selector;
  std::vector<NamedSelector> pod_selectors;
  api::Box<NamespaceChoice> evictable_namespaces;
  std::vector<std::string> resources;
  Weights resource_weights;

  void complete() {
    for (const std::string& name : resources)
      if (!resource_weights.contains(name)) resource_weights[name] = 1;
  }
  void validate(const std::string& path, api::FieldErrors& errors) const;
  KOORD_STRUCT(ScaleDownBinPackArgs);
};
KOORD_OBJECT(ScaleDownBinPackArgs, descheduler_kind("ScaleDownBinPackArgs"),
             ROW(paused).doc("Nothing is looked at."),
             ROW(strategy)
                 .default_json(R"("CalculateOnly")")
                 .doc("CalculateOnly: writes pods' deletion costs. EvictDirectly: evicts pods."),
             ROW(max_pods_to_evict).doc("In one pass, of EvictDirectly, which needs it."),
             ROW(node_selector).doc("Only nodes with these labels."),
             ROW(pod_selectors).doc("Only pods that one of these selects."),
             ROW(evictable_namespaces).doc("Whose pods these are; absent or empty: all."),
             ROW(resources).default_json(R"(["cpu","memory"])").doc("What counts."),
             ROW(resource_weights).doc("How much; 1 where nothing is said. Others count, too."));

void ScaleDownBinPackArgs::validate(const std::string& path, api::FieldErrors& errors) const {
  if (strategy != kCalculate && strategy != kEvict)
    errors.invalid(field_of(path, "strategy"), quote(strategy),
                   "strategy must be CalculateOnly or EvictDirectly");
  if (strategy == kEvict && max_pods_to_evict.value_or(0) <= 0)
    errors.invalid(field_of(path, "maxPodsToEvict"),
                   max_pods_to_evict ? std::to_string(*max_pods_to_evict) : "null",
                   "maxPodsToEvict must be positive when strategy is EvictDirectly");
  check_selector(node_selector, field_of(path, "nodeSelector"), errors);
  check_some_selector(pod_selectors, field_of(path, "podSelectors"), errors);
  for (std::size_t i = 0; i < pod_selectors.size(); ++i)
    check_selector(pod_selectors[i].selector, fmt::format("{}[{}]", field_of(path, "podSelectors"), i),
                   errors);
  if (evictable_namespaces)
    check_either(evictable_namespaces->include, evictable_namespaces->exclude,
                 field_of(path, "evictableNamespaces"), errors);
  for (const auto& [name, weight] : resource_weights)
    if (!(weight > 0) || std::isinf(weight))
      errors.invalid(fmt::format("{}[{}]", field_of(path, "resourceWeights"), name.view()),
                     fmt::format("{}", weight), "weights must be positive finite floats");
}

namespace {

class ScaleDownBinPack final : public Plugin {
 public:
  ScaleDownBinPack(const ScaleDownBinPackArgs& args, const PluginContext& context)
      : args_(args),
        profile_(context.profile),
        client_(context.client),
        may_write_(context.may_write),
        nodes_(selector_or_all(args.node_selector)),
        pods_(args.pod_selectors),
        choice_({.namespaces = args.evictable_namespaces, .label_selector = {}}) {}

  Task<Result<>> balance(Pass& pass) override {
    if (args_.paused) co_return Result<>();
    std::vector<PodPtr> stay;
    std::vector<Ranked> ranked = sorted(pass, stay);
    rank(ranked, args_.resource_weights);
    if (args_.strategy == kEvict) {
      co_await evict(pass, ranked);
      co_return Result<>();
    }
    co_return co_await write_costs(pass, ranked, stay);
  }

 private:
  bool is_target(const api::Pod& pod) const { return choice_.has(pod) && pods_.has(pod.metadata.labels); }

  /// `stay`: what is meant and may not go.
  std::vector<Ranked> sorted(Pass& pass, std::vector<PodPtr>& stay) const {
    std::vector<Ranked> all;
    for (const NodeView* node : selected_nodes(pass, nodes_)) {
      Ranked ranked{.node = node, .may_go = {}, .others = {}, .score = 0};
      std::vector<PodPtr> stay_here;
      for (const PodPtr& pod : node->pods) {
        if (has_ended(*pod)) continue;
        const bool target = is_target(*pod);
        if (target && pass.may_go(*pod)) {
          ranked.may_go.push_back(pod);
          continue;
        }
        ranked.others.push_back(pod);
        if (target) stay_here.push_back(pod);
      }
      if (ranked.may_go.empty()) continue;
      stay.insert(stay.end(), stay_here.begin(), stay_here.end());
      all.push_back(std::move(ranked));
    }
    return all;
  }

  Task<> evict(Pass& pass, const std::vector<Ranked>& ranked) const {
    std::int32_t left = args_.max_pods_to_evict.value_or(0);
    for (const Ranked& node : ranked)
      for (const PodPtr& pod : node.may_go) {
        if (left <= 0) co_return;
        if (pass.may_go_now(*pod) && co_await pass.evict(pod, "scale-down binpack")) --left;
      }
  }

  Task<Result<>> write_costs(Pass& pass, const std::vector<Ranked>& ranked,
                             const std::vector<PodPtr>& stay) const {
    std::vector<std::pair<PodPtr, std::int32_t>> costs;
    for (const Ranked& node : ranked)
      for (const PodPtr& pod : node.may_go) costs.emplace_back(pod, static_cast<std::int32_t>(costs.size()));
    for (const PodPtr& pod : stay) costs.emplace_back(pod, std::numeric_limits<std::int32_t>::max());
    std::size_t failed = 0;
    for (const auto& [pod, cost] : costs) {
      const std::string text = std::to_string(cost);
      const Symbol* const before = pod->metadata.annotations.find(api::kDeletionCostAnnotation);
      if (before != nullptr && before->view() == text) continue;
      if (pass.dry_run()) {
        pass.log().v(1, "DryRun: would patch deletion cost", kv("pod", pod->metadata.name),
                     kv("namespace", pod->metadata.namespace_.view()), kv("cost", text));
        continue;
      }
      const auto written = co_await write_cost(*pod, text);
      if (written || written.error().code() == Code::not_found) continue;
      ++failed;
      pass.log().warn("Failed to patch pod deletion cost", kv("pod", pod->metadata.name),
                      kv("namespace", pod->metadata.namespace_.view()), kv("error", written.error()));
      if (written.error().code() == Code::unavailable) break;  // this process does not lead any more
    }
    if (failed > 0) co_return Error(Code::unavailable, fmt::format("failed to patch {} pods", failed));
    co_return Result<>();
  }

  Task<Result<>> write_cost(const api::Pod& pod, const std::string& cost) const {
    if (client_ == nullptr || !may_write_()) co_return Error(Code::unavailable, "nothing may be written");
    std::string body;
    json::Writer json(body);
    json.begin_object().key("metadata").begin_object().member("uid", pod.metadata.uid);
    json.key("annotations").begin_object().member(api::kDeletionCostAnnotation, cost);
    json.end_object().end_object().end_object();
    kube::PatchOptions patch;
    patch.may_go = may_write_;
    patch.by = kube::by({.profile = profile_,
                         .plugin = "ScaleDownBinPack",
                         .wanted_by = {},
                         .reason = fmt::format("its cost of deletion is {}", cost)});
    const auto done = co_await client_->patch_raw(
        api::kind<api::Pod>(), {std::string(pod.metadata.namespace_.view()), pod.metadata.name},
        std::move(body), std::move(patch));
    if (!done) co_return done.error();
    co_return Result<>();
  }

  ScaleDownBinPackArgs args_;
  std::string profile_;
  kube::Client* client_;
  std::function<bool()> may_write_;
  api::Selector nodes_;
  AnyOf pods_;
  PodChoice choice_;
};

}  // namespace
}  // namespace scale_down_bin_pack

extern const PluginEntry kScaleDownBinPack{
    .name = "ScaleDownBinPack",
    .args = &args_type<scale_down_bin_pack::ScaleDownBinPackArgs>,
    .balances = true,
    .make = &make_with<scale_down_bin_pack::ScaleDownBinPack, scale_down_bin_pack::ScaleDownBinPackArgs>};

}  // namespace koord::descheduler
