#include "koord/api/koordinator/node.hpp"

#include <fmt/format.h>

#include "koord/api/schema/table.hpp"
#include "rooted.hpp"

namespace koord::api {

KOORD_SCHEMA(NodeReservation, ROW(resources), ROW(reserved_cpus).wire("reservedCPUs"), ROW(apply_policy));
KOORD_SCHEMA(SystemQosResource, ROW(cpuset), ROW(cpuset_exclusive));

bool reduces_allocatable(const NodeReservation& reservation) {
  return reservation.apply_policy.empty() || reservation.apply_policy == "Default";
}

Result<> decode_annotation(std::string_view text, AmplificationRatios& to) {
  return decode_rooted(text, to.ratios);
}

std::string encode_annotation(const AmplificationRatios& value) {
  std::string text;
  json::Writer json(text);
  json.begin_object();
  for (const auto& [resource, ratio] : value.ratios)
    json.key(resource.view()).raw(fmt::format("{:.2f}", ratio));
  json.end_object();
  return text;
}

}  // namespace koord::api
