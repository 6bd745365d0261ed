// What a pod says to the runtime hooks, out of its spec and annotations.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "framework/hooks/pod_terms.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::koordlet {

/// Null: it says nothing. Of an annotation that cannot be read ("ANNOTATION: what") nothing counts.
std::shared_ptr<const HookTerms> hook_terms(const api::Pod& pod, std::vector<std::string>& complaints);

}  // namespace koord::koordlet
