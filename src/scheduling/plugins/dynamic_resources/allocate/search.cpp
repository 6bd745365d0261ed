// Search: see search.hpp. Its order and its ends are those of Kubernetes' structured allocator.
#include "scheduling/plugins/dynamic_resources/allocate/search.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scheduling/plugins/dynamic_resources/allocate/capacity.hpp"

namespace koord::scheduling::dynamic_resources {

namespace {

constexpr std::uint64_t kBudgetMask = 63;

bool tolerates(const api::DeviceToleration& toleration, const api::DeviceTaint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.operator_ == "Exists") return true;
  return (toleration.operator_.empty() || toleration.operator_ == "Equal") && toleration.value == taint.value;
}

}  // namespace

Search::Search(const Question& question, Asks& asks)
    : question_(question),
      pools_(question.pools),
      asks_(asks),
      chosen_(asks.claims().size()),
      users_(question.pools.devices.size()),
      counters_(question.pools, question.taken) {
  for (const Asks::Claim& claim : asks_.claims()) {
    auto& of = constraints_.emplace_back();
    for (const api::DeviceConstraint& constraint : claim.object->spec.devices.constraints)
      of.emplace_back(constraint, pools_);
  }
}

bool Search::run() { return from({}) == Outcome::found; }

bool Search::enter() {
  if ((steps_++ & kBudgetMask) != 0 || question_.budget == nullptr || !question_.budget->spent()) return true;
  failure_ =
      std::pair(Answer::Kind::spent, std::string("filter operation aborted: context deadline exceeded"));
  return false;
}

Search::Outcome Search::from(At at) {
  if (!enter()) return Outcome::failed;
  if (at.claim == asks_.claims().size()) return Outcome::found;
  const Asks::Claim& claim = asks_.claims()[at.claim];
  if (at.request == claim.requests.size()) {
    // Too many for the next claim: other devices of this one may do, where its requests can be had in
    // different ways.
    const Outcome outcome = from({at.claim + 1, 0});
    return outcome == Outcome::too_many ? Outcome::none : outcome;
  }
  const Asks::Request& request = claim.requests[at.request];
  return request.prioritized ? any_way(at, request) : devices(at, request.first, 0, 0);
}

Search::Outcome Search::any_way(At at, const Asks::Request& request) {
  bool all_too_many = true;
  for (std::uint32_t i = 0; i < request.count; ++i) {
    if (!enter()) return Outcome::failed;
    const Outcome outcome = devices(at, request.first + i, 0, 0);
    if (outcome == Outcome::too_many) continue;
    all_too_many = false;
    if (outcome != Outcome::none) return outcome;
  }
  return all_too_many ? Outcome::too_many : Outcome::none;
}

Search::Outcome Search::devices(At at, std::uint32_t ask, std::int64_t index, std::uint32_t first) {
  const Ask& of = asks_.ask(ask);
  if (of.all && of.all_devices.empty()) return Outcome::none;
  if (index >= of.count) return from({at.claim, at.request + 1});
  const auto results = static_cast<std::int64_t>(chosen_[at.claim].size());
  if (of.count - index > static_cast<std::int64_t>(kMostResults) - results) return Outcome::too_many;
  return of.all ? all_devices(at, ask, index) : one_of(at, ask, index, first);
}

Search::Outcome Search::all_devices(At at, std::uint32_t ask, std::int64_t index) {
  if (!choose(at, ask, asks_.ask(ask).all_devices[static_cast<std::size_t>(index)], true))
    return failure_ ? Outcome::failed : Outcome::none;
  if (!enter()) return Outcome::failed;
  const Outcome outcome = devices(at, ask, index + 1, 0);
  if (outcome != Outcome::found) undo(at);
  return outcome;
}

Search::Outcome Search::enough(At at, std::uint32_t ask, std::uint32_t first, std::int64_t most) {
  for (std::uint32_t device = first; most > 0 && device < pools_.devices.size(); ++device) {
    if (eligible(at, ask, device)) {
      // The same device may serve again: how often, only trying tells.
      if (shared(device)) return Outcome::found;
      --most;
    }
    if (failure_) return Outcome::failed;
  }
  return most > 0 ? Outcome::none : Outcome::found;
}

Search::Outcome Search::one_of(At at, std::uint32_t ask, std::int64_t index, std::uint32_t first) {
  // The devices of a request are alike to it, so they are chosen in their order: what follows comes after.
  const std::int64_t missing = asks_.ask(ask).count - index;
  for (std::uint32_t device = first; device < pools_.devices.size(); ++device) {
    if (!eligible(at, ask, device)) {
      if (failure_) return Outcome::failed;
      continue;
    }
    if (missing > 1) {
      const Outcome rest = enough(at, ask, device, missing);
      if (rest != Outcome::found) return rest;
    }
    if (!choose(at, ask, device, false)) continue;
    if (!enter()) return Outcome::failed;
    const Outcome outcome = devices(at, ask, index + 1, shared(device) ? device : device + 1);
    if (outcome == Outcome::found) return outcome;
    undo(at);
    if (outcome != Outcome::none) return outcome;
  }
  return Outcome::none;
}

bool Search::eligible(At at, std::uint32_t ask, std::uint32_t device) {
  Ask& of = asks_.ask(ask);
  if (in_use(at, of, device) || elsewhere(device)) return false;
  if (!asks_.matches(*asks_.claims()[at.claim].object, of, device, failure_)) return false;
  return !question_.features.consumable_capacity ||
         capacity_suffices(of, pools_.devices[device], question_.taken, being_consumed(device));
}

bool Search::choose(At at, std::uint32_t ask, std::uint32_t device, bool must) {
  const Ask& of = asks_.ask(ask);
  const NodePools::Device& what = pools_.devices[device];
  if (in_use(at, of, device) || elsewhere(device)) return false;
  if (!question_.features.partitionable_devices && !what.object().consumes_counters.empty()) return false;
  Chosen chosen{.ask = ask, .device = device, .shared = shared(device)};
  // Whoever has a part of it has its counters.
  const bool counted = chosen.shared && (question_.taken.consumed(what.number) != nullptr ||
                                         being_consumed(device) != nullptr);
  if (what.uses.count != 0 && !counted) {
    if (!counters_.take(what)) return false;
    chosen.took_counters = true;
  }
  const auto leave = [&] {
    if (chosen.took_counters) counters_.give_back(what);
    return false;
  };
  if (question_.features.device_taints && !tolerated(of, device)) return leave();
  std::vector<Constraint>& constraints = constraints_[at.claim];
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    if (((of.constraints >> i) & 1) == 0 || constraints[i].admits(device)) continue;
    if (must)
      failure_ = std::pair(
          Answer::Kind::failed,
          fmt::format("claim {}, request {}: cannot add device {} because a claim constraint would not be "
                      "satisfied",
                      name_of(*asks_.claims()[at.claim].object), of.name().view(),
                      what.slice->id(what.index).text()));
    return leave();
  }
  if (question_.features.consumable_capacity &&
      !capacity_suffices(of, what, question_.taken, being_consumed(device)))
    return leave();

  for (std::size_t i = 0; i < constraints.size(); ++i)
    if (((of.constraints >> i) & 1) != 0) constraints[i].push(device);
  if (chosen.shared) {
    chosen.consumed = consumed_capacity(of.capacity, what.object());
    Shares& shares = shares_[device];
    ++shares.count;
    for (const auto& [name, amount] : chosen.consumed) shares.capacity[name] += amount;
  } else {
    ++users_[device];
  }
  chosen_[at.claim].push_back(std::move(chosen));
  return true;
}

void Search::undo(At at) {
  const Chosen& chosen = chosen_[at.claim].back();
  const std::uint64_t about = asks_.ask(chosen.ask).constraints;
  std::vector<Constraint>& constraints = constraints_[at.claim];
  for (std::size_t i = 0; i < constraints.size(); ++i)
    if (((about >> i) & 1) != 0) constraints[i].pop();
  if (chosen.shared) {
    const auto shares = shares_.find(chosen.device);
    for (const auto& [name, amount] : chosen.consumed) shares->second.capacity[name] -= amount;
    if (--shares->second.count == 0) shares_.erase(shares);
  } else {
    --users_[chosen.device];
  }
  if (chosen.took_counters) counters_.give_back(pools_.devices[chosen.device]);
  chosen_[at.claim].pop_back();
}

bool Search::shared(std::uint32_t device) const {
  return question_.features.consumable_capacity && pools_.devices[device].shared();
}

bool Search::elsewhere(std::uint32_t device) const {
  if (question_.numa_nodes == 0) return false;
  const int node = pools_.devices[device].numa_node();
  return node >= 0 && (question_.numa_nodes >> node & 1U) == 0;
}

bool Search::in_use(At at, const Ask& ask, std::uint32_t device) const {
  if (!ask.admin) {
    const DeviceNumber number = pools_.devices[device].number;
    if (question_.taken.has(number) || users_[device] != 0) return true;
    // Its driver shares it no more, and somebody still has a part of it.
    return !shared(device) && question_.taken.consumed(number) != nullptr;
  }
  // Who only looks may look at what others have, but once a claim.
  return users_[device] != 0 && std::ranges::any_of(chosen_[at.claim], [&](const Chosen& chosen) {
           return chosen.device == device && !chosen.shared;
         });
}

bool Search::tolerated(const Ask& ask, std::uint32_t device) const {
  return std::ranges::all_of(pools_.devices[device].object().taints, [&](const api::DeviceTaint& taint) {
    // Others, None among them, keep nobody away.
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") return true;
    return std::ranges::any_of(*ask.tolerations, [&](const api::DeviceToleration& toleration) {
      return tolerates(toleration, taint);
    });
  });
}

const api::ResourceList* Search::being_consumed(std::uint32_t device) const {
  const auto shares = shares_.find(device);
  return shares == shares_.end() ? nullptr : &shares->second.capacity;
}

}  // namespace koord::scheduling::dynamic_resources
