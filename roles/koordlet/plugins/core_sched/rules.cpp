// Who shares a core with whom: see rules.hpp.
#include "plugins/core_sched/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "koord/api/koordinator/node_agent.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"

namespace koord::koordlet::core_sched {

namespace {

constexpr std::string_view kPolicy = "coreSched", kNone = "none", kExclusive = "exclusive";
constexpr std::string_view kExpeller = "-expeller";
constexpr std::size_t kLongestLabel = 63;

bool is_label_value(std::string_view text) {
  const auto takes = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return text.size() <= kLongestLabel && std::all_of(text.begin(), text.end(), takes);
}

}  // namespace

void read_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& warnings) {
  Terms said;
  const std::string_view policy = api::value_or(pod.metadata.labels, api::kCoreSchedPolicyLabel);
  const std::string_view group = api::value_or(pod.metadata.labels, api::kCoreSchedGroupLabel);
  said.none = policy == kNone;
  said.exclusive = policy == kExclusive;
  if (is_label_value(group)) {
    said.group = group;
  } else {
    said.exclusive = true;
    warnings.push_back(fmt::format("{}: no value of a label: the pod is alone", api::kCoreSchedGroupLabel));
  }
  if (said != Terms{}) terms.put(std::make_shared<const Terms>(std::move(said)));
}

const Rules::Class& Rules::of(Qos qos, host::KubeQos kube) const {
  switch (qos) {
    case Qos::lse:
    case Qos::lsr: return lsr;
    case Qos::ls: return ls;
    case Qos::be: return be;
    case Qos::system:
    case Qos::none: break;
  }
  switch (kube) {
    case host::KubeQos::guaranteed: return lsr.enabled ? lsr : ls;
    case host::KubeQos::burstable: return ls;
    case host::KubeQos::besteffort: break;
  }
  return be;
}

Rules rules(const api::NodeSloSpec* slo) {
  Rules all;
  if (slo == nullptr || !slo->resource_qos_strategy) return all;
  const api::ResourceQosStrategy& strategy = *slo->resource_qos_strategy;
  if (!strategy.policies || strategy.policies->cpu_policy != kPolicy) return all;
  const auto take = [&all](const auto& of, Rules::Class& to) {
    if (!of || !of->cpu_qos) return;
    to = {of->cpu_qos->enable == true, of->cpu_qos->qos.core_expeller == true,
          of->cpu_qos->qos.sched_idle == 1};
    all.enabled = all.enabled || to.enabled;
  };
  take(strategy.lsr_class, all.lsr);
  take(strategy.ls_class, all.ls);
  take(strategy.be_class, all.be);
  return all;
}

std::optional<std::string> group_of(const Rules& rules, const PodInfo& pod) {
  static const Terms kSaysNothing;
  const auto* const found = pod.terms.find<Terms>();
  const Terms& terms = found == nullptr ? kSaysNothing : *found;
  const Rules::Class& of = rules.of(pod.qos, pod.kube_qos);
  if (!of.enabled || terms.none || pod.qos == Qos::system) return std::nullopt;
  const std::string_view name = terms.exclusive ? pod.uid : terms.group;
  // "g-expeller" of a label is not g of a class that has others make way, though both are shown so.
  return fmt::format("{}{}/{}{}", !of.expeller && name.ends_with(kExpeller) ? "plain-" : "",
                     terms.exclusive ? "pod" : "group", name, of.expeller ? kExpeller : std::string_view());
}

}  // namespace koord::koordlet::core_sched
