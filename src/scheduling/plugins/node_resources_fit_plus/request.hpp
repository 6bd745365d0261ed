// What NodeResourcesFitPlus counts a pod with.
#pragma once

#include <cstdint>
#include <string_view>

namespace koord::api {
struct Pod;
}

namespace koord::scheduling::node_resources_fit_plus {

/// Of one resource, CPU in milli: containers and sidecars together, or as much as an init container asks for
/// where that is more than what comes before it; those that say nothing count as 100m and 200 MiB. Not what
/// the pod asks for: Koordinator's own sum, from which its scores follow.
std::int64_t counted_request(const api::Pod& pod, std::string_view resource);

}  // namespace koord::scheduling::node_resources_fit_plus
