// Owners of reservations: see owners.hpp.
#include "scheduling/plugins/reservation/rules/owners.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/rules/error_texts.hpp"

namespace koord::scheduling::reservation {

namespace {

bool agrees(std::string_view wanted, std::string_view there) { return wanted.empty() || wanted == there; }

/// What a pod's kind is, and at which version of it somebody looks, is no question: nobody writes it.
bool matches(const api::ObjectReference& wanted, const api::Pod& pod) {
  return agrees(wanted.uid, pod.metadata.uid) && agrees(wanted.name, pod.metadata.name) &&
         agrees(wanted.namespace_, pod.metadata.namespace_) && agrees(wanted.api_version, "v1");
}

bool matches(const api::ReservationControllerReference& wanted, const api::Pod& pod) {
  if (!agrees(wanted.namespace_, pod.metadata.namespace_)) return false;
  return std::ranges::any_of(pod.metadata.owner_references, [&](const api::OwnerReference& owner) {
    return (!wanted.owner.controller || wanted.owner.controller == owner.controller) &&
           agrees(wanted.owner.uid, owner.uid) && agrees(wanted.owner.name, owner.name) &&
           agrees(wanted.owner.kind, owner.kind) && agrees(wanted.owner.api_version, owner.api_version);
  });
}

}  // namespace

bool Owners::Term::matches_but_for_labels(const api::Pod& pod) const {
  return (!says.object || reservation::matches(*says.object, pod)) &&
         (!says.controller || reservation::matches(*says.controller, pod));
}

bool Owners::Term::matches(const api::Pod& pod) const {
  return matches_but_for_labels(pod) && (!labels || labels->matches(pod.metadata.labels));
}

Result<Owners> Owners::read(std::span<const api::ReservationOwner> owners) {
  Owners read;
  api::ErrorTexts errors;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    Term term{owners[i]};
    if (term.says.label_selector) {
      auto selector = api::Selector::from(&*term.says.label_selector);
      if (!selector) {
        errors.add([&] { return fmt::format("owners[{}]: {}", i, selector.error().message()); });
        continue;
      }
      term.labels = *std::move(selector);
    }
    read.terms_.push_back(std::move(term));
  }
  if (!errors.empty()) return Error(Code::invalid, errors.aggregate());
  return read;
}

bool Owners::matches(const api::Pod& pod) const {
  return std::ranges::any_of(terms_, [&](const Term& term) { return term.matches(pod); });
}

}  // namespace koord::scheduling::reservation
