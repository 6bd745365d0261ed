#include "koord/api/koordinator/reservation.hpp"

#include <charconv>

#include "koord/api/schema/table.hpp"
#include "rooted.hpp"

namespace koord::api {

KOORD_SCHEMA(ReservationAffinitySelector, ROW(reservation_selector_terms));
KOORD_SCHEMA(ReservationAffinity, ROW(name),
             ROW(required).wire("requiredDuringSchedulingIgnoredDuringExecution"), ROW(reservation_selector),
             ROW(tolerations));
KOORD_SCHEMA(ReservationAllocated, ROW(name), ROW(uid));
KOORD_SCHEMA(ExactMatchReservation, ROW(resource_names));
KOORD_SCHEMA(ReservationRestrictedOptions, ROW(resources));
KOORD_SCHEMA(ReservationResize, ROW(resources));

Result<std::optional<ReservationAffinity>> reservation_affinity(const ObjectMeta& pod) {
  const Symbol* const text = pod.annotations.find(ReservationAffinity::kAnnotation);
  if (text != nullptr && text->empty()) return std::optional(ReservationAffinity());
  return read_annotation<ReservationAffinity>(pod.annotations);
}

bool matches_exactly(const ExactMatchReservation& spec, const ResourceList& requests,
                     const ResourceList& allocatable) {
  for (const Symbol& name : spec.resource_names) {
    const Quantity* const reserved = allocatable.find(name);
    const Quantity* const asked = requests.find(name);
    if (reserved == nullptr && asked == nullptr) return true;
    if (reserved == nullptr || asked == nullptr || *reserved != *asked) return false;
  }
  return true;
}

Result<> decode_annotation(std::string_view text, ReservationOwners& to) {
  return decode_rooted(text, to.owners);
}
std::string encode_annotation(const ReservationOwners& value) { return encode_rooted(value.owners); }

bool ignores_reservations(const ObjectMeta& pod) {
  return value_or(pod.labels, kReservationIgnoredLabel) == "true";
}

bool is_reserve_pod(const ObjectMeta& pod) { return value_or(pod.annotations, kReservePod) == "true"; }

std::int64_t reservation_order(const ObjectMeta& reservation) {
  std::string_view text = value_or(reservation.labels, kReservationOrderLabel);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t order = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), order);
  return error == std::errc() && end == text.data() + text.size() ? order : 0;
}

}  // namespace koord::api
