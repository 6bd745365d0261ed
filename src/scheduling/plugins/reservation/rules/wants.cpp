// What pods say of reservations: see wants.hpp.
#include "scheduling/plugins/reservation/rules/wants.hpp"

#include <fmt/format.h>

#include "koord/api/rules/toleration.hpp"

namespace koord::scheduling::reservation {

namespace {

constexpr const char* kClosed = "node.kubernetes.io/unschedulable";

Result<Affinity> compile(api::ReservationAffinity said) {
  Affinity affinity{.name = std::move(said.name)};
  if (!said.reservation_selector.empty())
    affinity.labels = api::Selector::from_labels(said.reservation_selector);
  if (said.required) {
    api::NodeSelector terms;
    for (const api::NodeSelectorTerm& term : said.required->reservation_selector_terms)
      terms.node_selector_terms.push_back(term);
    api::ErrorTexts errors;
    affinity.terms.emplace(terms, std::string_view(), &errors);
    if (!errors.empty()) return Error(Code::invalid, errors.aggregate());
  }
  affinity.selector = std::move(said.reservation_selector);
  affinity.tolerations = std::move(said.tolerations);
  api::Taint closed;
  closed.key = kClosed;
  closed.effect = Symbol(api::kNoSchedule);
  affinity.tolerates_closed =
      api::tolerates(std::span(affinity.tolerations.begin(), affinity.tolerations.end()), closed);
  return affinity;
}

bool matches(const Affinity& affinity, const Facts& r, const api::SymbolMap* node_labels) {
  if (!affinity.labels && !affinity.terms) return true;
  const auto holds = [&](const api::SymbolMap& labels) {
    if (affinity.labels && !affinity.labels->matches(labels)) return false;
    return !affinity.terms || affinity.terms->matches(labels, r.name);
  };
  if (node_labels == nullptr) return holds(r.labels);
  api::SymbolMap both = *node_labels;
  for (const auto& [key, value] : r.labels) both[key] = value;
  return holds(both);
}

}  // namespace

Result<Wants> Wants::read(const api::ObjectMeta& pod) {
  Wants wants;
  wants.ignores = api::ignores_reservations(pod);
  KOORD_TRY(affinity, api::reservation_affinity(pod));
  if (affinity) {
    auto compiled = compile(*std::move(affinity));
    if (!compiled) return std::move(compiled).error().context(api::ReservationAffinity::kAnnotation);
    wants.affinity = *std::move(compiled);
  }
  KOORD_TRY(exact, api::read_annotation<api::ExactMatchReservation>(pod.annotations));
  wants.exact = std::move(exact);
  return wants;
}

Match match(const Wants& wants, const Facts& r, bool is_owner, const api::ResourceList& requests,
            const api::SymbolMap* node_labels, const api::Taint** taint) {
  if (wants.ignores) return Match::ignored;
  if (!is_owner) return Match::foreign;
  const auto exact = [&] {
    return !wants.exact || api::matches_exactly(*wants.exact, requests, r.allocatable);
  };
  if (!wants.affinity) return r.closed ? Match::closed : exact() ? Match::matched : Match::not_exact;
  const Affinity& affinity = *wants.affinity;
  if (!affinity.name.empty()) {
    if (affinity.name != r.name) return Match::other_name;
    return exact() ? Match::named : Match::not_exact;
  }
  if (r.closed && !affinity.tolerates_closed) return Match::closed;
  const api::Taint* const first =
      api::untolerated(std::span(r.taints.begin(), r.taints.end()),
                       std::span(affinity.tolerations.begin(), affinity.tolerations.end()));
  if (first != nullptr) {
    if (taint != nullptr) *taint = first;
    return Match::tainted;
  }
  if (!matches(affinity, r, node_labels)) return Match::affinity;
  return exact() ? Match::matched : Match::not_exact;
}

}  // namespace koord::scheduling::reservation
