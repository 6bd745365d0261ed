// What stored objects say of resource claims without being parsed: the claims that a pod uses, and who uses a
// claim. Values of fields that no selector knows.
#pragma once

#include <string>
#include <string_view>

#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

/// Of pods: a line "KIND NAME" for each of spec.resourceClaims, in their order.
inline constexpr std::string_view kDeviceClaimsField = "(resource claims)";
/// Of claims: the uids of the pods that they are reserved for, each ended by a comma; there once a claim is
/// allocated.
inline constexpr std::string_view kReservedField = "(reserved)";
/// Of claims that were made for a pod: what the pod's spec calls them.
inline constexpr std::string_view kPodClaimField = "(pod claim)";

/// How a pod came by the claim that an element of its spec.resourceClaims names.
enum class DeviceClaimOrigin : char {
  named = 'n',     // made by somebody, before or after the pod
  made = 'm',      // from a template, for this pod
  awaited = 'a',   // to be made from a template; it has no name yet
  unneeded = 'u',  // from a template that turned out to be of no use; there is none
  extended = 'e',  // made by a scheduler for resources that a class of devices stands for
};

/// Of a pod's document; empty if it uses none.
std::string device_claims_of(const json::Value& pod);
/// Of a claim's document.
FieldValues device_claim_fields(const json::Value& claim);

/// Calls each(origin, name) for every one; the pod is not parsed.
template <class Each>
void for_each_device_claim(const Object& pod, const Each& each) {
  for (std::string_view rest = pod.field(kDeviceClaimsField); !rest.empty();) {
    const std::size_t end = rest.find('\n');
    each(static_cast<DeviceClaimOrigin>(rest[0]), rest.substr(1, end - 1));
    rest.remove_prefix(end + 1);
  }
}

/// Whether the claim is allocated.
inline bool is_allocated(const Object& claim) {
  return !claim.fields.empty() && claim.fields.front().first == kReservedField;
}
bool is_reserved_for(const Object& claim, std::string_view pod_uid);
/// Whether a pod more may use it.
bool can_be_reserved(const Object& claim);
/// Whether the pod owns it, so that it was made for it and no other.
bool is_for_pod(const Object& claim, const Object& pod);

}  // namespace koord::sandbox
