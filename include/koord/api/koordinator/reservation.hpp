// Reservations: which of them a pod may or must use, and what is said of them beside their spec.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"

namespace koord::api {

/// Terms over a reservation's and its node's labels; any of them.
struct ReservationAffinitySelector {
  List<NodeSelectorTerm> reservation_selector_terms;
  KOORD_STRUCT(ReservationAffinitySelector);
};
/// A pod that has it wants a reservation, and no room without.
struct ReservationAffinity {
  static constexpr std::string_view kAnnotation = "scheduling.koordinator.sh/reservation-affinity";

  std::string name;  // of the one; then the rest counts for nothing
  Box<ReservationAffinitySelector> required;
  SymbolMap reservation_selector;  // labels that it must have
  List<Toleration> tolerations;    // of reservations' taints
  KOORD_STRUCT(ReservationAffinity);
};
/// As read_annotation, but an empty text wants any reservation.
Result<std::optional<ReservationAffinity>> reservation_affinity(const ObjectMeta& pod);

/// The reservation whose room a pod has, written with its binding.
struct ReservationAllocated {
  static constexpr std::string_view kAnnotation = "scheduling.koordinator.sh/reservation-allocated";

  std::string name;
  std::string uid;
  KOORD_STRUCT(ReservationAllocated);
};

/// Amounts in which pod and reservation must be alike.
struct ExactMatchReservation {
  static constexpr std::string_view kAnnotation = "scheduling.koordinator.sh/exact-match-reservation";

  std::vector<Symbol> resource_names;
  KOORD_STRUCT(ExactMatchReservation);
};
/// By the names in their order. As Koordinator has it the first that neither of them has ends it: they match.
bool matches_exactly(const ExactMatchReservation& spec, const ResourceList& requests,
                     const ResourceList& allocatable);

/// Of a reservation whose policy is Restricted: the resources of which its pods may take no more than it has.
struct ReservationRestrictedOptions {
  static constexpr std::string_view kAnnotation = "scheduling.koordinator.sh/reservation-restricted-options";

  std::vector<Symbol> resources;  // empty: all that it has
  KOORD_STRUCT(ReservationRestrictedOptions);
};

/// Amounts that a reservation keeps in place of what its template asks for.
struct ReservationResize {
  static constexpr std::string_view kAnnotation = "scheduling.koordinator.sh/reservation-resize-allocatable";

  ResourceList resources;
  KOORD_STRUCT(ReservationResize);
};

// Pods that are reservations themselves: room that they have and do not use.
inline constexpr std::string_view kOperatingModeLabel = "scheduling.koordinator.sh/operating-mode",
                                  kReservationCurrentOwner =
                                      "scheduling.koordinator.sh/reservation-current-owner";
struct ReservationOwners {
  static constexpr std::string_view kAnnotation = "scheduling.koordinator.sh/reservation-owners";

  std::vector<ReservationOwner> owners;
  friend bool operator==(const ReservationOwners&, const ReservationOwners&) = default;
};
Result<> decode_annotation(std::string_view text, ReservationOwners& to);
std::string encode_annotation(const ReservationOwners& value);

// Labels of reservations and pods.
inline constexpr std::string_view kReservationIgnoredLabel = "scheduling.koordinator.sh/reservation-ignored",
                                  kReservationOrderLabel = "scheduling.koordinator.sh/reservation-order",
                                  kPreAllocationRequiredLabel =
                                      "scheduling.koordinator.sh/pre-allocation-required",
                                  kPreAllocatableLabel = "pod.koordinator.sh/is-pre-allocatable";
inline constexpr std::string_view kPreAllocatablePriority = "pod.koordinator.sh/pre-allocatable-priority";

// Of the pods by which reservations are scheduled, which no API server has.
inline constexpr std::string_view kReservePod = "scheduling.koordinator.sh/reserve-pod",
                                  kReservePodName = "scheduling.koordinator.sh/reservation-name",
                                  kReservePodNode = "scheduling.koordinator.sh/reservation-node",
                                  kReservePodPreAllocates = "scheduling.koordinator.sh/is-pre-allocation",
                                  kReservePodPolicy =
                                      "scheduling.koordinator.sh/reservation-allocate-policy";  // koord's own

/// A pod that takes room whether it is reserved or not.
bool ignores_reservations(const ObjectMeta& pod);
bool is_reserve_pod(const ObjectMeta& pod);
/// Of several the least is used first, also below zero. 0: nothing, or nothing that makes sense, is said.
std::int64_t reservation_order(const ObjectMeta& reservation);

}  // namespace koord::api
