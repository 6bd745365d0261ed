// PassLimits: see pass_limits.hpp.
#include "evictions/pass_limits.hpp"

namespace koord::descheduler {

bool PassLimits::node_exhausted(std::string_view node) const {
  return limits_.per_node && !node.empty() && of_node(node) >= *limits_.per_node;
}

bool PassLimits::namespace_exhausted(std::string_view ns) const {
  return limits_.per_namespace && of_namespace(ns) >= *limits_.per_namespace;
}

std::string_view PassLimits::exceeded(std::string_view node, std::string_view ns) const {
  if (node_exhausted(node)) return "maximum number of evicted pods per node reached";
  if (namespace_exhausted(ns)) return "maximum number of evicted pods per namespace reached";
  if (exhausted()) return "maximum number of evicted pods total reached";
  return {};
}

void PassLimits::count(std::string_view node, std::string_view ns) {
  if (!node.empty()) ++nodes_[std::string(node)];
  ++namespaces_[std::string(ns)];
  ++total_;
}

}  // namespace koord::descheduler
