// How a node is marked while it is drained, and how it gets back what it had: pure.
#pragma once

#include <string>
#include <string_view>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/scheduling_v1alpha1/drain_node.hpp"

namespace koord::descheduler::drain {

/// The node as `drain` wants it. What others have set stays as it is, and is not the drain's: a taint of the
/// same key, the label of a drain, spec.unschedulable. Nothing to do: the node itself.
api::Node cordoned(const api::Node& node, const api::DrainNode& drain);
/// The node without what the DrainNode of that name has set, whatever has become of that.
api::Node uncordoned(const api::Node& node, std::string_view drain);
/// The DrainNode whose marks the node has; empty: none.
std::string marked_by(const api::Node& node);

}  // namespace koord::descheduler::drain
