// What a pod says of CPU burst (koordinator.sh/cpuBurst), where it says something: the rest is the node's.
#pragma once

#include <string>
#include <vector>

#include "framework/model/pod_terms.hpp"
#include "koord/api/koordinator/node_agent.hpp"

namespace koord::koordlet {

/// Puts an api::PodCpuBurst among the terms.
void read_burst_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& warnings);

}  // namespace koord::koordlet
