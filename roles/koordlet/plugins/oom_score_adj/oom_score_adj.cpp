// OOM scores: the processes of a container have the oom_score_adj that their pod says (koordinator.sh/
// oom-score-adj, or by container -spec), beside what the kubelet gave them by the pod's class.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "framework/action/actions.hpp"
#include "framework/action/process_kind.hpp"
#include "framework/hooks/hook.hpp"
#include "framework/hooks/reconciler.hpp"
#include "framework/qos/plugin.hpp"

namespace koord::koordlet {

namespace oom_score_adj {
namespace {

class OomScoreAdj final : public Strategy {
 public:
  explicit OomScoreAdj(const PluginContext& context) : context_(context) {}

  void plan(const TickView& view, Plan& plan) override {
    const Inventory& inventory = *view.inventory;
    std::size_t spared = 0;
    for (const auto& pod : inventory.all_pods) {
      const HookTerms& terms = terms_of(*pod);
      if ((!terms.oom_score && terms.oom_scores.empty()) || terms.virtual_machine) continue;
      if (context_.actions.is_spared(*pod)) {
        ++spared;
        continue;
      }
      for (const ContainerInfo& container : pod->containers)
        if (const auto score = terms.oom_score_of(container.name))
          plan.set({.kind = &kOomScoreAdjKind,
                    .pod = pod,
                    .container = container.name,
                    .group = container.group,
                    .value = *score});
    }
    status_.active = !plan.processes().empty();
    status_.summary = fmt::format("the scores of {} containers", plan.processes().size());
    if (spared > 0)
      status_.summary.append(fmt::format("; {} pods that nothing may end keep their own", spared));
  }
  void release(const Inventory&, Plan&) override { status_ = {false, "off: its gate is"}; }
  StrategyStatus status() const override { return status_; }

 private:
  const PluginContext& context_;
  StrategyStatus status_;
};

/// At its birth a container has it from its first process on. Whether nothing may end a pod only the
/// inventory knows.
void answer(const HookFacts&, const HookTarget& target, HookAnswer& answer) {
  if (target.level != HookLevel::container || target.pod->requests_unknown) return;
  if (!target.pod->never_stop.empty()) return;
  answer.oom_score_adj = terms_of(*target.pod).oom_score_of(target.container->name);
}

constexpr Hook kHook{.audit_reason = "OOMScoreAdj", .answer = &answer};
constexpr std::string_view kGates[] = {"OOMScoreAdj"};

}  // namespace
}  // namespace oom_score_adj

extern const StrategyEntry kOomScoreAdj{
    .name = "OOMScoreAdj",
    .gates = oom_score_adj::kGates,
    .replan = Replan::on_change,
    .hold = kHookHold,
    .sets = &kOomScoreAdjKind,
    .needs_slo = false,
    .hook = &oom_score_adj::kHook,
    .terms = &read_hook_terms,
    .make = &make<oom_score_adj::OomScoreAdj>,
};

}  // namespace koord::koordlet
