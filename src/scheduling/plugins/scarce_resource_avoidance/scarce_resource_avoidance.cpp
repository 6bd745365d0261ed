// ScarceResourceAvoidance: leaves nodes with resources that are scarce to the pods that ask for them.
#include <algorithm>
#include <set>

#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling {

namespace scarce_resource_avoidance {

struct ScarceResourceAvoidanceArgs {
  std::vector<std::string> resources;

  void validate(const std::string&, FieldErrors&) const {}
  KOORD_STRUCT(ScarceResourceAvoidanceArgs);
};
KOORD_OBJECT(ScarceResourceAvoidanceArgs, args_kind("ScarceResourceAvoidanceArgs"),
             ROW(resources).doc("The resources that are scarce."));

namespace {

struct State final : PodState {
  std::set<std::string, std::less<>> asked;  // names of resources
};

bool counts(std::string_view name) {
  const ResourceId fixed = fixed_resource(name);
  return fixed == kFirstScalar ? is_scalar_resource(name) : fixed != kPods;
}

class ScarceResourceAvoidance final : public Plugin, public ScorePlugin, public PreScorePlugin {
 public:
  ScarceResourceAvoidance(const ScarceResourceAvoidanceArgs& args, const PluginContext& context)
      : context_(context), scarce_(args.resources.begin(), args.resources.end()) {}

  bool sign(const PodInfo& pod, Signature& signature) const override {
    for (const std::string& name : asked(pod)) signature.add(name);
    return true;
  }
  Depends score_depends() const override { return Depends::node; }
  Prepared prepare_score(const PodInfo& pod) override {
    auto state = std::make_unique<State>();
    state->asked = asked(pod);
    return {std::move(state), false};
  }
  /// The share, of what the node has and the pod does not ask for, that is not scarce; 100 where none is.
  void score(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int32_t> out) const override {
    const auto& asked = static_cast<const State*>(state)->asked;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::int32_t others = 0, scarce = 0;
      for (const auto& [name, quantity] : nodes.node(rows[i])->status.allocatable) {
        if (quantity.sign() <= 0 || !counts(name) || asked.contains(name.view())) continue;
        ++others;
        if (scarce_.contains(name.view())) ++scarce;
      }
      out[i] = scarce == 0 ? 100 : (others - scarce) * 100 / others;
    }
  }

 private:
  std::set<std::string, std::less<>> asked(const PodInfo& pod) const {
    const Requests& r = pod.requests;
    std::set<std::string, std::less<>> names;
    if (r.cpu > 0) names.insert("cpu");
    if (r.memory > 0) names.insert("memory");
    if (r.storage > 0) names.insert("ephemeral-storage");
    for (const Amount& a : r.scalars) names.insert(std::string(context_.nodes.resources().name(a.resource)));
    return names;
  }

  PluginContext context_;
  std::set<std::string, std::less<>> scarce_;
};

}  // namespace
}  // namespace scarce_resource_avoidance

extern const PluginEntry kScarceResourceAvoidance{
    .name = "ScarceResourceAvoidance",
    .args = &args_type<scarce_resource_avoidance::ScarceResourceAvoidanceArgs>,
    .make = &make_with<scarce_resource_avoidance::ScarceResourceAvoidance,
                       scarce_resource_avoidance::ScarceResourceAvoidanceArgs>};

}  // namespace koord::scheduling
