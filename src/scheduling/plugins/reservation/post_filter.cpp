// What is said of reservations when a pod found no node.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <unordered_map>

#include "koord/api/rules/node_selector.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/scheduling/classes/class_state.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "scheduling/plugins/reservation/rules/event_text.hpp"
#include "scheduling/plugins/reservation/rules/why_not.hpp"
#include "scheduling/plugins/reservation/states.hpp"

namespace koord::scheduling::reservation {

/// Who is refused by preemption hears of it first. Nobody else is asked once it has helped, or failed.
PostFilterResult Reservations::post_filter(PodAttempt& attempt, const Diagnosis& diagnosis) {
  PostFilterResult result{.status = {StatusCode::unschedulable, {}}};
  if (preemptor_) result = preemptor_->make_room(attempt, diagnosis);
  if (result.status.code != StatusCode::unschedulable) return result;
  if (const std::string why = why_not(attempt, diagnosis); !why.empty())
    result.status.message += (result.status.message.empty() ? "" : ", ") + why;
  return result;
}

void Reservations::preempted(const api::Pod& pod, bool all) {
  if (preemptor_) preemptor_->preempted(pod, all);
}

/// Of the reservations that are for the pod's owners: empty, where it asks for none.
std::string Reservations::why_not(const PodAttempt& attempt, const Diagnosis& diagnosis) const {
  const PodInfo& pod = attempt.in_place ? *attempt.in_place : attempt.pod;
  auto wants = Wants::read(pod.pod->metadata);
  if (!wants || is_reserve_pod(*pod.pod)) return {};
  WhyNot why;
  std::unordered_map<Row, std::ptrdiff_t> told;  // how many of a row's reservations have said why themselves
  const api::RequiredNodeAffinity where(pod.pod->spec);
  const api::ResourceList asked = api::pod_requests(*pod.pod);
  const Looked looked_at = looked(*wants);
  // Whoever ignores them, or is one, is nobody's owner.
  const auto owned = wants->ignores || operates_as_reservation(*pod.pod) ? std::vector<const Ledger::Entry*>()
                                                                         : ledger_.owned_by(pod);
  for (const Ledger::Entry* e : owned) {
    const std::shared_ptr<const api::Node>& node = context_.nodes.node(e->row);
    if (!node || !looked_at.at(e->node) || !where.matches(*node)) continue;
    const api::Taint* taint = nullptr;
    const Match said =
        match(*wants, *e->facts, true, asked, omits_node_labels_ ? nullptr : &node->metadata.labels, &taint);
    why.count(said, taint, [&] {
      if (!diagnosis.prefilter_message.empty()) return Reasons{diagnosis.prefilter_message};
      Reasons reasons = context_.verdicts[attempt.state().verdict(e->row)].reasons;
      const auto own = [](const std::string& reason) { return reason.starts_with("Reservation(s) "); };
      const auto [it, first] = told.try_emplace(e->row, std::ranges::count_if(reasons, own));
      if (it->second-- > 0) return Reasons();
      std::erase_if(reasons, own);
      return reasons;
    });
  }
  return fmt::format("{}", fmt::join(why.reasons(wants->affinity.has_value()), ", "));
}

std::optional<FailureEventPlugin::Event> Reservations::event_of_failure(const api::Pod& pod,
                                                                        std::string_view message) const {
  if (!pod.metadata.annotations.contains(api::ReservationAffinity::kAnnotation) || is_reserve_pod(pod))
    return std::nullopt;
  std::optional<std::string> told = about_reservations(message);
  if (!told) return std::nullopt;
  // A reason of its own: events of one reason are counted as one.
  return Event{"FailedScheduling-Reservation", *std::move(told)};
}

}  // namespace koord::scheduling::reservation
