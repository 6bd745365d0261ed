// The kubelet's PodResourcesLister: its answers, with devices that it has not given out itself.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"

namespace koord::rpc::pod_resources {

inline constexpr std::string_view kList = "/v1.PodResourcesLister/List", kGet = "/v1.PodResourcesLister/Get";

struct Devices {
  std::string resource;  // "nvidia.com/gpu"
  std::vector<std::string> ids;
  friend bool operator==(const Devices&, const Devices&) = default;
};
/// What else a pod has; none for most.
using DevicesOf = std::function<std::vector<Devices>(std::string_view ns, std::string_view name)>;

/// An answer of List or Get, with each pod's devices at its first container, whose devices then stand in the
/// order of their resources. All else is as it came. Code::parse: the bytes are no such message.
Result<std::string> add_to_list(std::string_view bytes, const DevicesOf& devices_of);
Result<std::string> add_to_pod(std::string_view bytes, const DevicesOf& devices_of);

}  // namespace koord::rpc::pod_resources
