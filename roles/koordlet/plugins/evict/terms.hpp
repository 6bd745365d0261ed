// EvictionTerms: what a pod says about its being evicted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/model/inventory.hpp"

namespace koord::koordlet {

struct EvictionTerms {
  bool enabled = false;                // koordinator.sh/eviction-enabled: by more than the best-effort rules
  std::int32_t priority = 0;           // koordinator.sh/eviction-priority: lower ones go first
  std::optional<std::int64_t> within;  // koordinator.sh/priority: the same among equal spec.priority
  /// koordinator.sh/eviction-policy: the only feature gates whose evictions it takes; nothing: all of them.
  std::optional<std::vector<std::string>> policies;
  friend bool operator==(const EvictionTerms&, const EvictionTerms&) = default;
};

/// Who says nothing has these defaults.
const EvictionTerms& eviction_terms(const PodInfo& pod);
void read_eviction_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& warnings);

}  // namespace koord::koordlet
