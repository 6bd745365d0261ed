// See targets.hpp.
#include "plugins/custom_priority/targets.hpp"

#include <algorithm>
#include <cmath>

#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "plugins/choice.hpp"

namespace koord::descheduler::custom_priority {

namespace {

using Amounts = api::FlatMap<api::Quantity>;

void add(Amounts& used, const Amounts& more) {
  for (const auto& [name, quantity] : more) used[name] += quantity;
}

Amounts asked_by(const api::Pod& pod) {
  Amounts asked = api::pod_requests(pod, {.use_status = false});
  asked["pods"] = api::Quantity::from_int(1);
  return asked;
}

/// Millionths of a per cent: thresholds have that many digits.
constexpr std::int64_t kPercent = 1'000'000;

}  // namespace

Amounts used_on(const NodeView& node) {
  Amounts used;
  for (const PodPtr& pod : node.pods)
    if (!has_ended(*pod)) add(used, asked_by(*pod));
  return used;
}

bool is_above(const Amounts& used, const Amounts& has, const Percentages& limits) {
  return std::ranges::any_of(limits, [&](const auto& limit) {
    const api::Quantity* const all = has.find(limit.key.view());
    const api::Quantity* const some = used.find(limit.key.view());
    if (all == nullptr || some == nullptr) return false;
    const auto allowed = static_cast<std::int64_t>(std::llround(limit.value * kPercent));
    return *some * (100 * kPercent) > *all * allowed;
  });
}

bool Targets::takes(const Target& target, const Amounts& asked) {
  const Amounts& has = target.node->node->status.allocatable;
  auto it = used_.find(target.node);
  if (it == used_.end()) it = used_.emplace(target.node, used_on(*target.node)).first;
  Amounts after = it->second;
  add(after, asked);
  const bool room = std::ranges::all_of(asked, [&](const auto& each) {
    if (each.value.is_zero()) return true;
    const api::Quantity* const all = has.find(each.key.view());
    return all != nullptr && after[each.key] <= *all;
  });
  if (!room || (target.reject != nullptr && is_above(after, has, *target.reject))) return false;
  it->second = std::move(after);
  return true;
}

const NodeView* Targets::place(const api::Pod& pod, NodeFit* fits) {
  const Amounts asked = asked_by(pod);
  const auto found = std::ranges::find_if(targets_, [&](const Target& target) {
    return (fits == nullptr || fits->fits(pod, *target.node)) && takes(target, asked);
  });
  return found != targets_.end() ? found->node : nullptr;
}

void Targets::take_back(const api::Pod& pod, const NodeView& node) {
  Amounts& used = used_[&node];
  for (const auto& [name, quantity] : asked_by(pod)) used[name] -= quantity;
}

bool Targets::rejects() const {
  return std::ranges::any_of(targets_, [](const Target& target) { return target.reject != nullptr; });
}

}  // namespace koord::descheduler::custom_priority
