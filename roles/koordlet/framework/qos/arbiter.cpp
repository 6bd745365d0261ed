// Deciding between strategies, and between groups and those below them.
#include "framework/qos/arbiter.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace koord::koordlet {
namespace {

using host::Knob;

/// What the kernel takes for quotas is less; their products with periods still fit.
constexpr std::int64_t kMostQuota = std::int64_t{1} << 42;

/// Where -1 is "no limit" it is larger than all.
bool less(Knob knob, std::int64_t a, std::int64_t b) {
  const auto rank = [&](std::int64_t value) {
    return host::row(knob).minimum == host::kUnlimited && value == host::kUnlimited
               ? std::numeric_limits<std::int64_t>::max()
               : value;
  };
  return rank(a) < rank(b);
}

bool sets_free(const Intent& intent) { return intent.undo == intent.value; }

/// Whether a weaker strategy's intent counts all the same.
bool outdoes(const Arbiter::Decision& weaker, const Arbiter::Decision& stronger) {
  const Intent& a = *weaker.intent;
  const Intent& b = *stronger.intent;
  const host::KnobMerge merge = host::row(a.knob).merge;
  if (merge == host::KnobMerge::order || a.reach.to > 0 || b.reach.to > 0) return false;
  if (sets_free(a) || sets_free(b)) return !sets_free(a);
  const auto* value = std::get_if<std::int64_t>(&a.value);
  const auto* other = std::get_if<std::int64_t>(&b.value);
  if (!value || !other) return false;
  return merge == host::KnobMerge::least ? less(a.knob, *value, *other) : less(a.knob, *other, *value);
}

}  // namespace

std::int64_t Arbiter::period_of(std::string_view group) {
  const auto period = executor_.current(host::Knob::cpu_period, group);
  const auto* us = period ? std::get_if<std::int64_t>(&*period) : nullptr;
  return us && *us > 0 ? *us : host::kDefaultPeriodUs;
}

std::optional<KnobValue> Arbiter::cut_to(const Decision& decision, const Decision& above) {
  const KnobValue& value = *decision.value;
  if (value.index() != above.value->index()) return std::nullopt;
  if (const auto* cpus = std::get_if<host::CpuSet>(&value)) {
    const auto& limit = std::get<host::CpuSet>(*above.value);
    if (limit.empty() || cpus->is_subset_of(limit)) return std::nullopt;
    host::CpuSet left = *cpus & limit;
    if (left.empty()) left = limit;
    return KnobValue(std::move(left));
  }
  if (decision.intent->knob != host::Knob::cpu_quota || executor_.version() == host::CgroupVersion::v2)
    return std::nullopt;
  // A group without a quota inherits: only a number can be too large.
  const auto quota = std::min(std::get<std::int64_t>(value), kMostQuota);
  const auto limit = std::min(std::get<std::int64_t>(*above.value), kMostQuota);
  if (quota == host::kUnlimited || limit == host::kUnlimited) return std::nullopt;
  const std::int64_t period = period_of(decision.group);
  const std::int64_t period_above = period_of(above.group);
  if (quota * period_above <= limit * period) return std::nullopt;
  return KnobValue(limit * period / period_above);
}

std::span<const Arbiter::Decision> Arbiter::decide(std::span<const std::span<const Intent>> plans) {
  for (const Decision& decision : decisions_) place_[decision.target.index] = 0;
  decisions_.clear();
  cut_.clear();
  conflicts_ = 0;
  // Only where a levelled knob has two intents can one be wider than another.
  intents_.assign(host::knob_table().size(), 0);
  for (std::uint32_t plan = 0; plan < plans.size(); ++plan)
    for (const Intent& intent : plans[plan]) {
      std::uint8_t& count = intents_[static_cast<std::size_t>(intent.knob)];
      if (count < 2 && host::is_levelled(intent.knob)) ++count;
      const auto& members = tree_.members(intent.knob, intent.group, intent.reach);
      for (const GroupTree::Member& member : members) {
        if (!member.target) continue;
        // A list of the tree lives longer than this call; the answer for one group does not.
        const std::string_view group = member.level == 0 ? std::string_view(intent.group) : member.group;
        add({member.target, &intent, &intent.value, group, plan, member.level});
      }
    }
  if (std::find(intents_.begin(), intents_.end(), 2) != intents_.end()) cut();
  return decisions_;
}

const Arbiter::Decision* Arbiter::find(KnobId target) const {
  if (!target || target.index >= place_.size() || place_[target.index] == 0) return nullptr;
  const Decision& decision = decisions_[place_[target.index] - 1];
  return decision.target == target ? &decision : nullptr;
}

void Arbiter::add(const Decision& decision) {
  if (place_.size() <= decision.target.index) place_.resize(decision.target.index + 1, 0);
  std::uint32_t& place = place_[decision.target.index];
  if (place == 0) {
    decisions_.push_back(decision);
    place = static_cast<std::uint32_t>(decisions_.size());
    return;
  }
  Decision& present = decisions_[place - 1];
  if (present.plan != decision.plan) {
    if (*present.value != *decision.value) ++conflicts_;
    if (outdoes(decision, present)) present = decision;
  } else if (decision.level < present.level) {
    present = decision;
  }
}

const Arbiter::Decision* Arbiter::nearest_above(const Decision& decision) const {
  std::string_view group = decision.group;
  for (auto slash = group.rfind('/'); slash != std::string_view::npos; slash = group.rfind('/')) {
    group = group.substr(0, slash);
    if (const Decision* above = find(executor_.known(decision.intent->knob, group))) return above;
  }
  return nullptr;
}

void Arbiter::cut() {
  // Groups above first: what they were cut to holds for those below.
  std::vector<Decision*> order;
  order.reserve(decisions_.size());
  for (Decision& decision : decisions_)
    if (intents_[static_cast<std::size_t>(decision.intent->knob)] > 1) order.push_back(&decision);
  const auto depth = [](const Decision* d) { return std::count(d->group.begin(), d->group.end(), '/'); };
  std::stable_sort(order.begin(), order.end(),
                   [&](const Decision* a, const Decision* b) { return depth(a) < depth(b); });
  for (Decision* decision : order) {
    const Decision* above = nearest_above(*decision);
    if (!above || above->value == decision->value) continue;
    auto left = cut_to(*decision, *above);
    if (!left) continue;
    cut_.push_back(std::move(*left));
    decision->value = &cut_.back();
    ++conflicts_;
  }
}

}  // namespace koord::koordlet
