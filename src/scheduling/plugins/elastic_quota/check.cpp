// Whether a pod fits its quota: see check.hpp.
#include "scheduling/plugins/elastic_quota/check.hpp"

#include <algorithm>

namespace koord::scheduling::elastic_quota {

namespace {

const Amount* find(const Amounts& amounts, ResourceId resource) {
  const auto found = std::ranges::find(amounts, resource, &Amount::resource);
  return found != amounts.end() ? &*found : nullptr;
}

bool exceeds(std::int64_t used, std::int64_t more, std::int64_t limit) { return Wide{used} + more > limit; }

}  // namespace

std::optional<std::int64_t> use_limit(QuotaTree& tree, QuotaId quota, ResourceId resource, bool by_runtime) {
  if (quota == QuotaTree::kRoot) return std::nullopt;
  if (by_runtime)
    if (const auto runtime = tree.runtime(quota, resource)) return runtime;
  const QuotaFigures& figures = tree.figures(quota, resource);
  return figures.in_max() ? std::optional(figures.max) : std::nullopt;
}

std::optional<Refusal> refusal(QuotaTree& tree, QuotaId quota, const Amounts& requests, bool preemptible,
                               CheckRules rules, const Amounts& freed) {
  const auto without = [&](ResourceId resource) {
    const Amount* const gone = find(freed, resource);
    return gone != nullptr ? gone->amount : 0;
  };
  Refusal refusal{.by = Refusal::By::quota, .quota = quota, .exceeded = {}};
  Refusal kept{.by = Refusal::By::non_preemptible, .quota = quota, .exceeded = {}};
  for (ResourceId r = 0; r < tree.resources(); ++r) {
    const QuotaFigures& figures = tree.figures(quota, r);
    if (!figures.in_max()) continue;
    const Amount* const asked = find(requests, r);
    if (asked == nullptr && figures.used == 0) continue;
    const std::int64_t more = asked != nullptr ? asked->amount : 0;
    const auto limit = use_limit(tree, quota, r, rules.by_runtime);
    if (limit && exceeds(figures.used - without(r), more, *limit)) refusal.exceeded.push_back(r);
    if (!preemptible && figures.min != QuotaFigures::kNone &&
        exceeds(figures.non_preemptible_used, more, figures.min))
      kept.exceeded.push_back(r);
  }
  if (!refusal.exceeded.empty()) return refusal;
  if (!kept.exceeded.empty()) return kept;
  if (!rules.parents) return std::nullopt;
  refusal.by = Refusal::By::parent;
  for (QuotaId up = tree.parent(quota); up != kNoQuota && up != QuotaTree::kRoot; up = tree.parent(up)) {
    for (const Amount& asked : requests) {
      if (!tree.figures(quota, asked.resource).in_max()) continue;
      const auto limit = use_limit(tree, up, asked.resource, rules.by_runtime);
      const std::int64_t used = tree.figures(up, asked.resource).used - without(asked.resource);
      if (limit && exceeds(used, asked.amount, *limit)) refusal.exceeded.push_back(asked.resource);
    }
    if (refusal.exceeded.empty()) continue;
    refusal.quota = up;
    std::ranges::sort(refusal.exceeded);
    return refusal;
  }
  return std::nullopt;
}

void add(Amounts& all, const Amount& more) {
  const auto known = std::ranges::find(all, more.resource, &Amount::resource);
  if (known != all.end())
    known->amount += more.amount;
  else
    all.push_back(more);
}

Amounts counted(const QuotaTree& tree, QuotaId quota, const Amounts& requests) {
  Amounts all;
  for (const Amount& asked : requests)
    if (tree.figures(quota, asked.resource).in_max()) all.push_back(asked);
  return all;
}

}  // namespace koord::scheduling::elastic_quota
