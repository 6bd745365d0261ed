// What a pod says of its memory (koordinator.sh/memoryQOS).
#pragma once

#include <string>
#include <vector>

#include "framework/model/pod_terms.hpp"
#include "koord/api/koordinator/node_agent.hpp"

namespace koord::koordlet {

/// Puts an api::PodMemoryQos among the terms.
void read_memory_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& warnings);

}  // namespace koord::koordlet
