// Wants: what a pod says of reservations, and whether one of them will do.
#pragma once

#include <optional>
#include <string>

#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/rules/node_selector.hpp"
#include "koord/api/rules/selector.hpp"
#include "koord/base/result.hpp"
#include "scheduling/plugins/reservation/rules/facts.hpp"

namespace koord::scheduling::reservation {

/// How a reservation and a pod that may be its owner go together.
enum class Match : std::uint8_t {
  ignored,  // the pod takes room whether it is reserved or not
  matched,
  named,  // by its name
  // What speaks against it, of pods that it is for.
  other_name,
  closed,
  tainted,
  affinity,
  not_exact,
  foreign,  // it is not for this pod
};
constexpr bool serves(Match match) { return match <= Match::named; }

struct Affinity {
  std::string name;  // set: this one, and nothing else is asked
  api::SymbolMap selector = {};
  std::optional<api::Selector> labels = {};
  std::optional<api::CompiledNodeSelector> terms = {};
  api::List<api::Toleration> tolerations = {};
  bool tolerates_closed = false;
};

struct Wants {
  bool ignores = false;
  /// Set: it wants a reservation, and no room without.
  std::optional<Affinity> affinity = {};
  std::optional<api::ExactMatchReservation> exact = {};

  /// An error names the annotation that nobody can read.
  static Result<Wants> read(const api::ObjectMeta& pod);
  bool empty() const { return !ignores && !affinity && !exact; }
};

/// In Koordinator's order. `is_owner`: the reservation's owners match the pod; `node_labels` are those of its
/// node, which count beside its own, nullptr: its own alone (the gate OmitNodeLabelsForReservation). `taint`
/// becomes what the pod does not tolerate.
Match match(const Wants& wants, const Facts& reservation, bool is_owner, const api::ResourceList& requests,
            const api::SymbolMap* node_labels, const api::Taint** taint = nullptr);

}  // namespace koord::scheduling::reservation
