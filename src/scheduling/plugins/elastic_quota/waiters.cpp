// QuotaWaiters: see waiters.hpp.
#include "scheduling/plugins/elastic_quota/waiters.hpp"

#include <algorithm>

namespace koord::scheduling::elastic_quota {

namespace {

constexpr std::string_view kLabel = "QuotaRoom";

/// More may be used of any resource.
bool is_more(const std::optional<std::int64_t>& before, const std::optional<std::int64_t>& now) {
  return before && (!now || *now > *before);
}

}  // namespace

QuotaWaiters::QuotaWaiters(const PluginContext& context, QuotaBook& book, bool by_runtime)
    : book_(book), cycle_(context.cycle), plugin_(context.name), by_runtime_(by_runtime) {
  book.listen(*this);
}

QuotaWaiters::Limits QuotaWaiters::limits(QuotaBook::Place place) const {
  Limits all(place.tree->resources());
  for (ResourceId r = 0; r < all.size(); ++r) all[r] = use_limit(*place.tree, place.quota, r, by_runtime_);
  return all;
}

void QuotaWaiters::refused(QuotaBook::Place place) {
  Limits now = limits(place);
  const auto [known, first] = waiting_.try_emplace(place.tree->name(place.quota), now);
  if (first) return;
  Limits& least = known->second;
  least.resize(now.size());
  for (std::size_t r = 0; r < now.size(); ++r)
    if (now[r] && (!least[r] || *now[r] < *least[r])) least[r] = now[r];
}

void QuotaWaiters::quota_changed(std::string_view name) {
  const auto known = waiting_.find(name);
  if (known == waiting_.end() || cycle_.takes_back()) return;
  waiting_.erase(known);
  cycle_.happened({plugin_, Symbol(name)}, kLabel);
}

std::optional<WallTime> QuotaWaiters::next_time() const {
  if (!dirty_ || waiting_.empty()) return std::nullopt;
  return looked_ + kLookEvery;
}

void QuotaWaiters::time_passed(WallTime now, const std::function<void(const ClusterEvent&)>& happened) {
  dirty_ = false;
  looked_ = now;
  std::vector<std::string> better;
  for (const auto& [name, before] : waiting_) {
    const QuotaBook::Place place = book_.find(name);
    if (place.tree == nullptr) {
      better.push_back(name);
      continue;
    }
    const Limits is = limits(place);
    for (std::size_t r = 0; r < std::min(before.size(), is.size()); ++r)
      if (is_more(before[r], is[r])) {
        better.push_back(name);
        break;
      }
  }
  for (const std::string& name : better) waiting_.erase(name);
  for (const std::string& name : better)
    happened({.kind = EventKind::plugin_told, .object_label = kLabel, .about = {plugin_, Symbol(name)}});
}

}  // namespace koord::scheduling::elastic_quota
