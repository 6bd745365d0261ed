// Deciding between strategies, and between groups and those below them.
#include "framework/qos/arbiter.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace koord::koordlet {
namespace {

using host::Knob;

/// What the kernel takes for quotas is less; their products with periods still fit.
constexpr std::int64_t kMostMeasured = std::int64_t{1} << 42;

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

std::int64_t Arbiter::measure_of(const host::KnobShare& share, std::string_view group) {
  const auto found = executor_.current(share.of, group);
  const auto* number = found ? std::get_if<std::int64_t>(&*found) : nullptr;
  return number && *number > 0 ? *number : share.unless_known;
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
  const auto& share = host::row(decision.intent->knob).share;
  if (!share || executor_.version() == host::CgroupVersion::v2) return std::nullopt;
  // A group without a limit inherits: only a number can be too large.
  const auto number = std::min(std::get<std::int64_t>(value), kMostMeasured);
  const auto limit = std::min(std::get<std::int64_t>(*above.value), kMostMeasured);
  if (number == host::kUnlimited || limit == host::kUnlimited) return std::nullopt;
  const std::int64_t measure = measure_of(*share, decision.group);
  const std::int64_t measure_above = measure_of(*share, above.group);
  if (number * measure_above <= limit * measure) return std::nullopt;
  return KnobValue(limit * measure / measure_above);
}

Arbiter::Arbiter(Executor& executor, GroupTree& tree)
    : executor_(executor), tree_(tree), rulings_(host::knob_table().size()) {}

void Arbiter::index(std::span<const Intent> plan, Index& index) {
  index.resize(host::knob_table().size());
  for (auto& of_knob : index) of_knob.clear();
  for (std::uint32_t at = 0; at < plan.size(); ++at)
    index[static_cast<std::size_t>(plan[at].knob)].push_back(at);
}

void Arbiter::outdate(const Index& index) {
  for (std::size_t knob = 0; knob < index.size(); ++knob)
    if (!index[knob].empty()) rulings_[knob].stale_ = true;
}

std::span<Arbiter::Ruling> Arbiter::decide(std::span<const std::span<const Intent>> plans,
                                           std::span<const PlanDelta> deltas) {
  const auto delta_of = [&](std::size_t plan) {
    return plan < deltas.size() ? deltas[plan] : PlanDelta::changed;
  };
  tree_.refresh([this](Knob knob) { rulings_[static_cast<std::size_t>(knob)].stale_ = true; });
  if (std::exchange(tree_version_, tree_.version()) != tree_.version())
    for (Ruling& ruling : rulings_) ruling.stale_ = true;
  for (std::size_t plan = plans.size(); plan < indices_.size(); ++plan) outdate(indices_[plan]);
  indices_.resize(plans.size());
  for (std::size_t plan = 0; plan < plans.size(); ++plan) {
    if (delta_of(plan) != PlanDelta::changed && !indices_[plan].empty()) continue;
    outdate(indices_[plan]);
    index(plans[plan], indices_[plan]);
    outdate(indices_[plan]);
  }
  for (std::size_t knob = 0; knob < rulings_.size(); ++knob)
    if (std::exchange(rulings_[knob].stale_, false)) rule(static_cast<Knob>(knob), plans);
  for (std::uint32_t plan = 0; plan < plans.size(); ++plan)
    if (delta_of(plan) == PlanDelta::repeated) point(plan, plans[plan]);
  return rulings_;
}

void Arbiter::rule(Knob knob, std::span<const std::span<const Intent>> plans) {
  Ruling& ruling = rulings_[static_cast<std::size_t>(knob)];
  for (const Decision& decision : ruling.decisions)
    if (places_[decision.target.index].knob == knob) places_[decision.target.index] = {};
  ruling.decisions.clear();
  ruling.cut_.clear();
  ruling.conflicts = 0;
  ruling.calm = false;
  tree_.start(knob);
  std::size_t intents = 0;
  for (std::uint32_t plan = 0; plan < plans.size(); ++plan)
    for (const std::uint32_t at : indices_[plan][static_cast<std::size_t>(knob)]) {
      const Intent& intent = plans[plan][at];
      ++intents;
      for (const GroupTree::Member& member : tree_.members(knob, intent.group, intent.reach, intent.key)) {
        if (!member.target) continue;
        // A list of the tree lives longer than this call; the answer for one group does not.
        const std::string_view group = member.level == 0 ? std::string_view(intent.group) : member.group;
        add(ruling, {member.target, &intent, &intent.value, group, plan, member.level, at});
      }
    }
  // Only where a levelled knob has two intents can one be wider than another.
  if (intents > 1 && host::is_levelled(knob)) cut(ruling);
  ruling.shape = ruling.decisions.size();
  for (const Decision& decision : ruling.decisions) {
    const bool suspends = host::row(knob).suspends && *decision.value == KnobValue(std::int64_t{1});
    const std::size_t one = (std::size_t{decision.target.generation} << 32) + decision.target.index +
                            (std::size_t{decision.plan} << 24) + (suspends ? 1U << 23 : 0);
    ruling.shape = (ruling.shape ^ one) * 0x100000001b3;
  }
}

/// The intents of a plan that was made anew are others, though they say the same.
void Arbiter::point(std::uint32_t plan, std::span<const Intent> intents) {
  for (std::size_t knob = 0; knob < rulings_.size(); ++knob) {
    if (indices_[plan][knob].empty()) continue;
    for (Decision& decision : rulings_[knob].decisions) {
      if (decision.plan != plan) continue;
      const Intent& intent = intents[decision.at];
      if (decision.value == &decision.intent->value) decision.value = &intent.value;
      if (decision.level == 0) decision.group = intent.group;
      decision.intent = &intent;
    }
  }
}

std::size_t Arbiter::conflicts() const {
  return std::accumulate(rulings_.begin(), rulings_.end(), std::size_t{0},
                         [](std::size_t sum, const Ruling& ruling) { return sum + ruling.conflicts; });
}

std::size_t Arbiter::shape() const {
  return std::accumulate(
      rulings_.begin(), rulings_.end(), std::size_t{0},
      [](std::size_t hash, const Ruling& ruling) { return (hash ^ ruling.shape) * 0x100000001b3; });
}

const Arbiter::Decision* Arbiter::find(KnobId target) const {
  if (!target || target.index >= places_.size() || places_[target.index].number == 0) return nullptr;
  const auto& [number, knob] = places_[target.index];
  const auto& decisions = of(knob).decisions;
  return number <= decisions.size() && decisions[number - 1].target == target ? &decisions[number - 1]
                                                                              : nullptr;
}

void Arbiter::add(Ruling& ruling, const Decision& decision) {
  const auto* found = find(decision.target);
  if (found == nullptr) {
    if (places_.size() <= decision.target.index) places_.resize(decision.target.index + 1);
    ruling.decisions.push_back(decision);
    places_[decision.target.index] = {static_cast<std::uint32_t>(ruling.decisions.size()),
                                      decision.intent->knob};
    return;
  }
  Decision& present = ruling.decisions[static_cast<std::size_t>(found - ruling.decisions.data())];
  if (present.plan != decision.plan) {
    if (*present.value != *decision.value) ++ruling.conflicts;
    if (outdoes(decision, present)) present = decision;
  } else if (decision.level < present.level) {
    present = decision;
  }
}

const Arbiter::Decision* Arbiter::nearest_above(const Decision& decision) const {
  std::string_view group = decision.group;
  for (auto slash = group.rfind('/'); slash != std::string_view::npos; slash = group.rfind('/')) {
    group = group.substr(0, slash);
    if (const Decision* above = find(executor_.known(decision.intent->knob, group, decision.intent->key)))
      return above;
  }
  return nullptr;
}

void Arbiter::cut(Ruling& ruling) {
  // Groups above first: what they were cut to holds for those below.
  std::vector<Decision*> order;
  order.reserve(ruling.decisions.size());
  for (Decision& decision : ruling.decisions) order.push_back(&decision);
  const auto depth = [](const Decision* d) { return std::count(d->group.begin(), d->group.end(), '/'); };
  std::stable_sort(order.begin(), order.end(),
                   [&](const Decision* a, const Decision* b) { return depth(a) < depth(b); });
  for (Decision* decision : order) {
    const Decision* above = nearest_above(*decision);
    if (!above || above->value == decision->value) continue;
    auto left = cut_to(*decision, *above);
    if (!left) continue;
    ruling.cut_.push_back(std::move(*left));
    decision->value = &ruling.cut_.back();
    ++ruling.conflicts;
  }
}

}  // namespace koord::koordlet
