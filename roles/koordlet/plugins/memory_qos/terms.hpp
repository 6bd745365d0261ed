// MemoryTerms: what a pod says of its memory (koordinator.sh/memoryQOS).
#pragma once

#include <string>
#include <vector>

#include "framework/model/pod_terms.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"

namespace koord::koordlet {

struct MemoryTerms {
  std::string policy;  // none, auto, default; empty is default
  api::MemoryQos qos;  // over what the policy gives
};

void read_memory_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& complaints);

}  // namespace koord::koordlet
