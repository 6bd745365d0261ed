// The choice of pods to take over: see choose.hpp.
#include "scheduling/plugins/reservation/preallocation/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace koord::scheduling::reservation {

namespace {

using Names = std::set<std::string_view>;
using Reasons = std::vector<std::string>;

std::int64_t amount_of(const std::vector<Amount>& amounts, ResourceId resource) {
  const auto it = std::ranges::find(amounts, resource, &Amount::resource);
  return it != amounts.end() ? it->amount : 0;
}

class Choice {
 public:
  Choice(const RoomWanted& room, std::span<const Candidate> candidates)
      : room_(room), r_(room.reservation), candidates_(candidates) {}

  Chosen make() {
    for (const Candidate& c : candidates_)
      if (c.held) chosen_.pods.push_back(&c);
    const bool held = !chosen_.pods.empty();
    const Names without = lacking(taken_by(chosen_.pods, r_));
    if (without.empty() && (held || (!r_.required && room_.prefers_none))) return chosen_;
    if (r_.several ? several() : !held && one()) return chosen_;
    by_node(short_by_node_.empty() && (held || !r_.required) ? without : short_by_node_);
    if (r_.required) {
      std::ranges::move(short_in_it_, std::back_inserter(chosen_.reasons));
      if (chosen_.reasons.empty()) chosen_.reasons.emplace_back(kNoPodsToPreAllocate);
    }
    if (!chosen_.fits()) chosen_.pods.clear();
    return chosen_;
  }

 private:
  /// What the node has too little of, if so much counts once.
  Names lacking(const Taken& taken) const {
    Names names;
    const std::vector<Amount> once = room_.counted_once(taken);
    for (std::size_t i = 0; i < room_.wanted.size(); ++i)
      if (const Amount& a = room_.wanted[i]; a.amount - amount_of(once, a.resource) > room_.free[i])
        names.insert(room_.name(a.resource));
    return names;
  }
  void by_node(const Names& names) {
    for (const std::string_view name : names)
      chosen_.reasons.push_back(fmt::format("Insufficient {} by node", name));
  }
  bool concerns(const Candidate& c) const {
    return !c.held &&
           std::ranges::any_of(c.requests, [&](const auto& asked) { return r_.counts(asked.key); });
  }
  /// Whether these fit into it; why not becomes known.
  bool fit_in(const api::ResourceList& requests, std::int64_t others) {
    Reasons why = lacks(requests, r_, {.pods = others}, false, room_.ignored);
    std::ranges::copy(why, std::back_inserter(short_in_it_));
    return why.empty();
  }

  bool one() {
    const Candidate* best = nullptr;
    for (const Candidate& c : candidates_) {
      if (!concerns(c)) continue;
      const Candidate* const alone = &c;
      const Names names = lacking(taken_by({&alone, 1}, r_));
      short_by_node_.insert(names.begin(), names.end());
      if (fit_in(c.requests, 0) && names.empty() && (best == nullptr || c.score > best->score)) best = &c;
    }
    if (best != nullptr) chosen_.pods.push_back(best);
    return best != nullptr;
  }

  bool several() {
    api::ResourceList sum;
    for (const Candidate* c : chosen_.pods) add(sum, c->requests);
    Taken taken = taken_by(chosen_.pods, r_);
    for (const Candidate& c : candidates_) {
      if (!concerns(c)) continue;
      api::ResourceList more = sum;
      add(more, c.requests);
      Taken with = taken;
      ++with.pods;
      add(with.amounts, only(c.requests, r_.counted));
      short_by_node_ = lacking(with);
      if (!fit_in(more, static_cast<std::int64_t>(chosen_.pods.size()))) continue;
      chosen_.pods.push_back(&c);
      taken = std::move(with);
      sum = std::move(more);
      if (short_by_node_.empty()) return true;
    }
    return false;
  }

  const RoomWanted& room_;
  const Facts& r_;
  std::span<const Candidate> candidates_;
  Chosen chosen_;
  Names short_by_node_;
  Reasons short_in_it_;
};

}  // namespace

Taken taken_by(std::span<const Candidate* const> pods, const Facts& r) {
  Taken taken;
  for (const Candidate* c : pods) {
    ++taken.pods;
    add(taken.amounts, only(c->requests, r.counted));
  }
  return taken;
}

Chosen choose(const RoomWanted& room, std::span<const Candidate> candidates) {
  return Choice(room, candidates).make();
}

}  // namespace koord::scheduling::reservation
