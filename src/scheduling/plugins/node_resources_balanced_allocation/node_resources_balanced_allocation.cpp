// NodeResourcesBalancedAllocation: prefers nodes whose resources are used to a like degree.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "koord/api/schema/table.hpp"
#include "koord/base/text.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "koord/scheduling/scoring/resource_args.hpp"
#include "scheduling/extended_resources/extended_resources.hpp"

namespace koord::scheduling {

namespace node_resources_balanced_allocation {

struct NodeResourcesBalancedAllocationArgs {
  std::vector<ResourceSpec> resources;

  void validate(const std::string& path, FieldErrors& errors) const;
  KOORD_STRUCT(NodeResourcesBalancedAllocationArgs);
};
KOORD_OBJECT(NodeResourcesBalancedAllocationArgs, args_kind("NodeResourcesBalancedAllocationArgs"),
             ROW(resources).default_json(kDefaultResources).doc("The resources that count."));

void NodeResourcesBalancedAllocationArgs::validate(const std::string& path, FieldErrors& errors) const {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const std::string at = fmt::format("{}.resources[{}]", path, i);
    if (!seen.insert(resources[i].name).second)
      errors.duplicate(fmt::format("{}.name", at), quote(resources[i].name));
    if (resources[i].weight != 1)
      errors.invalid(fmt::format("{}.weight", at), std::to_string(resources[i].weight), "must be 1");
  }
}

namespace {

struct State final : PodState {
  std::vector<std::int64_t> requests;
};

class BalancedAllocation final : public Plugin, public ScorePlugin, public PreScorePlugin {
 public:
  BalancedAllocation(const NodeResourcesBalancedAllocationArgs& args, const PluginContext& context)
      : scorer_(ResourceScorer::Strategy::balanced, scored_resources(args.resources, context.nodes)) {
    score_devices(scorer_, context);
  }
  bool sign(const PodInfo& pod, Signature& signature) const override {
    for (std::int64_t n : scorer_.requests(pod)) signature.add(n);
    return true;
  }
  Depends score_depends() const override { return Depends::pods; }
  Prepared prepare_score(const PodInfo& pod) override {
    auto state = std::make_unique<State>();
    state->requests = scorer_.requests(pod);
    // Pods that ask for nothing leave the balance as it is everywhere, and would pile up on one node.
    bool nothing = std::all_of(state->requests.begin(), state->requests.end(), [](auto n) { return n == 0; });
    return {std::move(state), nothing};
  }
  void score(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int32_t> out) const override {
    scorer_.score(static_cast<State*>(state)->requests, nodes, rows, out);
  }
  std::int32_t score_view(PodState* state, const NodeTable&, const NodeView& view) const override {
    return scorer_.score(static_cast<State*>(state)->requests, view);
  }

 private:
  ResourceScorer scorer_;
};

}  // namespace
}  // namespace node_resources_balanced_allocation

extern const PluginEntry kNodeResourcesBalancedAllocation{
    .name = "NodeResourcesBalancedAllocation",
    .args = &args_type<node_resources_balanced_allocation::NodeResourcesBalancedAllocationArgs>,
    .make = &make_with<node_resources_balanced_allocation::BalancedAllocation,
                       node_resources_balanced_allocation::NodeResourcesBalancedAllocationArgs>};

}  // namespace koord::scheduling
