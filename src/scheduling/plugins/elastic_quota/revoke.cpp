// OverUse: see revoke.hpp.
#include "scheduling/plugins/elastic_quota/revoke.hpp"

#include <algorithm>
#include <utility>

#include "koord/api/koordinator/quota.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "scheduling/preemption/victims.hpp"

namespace koord::scheduling::elastic_quota {

namespace {

using Limits = std::vector<std::optional<std::int64_t>>;  // by resource; absent: there is none

class Sum {
 public:
  explicit Sum(std::span<const std::optional<std::int64_t>> limits) : limits_(limits), used_(limits.size()) {}
  void add(const Amounts& amounts, int sign) {
    for (const Amount& each : amounts)
      if (each.resource < used_.size()) used_[each.resource] += sign * each.amount;
  }
  bool fits() const {
    for (std::size_t r = 0; r < used_.size(); ++r)
      if (limits_[r] && used_[r] > *limits_[r]) return false;
    return true;
  }

 private:
  std::span<const std::optional<std::int64_t>> limits_;
  std::vector<std::int64_t> used_;
};

bool is_over(QuotaBook::Place place) {
  for (ResourceId r = 0; r < place.tree->resources(); ++r) {
    const std::int64_t used = place.tree->figures(place.quota, r).used;
    if (used == 0) continue;
    const auto runtime = place.tree->runtime(place.quota, r);
    if (runtime && used > *runtime) return true;
  }
  return false;
}

}  // namespace

std::vector<std::size_t> too_many(std::span<const Spender> pods,
                                  std::span<const std::optional<std::int64_t>> limits) {
  Sum sum(limits);
  for (const Spender& pod : pods)
    if (!pod.leaves) sum.add(pod.requests, 1);
  std::vector<std::size_t> gone;
  for (std::size_t i = 0; i < pods.size() && !sum.fits(); ++i) {
    if (!pods[i].may_go || pods[i].leaves) continue;
    sum.add(pods[i].requests, -1);
    gone.push_back(i);
  }
  if (!sum.fits()) return gone;
  std::vector<std::size_t> stay_away;
  for (; !gone.empty(); gone.pop_back()) {
    const std::size_t back = gone.back();
    sum.add(pods[back].requests, 1);
    if (sum.fits()) continue;
    sum.add(pods[back].requests, -1);
    stay_away.push_back(back);
  }
  return stay_away;
}

OverUse::OverUse(const QuotaBook& book, Options options, std::shared_ptr<QuotaBoard> board)
    : book_(book), options_(options), board_(std::move(board)) {}

void OverUse::time_passed(WallTime now) {
  looked_ = now;
  if (!board_->is_heard()) {
    // Another process may evict: what is seen meanwhile does not count.
    over_.clear();
    version_.reset();
    return;
  }
  if (version_ != book_.version()) look(now);
  for (auto& [quota, since] : over_) {
    if (now - since <= options_.delay) continue;
    since = now;
    revoke(quota);
  }
}

void OverUse::look(WallTime now) {
  version_ = book_.version();
  std::map<std::string, WallTime> over;
  for (const auto& [tree_id, tree] : book_.trees())
    tree->each([&](QuotaId id) {
      if (id == QuotaTree::kRoot || tree->is_built_in(id) || !is_over({tree.get(), id})) return;
      const auto before = over_.find(tree->name(id));
      over.emplace(tree->name(id), before != over_.end() ? before->second : now);
    });
  over_ = std::move(over);
}

void OverUse::revoke(const std::string& quota) {
  const QuotaBook::Place place = book_.find(quota);
  if (place.tree == nullptr) return;
  // What is used below it is theirs to give back.
  Limits limits(place.tree->resources());
  for (ResourceId r = 0; r < limits.size(); ++r) {
    const QuotaFigures& figures = place.tree->figures(place.quota, r);
    if (const auto runtime = place.tree->runtime(place.quota, r))
      limits[r] = *runtime - (figures.used - figures.self_used);
  }
  std::vector<PodInfo> pods;
  for (QuotaBook::Counted& each : book_.pods_of(place)) {
    if (!each.assigned) continue;
    PodInfo& info = pods.emplace_back();
    info.priority = each.pod->spec.priority.value_or(0);
    info.pod = std::move(each.pod);
  }
  std::ranges::sort(pods,
                    [](const PodInfo& a, const PodInfo& b) { return preemption::more_important(b, a); });
  std::vector<Spender> spenders;
  for (const PodInfo& each : pods) {
    Spender& spender = spenders.emplace_back();
    for (const Amount& asked : book_.requests(*each.pod))
      if (place.tree->figures(place.quota, asked.resource).in_max()) spender.requests.push_back(asked);
    spender.may_go = api::is_preemptible(each.pod->metadata);
    spender.leaves = each.pod->metadata.deletion_timestamp.has_value();
  }
  std::vector<QuotaBoard::Revoked> revoked;
  for (const std::size_t i : too_many(spenders, limits)) revoked.push_back({pods[i].pod, quota});
  board_->revoke(std::move(revoked));
}

}  // namespace koord::scheduling::elastic_quota
