// Owners: for which pods a reservation keeps its room.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "koord/api/rules/selector.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/base/result.hpp"

namespace koord::scheduling::reservation {

/// Any of the terms; of a term all that it says. No terms match nothing, one that says nothing matches all.
class Owners {
 public:
  struct Term {
    api::ReservationOwner says;
    std::optional<api::Selector> labels = {};

    bool matches(const api::Pod& pod) const;
    /// The same without its labels.
    bool matches_but_for_labels(const api::Pod& pod) const;
  };

  Owners() = default;
  /// An error says which selectors make no sense: with one of them broken nobody owns anything.
  static Result<Owners> read(std::span<const api::ReservationOwner> owners);
  bool matches(const api::Pod& pod) const;
  std::span<const Term> terms() const { return terms_; }

 private:
  std::vector<Term> terms_;
};

}  // namespace koord::scheduling::reservation
