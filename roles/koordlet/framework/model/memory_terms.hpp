// What a pod says of its memory (koordinator.sh/memoryQOS).
#pragma once

#include <string>

#include "koord/api/types/slo_v1alpha1/node_slo.hpp"

namespace koord::koordlet {

struct MemoryTerms {
  std::string policy;  // none, auto, default; empty is default
  api::MemoryQos qos;  // over what the policy gives
};

}  // namespace koord::koordlet
