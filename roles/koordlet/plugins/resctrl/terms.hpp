// What a pod says of parts of its own (node.koordinator.sh/resctrl), where it says something.
#pragma once

#include <string>
#include <vector>

#include "framework/model/pod_terms.hpp"
#include "koord/api/koordinator/pod_resctrl.hpp"

namespace koord::koordlet {

/// Puts an api::PodResctrl among the terms. What makes no sense counts for nothing: the pod stays in its
/// class' group.
void read_resctrl_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& warnings);

}  // namespace koord::koordlet
