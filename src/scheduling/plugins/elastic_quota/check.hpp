// Whether a pod fits its quota, and the quotas above it.
#pragma once

#include <optional>
#include <vector>

#include "scheduling/plugins/elastic_quota/tree.hpp"

namespace koord::scheduling::elastic_quota {

struct CheckRules {
  bool by_runtime = true;  // what a quota may use now; else its max
  bool parents = false;    // the quotas above have to have room, too
};

/// What stands against a pod.
struct Refusal {
  enum class By : std::uint8_t {
    quota,            // its own
    non_preemptible,  // the min of its own, which pods that cannot be preempted share alone
    parent,
  };
  By by;
  QuotaId quota;
  std::vector<ResourceId> exceeded;  // ascending
};

/// What may be used of the quota; absent: nothing limits it. What its parent does not divide is limited by
/// max, and so is a built-in quota. The root is not limited.
std::optional<std::int64_t> use_limit(QuotaTree& tree, QuotaId quota, ResourceId resource, bool by_runtime);

/// As Koordinator's PreFilter: of its own quota all that its max names has to fit, also what the pod does not
/// ask for; of those above it only what the pod asks for. `freed` of the quota is used no more by then, by
/// pods that can be preempted. Absent: the pod fits.
std::optional<Refusal> refusal(QuotaTree& tree, QuotaId quota, const Amounts& requests, bool preemptible,
                               CheckRules rules, const Amounts& freed = {});

/// To what there is of the resource.
void add(Amounts& all, const Amount& more);

/// What of the requests counts in the quota.
Amounts counted(const QuotaTree& tree, QuotaId quota, const Amounts& requests);

}  // namespace koord::scheduling::elastic_quota
