// Pods whose room may be taken over: see candidates.hpp.
#include "scheduling/plugins/reservation/preallocation/candidates.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduling::reservation {

void put_in_order(std::vector<Candidate>& candidates, bool by_priority) {
  const auto rank = [&](const Candidate& c) { return by_priority ? c.priority : c.score; };
  const auto uid = [](const Candidate& c) { return std::string_view(c.pod->pod->metadata.uid); };
  std::ranges::sort(candidates, [&](const Candidate& a, const Candidate& b) {
    return std::tuple(!a.held, rank(b), uid(a)) < std::tuple(!b.held, rank(a), uid(b));
  });
}

std::int64_t priority_among_candidates(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t priority = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), priority);
  return error == std::errc() && end == text.data() + text.size() ? priority : 0;
}

bool takes_part(Wants wants, const Facts& r, const api::ResourceList& requests,
                const api::SymbolMap* node_labels) {
  wants.ignores = false;
  if (!wants.affinity) return !wants.exact || api::matches_exactly(*wants.exact, requests, r.allocatable);
  wants.affinity->tolerates_closed = true;
  return serves(match(wants, r, true, requests, node_labels));
}

}  // namespace koord::scheduling::reservation
