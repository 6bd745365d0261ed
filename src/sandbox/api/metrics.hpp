// metrics.k8s.io/v1beta1: what nodes and pods use, as `kubectl top` asks for it.
#pragma once

#include <string>
#include <string_view>

#include "sandbox/api/verbs.hpp"

namespace koord::sandbox {

/// One NodeMetrics or PodMetrics where `name` is given, else the list of those that the selectors leave.
/// `kind` is the row of the table: "nodes" or "pods" of that group. Figures come from a node's NodeMetric, if
/// it has some; else they are what a machine would show that is half busy: see play() in ../agents/usage.hpp.
Outcome<std::string> usage_json(const Verbs& verbs, const Kind& kind, std::string_view ns,
                                std::string_view name, std::string_view labels, std::string_view fields);

}  // namespace koord::sandbox
