// What a pod's extended resources are as requests of a claim, and which container is to get which of them.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "koord/base/symbol.hpp"

namespace koord::scheduling::dynamic_resources {

/// An entry of a pod's status.extendedResourceClaimStatus.requestMappings.
struct RequestMapping {
  Symbol container, resource, request;
  friend bool operator==(const RequestMapping&, const RequestMapping&) = default;
};

struct DeviceAsks {
  std::vector<api::DeviceRequest>
      requests;                          // by name; "container-2-request-0" comes after "container-10-..."
  std::vector<RequestMapping> mappings;  // resource by resource
};

/// A resource, and the class whose devices it is.
struct BackedResource {
  Symbol resource, device_class;
};

/// kube-scheduler's: one request for each container and resource, "container-N-request-M", where N counts
/// init containers first and M the names of all that the container asks for, in order. Init containers that
/// end before the others start use what later ones ask for; what exceeds that is one request, as large as
/// the largest of them needs.
DeviceAsks device_asks(const api::Pod& pod, std::vector<BackedResource> resources);

}  // namespace koord::scheduling::dynamic_resources
