// What the hooks need to know of a pod beside what everybody needs: what it asks of lent resources, and what
// its annotations say of its CPUs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/model/pod_terms.hpp"
#include "koord/api/koordinator/pod_cpu_qos.hpp"

namespace koord::koordlet {

/// What a pod or container asks of what is lent, batch or mid. CPU in thousandths, memory in bytes.
struct LentResources {
  std::int64_t cpu_request = 0;
  std::optional<std::int64_t> cpu_limit, memory_limit;  // nothing: as much as there is
  friend bool operator==(const LentResources&, const LentResources&) = default;
};

struct HookTerms {
  /// Nothing: neither it nor a container of it asks for any.
  std::optional<LentResources> lent;
  /// By the container's name; who asks for none is not here.
  std::map<std::string, LentResources, std::less<>> lent_to;
  /// The NUMA nodes whose CPUs the scheduler gave it, where it did not name the CPUs.
  std::vector<int> numa_nodes;
  std::optional<api::PodCpuQos> cpu_qos;
  /// The oom_score_adj of its containers, and of those that it names (koordinator.sh/oom-score-adj-spec):
  /// nothing for one of which it says nonsense.
  std::optional<std::int64_t> oom_score;
  std::map<std::string, std::optional<std::int64_t>, std::less<>> oom_scores;
  std::optional<std::int64_t> oom_score_of(std::string_view container) const {
    const auto named = oom_scores.find(container);
    return named == oom_scores.end() ? oom_score : named->second;
  }
  /// Its containers run in a virtual machine of their own: their groups are not the kubelet's.
  bool virtual_machine = false;

  friend bool operator==(const HookTerms&, const HookTerms&) = default;
};

/// Null: it says nothing. Of an annotation that cannot be read ("ANNOTATION: what") nothing counts.
std::shared_ptr<const HookTerms> hook_terms(const api::Pod& pod, std::vector<std::string>& warnings);
/// The same, put among the pod's terms: of the rows of hooks.
void read_hook_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& warnings);

}  // namespace koord::koordlet
