#include "sandbox/kinds/device_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace koord::sandbox {
namespace {

constexpr std::ptrdiff_t kMostReservations = 256;

void add(std::string& out, DeviceClaimOrigin origin, std::string_view name) {
  fmt::format_to(std::back_inserter(out), "{}{}\n", static_cast<char>(origin), name);
}

}  // namespace

std::string device_claims_of(const json::Value& pod) {
  std::string out;
  if (const json::Value* list = find(pod, "spec", "resourceClaims"); list && !list->empty()) {
    std::map<std::string_view, const json::Value*> statuses;
    if (const json::Value* made = find(pod, "status", "resourceClaimStatuses"))
      for (const json::Value& each : made->elements()) statuses.emplace(text_at(each, "name"), &each);
    for (const json::Value& each : list->elements()) {
      if (const std::string_view name = text_at(each, "resourceClaimName"); !name.empty()) {
        add(out, DeviceClaimOrigin::named, name);
        continue;
      }
      const auto status = statuses.find(text_at(each, "name"));
      if (status == statuses.end()) {
        add(out, DeviceClaimOrigin::awaited, "");
        continue;
      }
      const std::string_view name = text_at(*status->second, "resourceClaimName");
      add(out, name.empty() ? DeviceClaimOrigin::unneeded : DeviceClaimOrigin::made, name);
    }
  }
  if (const std::string_view name =
          text_at(pod, "status", "extendedResourceClaimStatus", "resourceClaimName");
      !name.empty())
    add(out, DeviceClaimOrigin::extended, name);
  return out;
}

FieldValues device_claim_fields(const json::Value& claim) {
  FieldValues values;
  if (const json::Value* given = find(claim, "status", "allocation"); given && given->is_object()) {
    std::string users;
    if (const json::Value* list = find(claim, "status", "reservedFor"))
      for (const json::Value& each : list->elements())
        fmt::format_to(std::back_inserter(users), "{},", text_at(each, "uid"));
    values.emplace_back(kReservedField, std::move(users));
  }
  if (const std::string_view name =
          text_at(claim, "metadata", "annotations", "resource.kubernetes.io/pod-claim-name");
      !name.empty())
    values.emplace_back(kPodClaimField, name);
  return values;
}

bool is_reserved_for(const Object& claim, std::string_view pod_uid) {
  for (std::string_view rest = claim.field(kReservedField); !rest.empty();) {
    const std::size_t comma = rest.find(',');
    if (rest.substr(0, comma) == pod_uid) return true;
    rest.remove_prefix(comma + 1);
  }
  return false;
}

bool can_be_reserved(const Object& claim) {
  return std::ranges::count(claim.field(kReservedField), ',') < kMostReservations;
}

bool is_for_pod(const Object& claim, const Object& pod) {
  return std::ranges::any_of(claim.owners,
                             [&](const OwnerRef& owner) { return owner.controller && owner.uid == pod.uid; });
}

}  // namespace koord::sandbox
