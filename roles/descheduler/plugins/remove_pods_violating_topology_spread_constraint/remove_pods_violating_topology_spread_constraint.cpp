// RemovePodsViolatingTopologySpreadConstraint: pods whose going makes those that are to be spread even.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "framework/plugin_table.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/base/log.hpp"
#include "plugins/choice.hpp"
#include "plugins/remove_pods_violating_topology_spread_constraint/domains.hpp"

namespace koord::descheduler {

namespace topology_spread {

constexpr std::string_view kHard = "DoNotSchedule", kSoft = "ScheduleAnyway";

struct RemovePodsViolatingTopologySpreadConstraintArgs {
  PodChoiceArgs pods;
  std::vector<std::string> constraints;
  std::optional<bool> topology_balance_node_fit;

  void validate(const std::string& path, api::FieldErrors& errors) const {
    pods.validate(path, errors);
    for (const std::string& each : constraints)
      if (each != kHard && each != kSoft)
        errors.add(found_at(
            path, fmt::format("constraint {} is not one of map[{}:{{}} {}:{{}}]", each, kHard, kSoft)));
  }
  KOORD_STRUCT(RemovePodsViolatingTopologySpreadConstraintArgs);
};
KOORD_OBJECT(RemovePodsViolatingTopologySpreadConstraintArgs,
             descheduler_kind("RemovePodsViolatingTopologySpreadConstraintArgs"), ROW(pods).inlined(),
             ROW(constraints)
                 .default_json(R"(["DoNotSchedule"])")
                 .doc("Which constraints count: DoNotSchedule, ScheduleAnyway."),
             ROW(topology_balance_node_fit)
                 .default_json("true")
                 .doc("Only pods that fit on a node of a domain with fewer pods than the average."));

namespace {

class RemovePodsViolatingTopologySpreadConstraint final : public Plugin {
 public:
  RemovePodsViolatingTopologySpreadConstraint(const RemovePodsViolatingTopologySpreadConstraintArgs& args,
                                              const PluginContext&)
      : args_(args), choice_(args.pods) {}

  Task<Result<>> balance(Pass& pass) override {
    std::map<std::string_view, std::vector<PodPtr>> by_namespace;
    for (const NodeView* node : pass.nodes())
      for (const PodPtr& pod : node->pods)
        if (!has_ended(*pod) && choice_.has(*pod))
          by_namespace[pod->metadata.namespace_.view()].push_back(pod);
    std::vector<PodPtr> all;
    std::unordered_set<const api::Pod*> seen;
    for (const auto& [ns, pods] : by_namespace)
      for (const Constraint& constraint : constraints_of(pass, pods))
        for (const PodPtr& pod : surplus(pass, constraint, pods))
          if (seen.insert(pod.get()).second) all.push_back(pod);
    for (const PodPtr& pod : all)
      if (pass.may_go(*pod) && pass.may_go_now(*pod))
        co_await pass.evict(pod, "the pod's domain has more pods than its topology spread allows");
    co_return Result<>();
  }

 private:
  /// Each once, in the order of the pods.
  std::vector<Constraint> constraints_of(Pass& pass, const std::vector<PodPtr>& pods) const {
    std::vector<Constraint> all;
    std::unordered_set<std::string> names;
    for (const PodPtr& pod : pods)
      for (const api::TopologySpreadConstraint& asked : pod->spec.topology_spread_constraints) {
        if (std::ranges::find(args_.constraints, asked.when_unsatisfiable.view()) == args_.constraints.end())
          continue;
        auto constraint = Constraint::make(asked, *pod);
        if (!constraint)
          pass.log().warn("cannot process topology spread constraint", kv("pod", pod->metadata.name),
                          kv("namespace", pod->metadata.namespace_.view()), kv("error", constraint.error()));
        else if (names.insert(constraint->name()).second)
          all.push_back(std::move(*constraint));
      }
    return all;
  }
  std::vector<PodPtr> surplus(Pass& pass, const Constraint& constraint,
                              const std::vector<PodPtr>& pods) const {
    Domains domains(constraint, pass.nodes(), pods, pass.snapshot());
    if (domains.balanced()) return {};
    const std::vector<const NodeView*> targets = domains.nodes_below_average();
    domains.sort([&](const api::Pod& pod) { return pass.may_go(pod); });
    const auto fits = [&](const api::Pod& pod) { return pass.node_fit().fits_elsewhere(pod, targets); };
    std::vector<PodPtr> all =
        domains.surplus([&](const api::Pod& pod) { return pass.may_go(pod) && fits(pod); });
    if (args_.topology_balance_node_fit.value_or(true))
      std::erase_if(all, [&](const PodPtr& pod) { return !fits(*pod); });
    return all;
  }

  RemovePodsViolatingTopologySpreadConstraintArgs args_;
  PodChoice choice_;
};

}  // namespace
}  // namespace topology_spread

extern const PluginEntry kRemovePodsViolatingTopologySpreadConstraint{
    .name = "RemovePodsViolatingTopologySpreadConstraint",
    .args = &args_type<topology_spread::RemovePodsViolatingTopologySpreadConstraintArgs>,
    .balances = true,
    .make = &make_with<topology_spread::RemovePodsViolatingTopologySpreadConstraint,
                       topology_spread::RemovePodsViolatingTopologySpreadConstraintArgs>};

}  // namespace koord::descheduler
