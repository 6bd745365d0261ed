// NodeResourcesBalancedAllocation: see node_resources_balanced_allocation.hpp.
#include "plugins/node_resources_balanced_allocation/node_resources_balanced_allocation.hpp"

#include <algorithm>
#include <set>

#include "koord/api/schema/table.hpp"
#include "koord/base/text.hpp"

namespace koord::scheduler::node_resources_balanced_allocation {

const ArgsType kArgs = args_type<NodeResourcesBalancedAllocationArgs>("NodeResourcesBalancedAllocationArgs");

void NodeResourcesBalancedAllocationArgs::validate(const std::string& path, FieldErrors& errors) const {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    std::string at = path + ".resources[" + std::to_string(i) + "]";
    if (!seen.insert(resources[i].name).second) errors.duplicate(at + ".name", quote(resources[i].name));
    if (resources[i].weight != 1)
      errors.invalid(at + ".weight", std::to_string(resources[i].weight), "must be 1");
  }
}

namespace {

struct State final : PodState {
  std::vector<std::int64_t> requests;
};

class BalancedAllocation final : public Plugin, public ScorePlugin {
 public:
  BalancedAllocation(const NodeResourcesBalancedAllocationArgs& args, const PluginContext& context)
      : scorer_(ResourceScorer::Strategy::balanced, scored_resources(args.resources, context.nodes)) {}
  std::string_view name() const override { return "NodeResourcesBalancedAllocation"; }
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

 private:
  ResourceScorer scorer_;
};

}  // namespace

Result<std::unique_ptr<Plugin>> make(const Args& args, const PluginContext& context) {
  return std::unique_ptr<Plugin>(std::make_unique<BalancedAllocation>(
      *static_cast<const NodeResourcesBalancedAllocationArgs*>(args.get()), context));
}

KOORD_OBJECT(NodeResourcesBalancedAllocationArgs, args_kind("NodeResourcesBalancedAllocationArgs"),
             ROW(resources).doc("The resources that count; cpu and memory if none is named."));

}  // namespace koord::scheduler::node_resources_balanced_allocation
