// See balance.hpp.
#include "plugins/low_node_load/balance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "evictions/pod_order.hpp"

namespace koord::descheduler::low_node_load {

Detectors::Known* Detectors::find(const std::string& node, MonoTime now) {
  const auto it = known_.find(node);
  if (it == known_.end()) return nullptr;
  if (it->second.until >= now) return &it->second;
  known_.erase(it);
  return nullptr;
}

bool Detectors::is_overloaded(const std::string& node, const AnomalyCondition& condition, MonoTime now) {
  if (condition.abnormal <= 1) return true;
  Known* known = find(node, now);
  if (known == nullptr) known = &known_.insert_or_assign(node, Known{Detector(condition), now}).first->second;
  known->until = now + kept_;
  return known->detector.mark(false, now);
}

void Detectors::reset(const std::string& node, MonoTime now) {
  if (Known* const known = find(node, now)) known->detector.reset();
}

void Detectors::relieved(const std::string& node, MonoTime now) {
  if (Known* const known = find(node, now)) known->detector.mark(true, now);
}

namespace {

/// What one of the two rounds looks at: all that a node uses, or what its prod pods use.
struct Side {
  bool prod;
  Amounts NodeLoad::*usage;
  Amounts Limits::*high;
  Detectors& detectors;
};

class Round {
 public:
  Round(const PoolRules& rules, std::vector<NodeLoad>& nodes, std::vector<Limits>& limits, MonoTime now,
        Mover& mover, const Side& side)
      : rules_(rules), nodes_(nodes), limits_(limits), now_(now), mover_(mover), side_(side) {}

  /// What these nodes may take in, all together.
  Amounts room_of(std::span<const std::size_t> targets) const {
    Amounts room(rules_.thresholds.resources.size());
    for (const std::size_t i : targets)
      for (std::size_t r = 0; r < room.size(); ++r)
        room[r] += (limits_[i].*side_.high)[r] - (nodes_[i].*side_.usage)[r];
    return room;
  }

  /// Pods leave the sources as long as the targets have room; `room` is what is left of it.
  Task<std::size_t> run(std::vector<std::size_t> sources, std::vector<std::size_t> targets, Amounts& room) {
    if (targets.empty()) co_return 0;
    std::ranges::stable_sort(sources, std::greater(), [&](std::size_t i) {
      return node_score(nodes_[i].*side_.usage, nodes_[i].capacity, rules_.weights);
    });
    left_.clear();
    for (const std::size_t i : targets)
      for (std::size_t r = 0; r < room.size(); ++r)
        left_.push_back((limits_[i].*side_.high)[r] - (nodes_[i].*side_.usage)[r]);
    std::size_t evicted = 0;
    for (const std::size_t source : sources) evicted += co_await relieve(source, targets, room);
    co_return evicted;
  }

 private:
  Task<std::size_t> relieve(std::size_t source, std::span<const std::size_t> targets, Amounts& room) {
    NodeLoad& node = nodes_[source];
    const Amounts& limit = limits_[source].*side_.high;
    Amounts excess(limit.size());
    for (std::size_t r = 0; r < limit.size(); ++r) excess[r] = (node.*side_.usage)[r] - limit[r];

    std::vector<std::pair<PodRank, const PodLoad*>> pods;
    for (const PodLoad& each : node.pods) {
      if ((side_.prod && !each.prod) || !mover_.may_go(*each.pod)) continue;
      // Who goes first is who uses most of what is too much; of whom nothing is known, last.
      const double plugin = each.usage ? -pod_score(*each.usage, excess, rules_.weights) : 1;
      pods.emplace_back(rank_of(*each.pod, plugin), &each);
    }
    std::ranges::stable_sort(pods, {}, &std::pair<PodRank, const PodLoad*>::first);
    // Where there is not room for all, those have it who are to go first.
    if (rules_.node_fit)
      std::erase_if(pods, [&](const auto& each) { return !has_place(*each.second, targets); });

    std::size_t evicted = 0;
    for (const auto& [rank, each] : pods) {
      if (!exceeds(node.*side_.usage, limit)) {
        side_.detectors.reset(node.name, now_);
        break;
      }
      if (std::ranges::any_of(room, [](std::int64_t left) { return left <= 0; })) break;
      if (!mover_.may_go(*each->pod) ||
          !co_await mover_.evict(each->pod,
                                 why_evicted(rules_.thresholds, node, limits_[source], side_.prod)))
        continue;
      ++evicted;
      if (!each->usage) continue;
      for (std::size_t r = 0; r < room.size(); ++r) {
        const bool pods = rules_.thresholds.resources[r].view() == "pods";
        const std::int64_t freed = pods ? 1 : (*each->usage)[r];
        room[r] -= freed;
        node.usage[r] -= freed;
        if (side_.prod) node.prod_usage[r] -= freed;
      }
    }
    co_return evicted;
  }

  /// On the first that takes it, which has less room from then on. Many are full already when the last pods
  /// are asked about: what a node really uses costs less to compare than its rules to ask.
  bool has_place(const PodLoad& each, std::span<const std::size_t> targets) {
    if (!each.usage) return false;
    const Amounts& usage = *each.usage;
    std::int64_t* left = left_.data();
    for (const std::size_t target : targets) {
      bool enough = true;
      for (std::size_t r = 0; r < usage.size(); ++r) enough &= usage[r] <= left[r];
      if (enough && mover_.fits(*each.pod, nodes_[target])) {
        for (std::size_t r = 0; r < usage.size(); ++r) {
          left[r] -= usage[r];
          (nodes_[target].*side_.usage)[r] += usage[r];
        }
        return true;
      }
      left += usage.size();
    }
    return false;
  }

  const PoolRules& rules_;
  std::vector<NodeLoad>& nodes_;
  std::vector<Limits>& limits_;
  MonoTime now_;
  Mover& mover_;
  const Side side_;
  Amounts left_;  // of each target what it may still take in
};

std::vector<std::size_t> joined(std::vector<std::size_t> first, std::span<const std::size_t> then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

}  // namespace

Task<Balanced> balance(const PoolRules& rules, std::vector<NodeLoad>& nodes, Detectors& detectors,
                       Detectors& prod_detectors, MonoTime now, Mover& mover) {
  using Why = Balanced::Why;
  Balanced done;
  const auto because = [&](Why why) {
    done.why = why;
    return std::move(done);
  };
  if (nodes.empty()) co_return because(Why::no_nodes);
  std::ranges::sort(nodes, {}, &NodeLoad::name);
  std::vector<Limits> limits = limits_of(rules.thresholds, nodes);
  std::map<Kind, std::vector<std::size_t>> of;
  for (std::size_t i = 0; i < nodes.size(); ++i) of[kind_of(nodes[i], limits[i])].push_back(i);
  for (const auto& [kind, members] : of) done.kinds[kind] = members.size();
  for (const std::size_t i : of[Kind::high]) done.overloaded.push_back(nodes[i].name);
  if (of[Kind::high].empty() && of[Kind::prod_high].empty()) co_return because(Why::none_overloaded);

  const auto lasting = [&](const std::vector<std::size_t>& members, Detectors& known) {
    std::vector<std::size_t> found;
    for (const std::size_t i : members)
      if (known.is_overloaded(nodes[i].name, rules.anomaly, now)) found.push_back(i);
    return found;
  };
  const std::vector<std::size_t> sources = lasting(of[Kind::high], detectors);
  const std::vector<std::size_t> prod_sources = lasting(of[Kind::prod_high], prod_detectors);
  if (sources.empty() && prod_sources.empty()) co_return because(Why::not_long_enough);

  const std::size_t with_room = of[Kind::low].size() + of[Kind::prod_low].size() + of[Kind::both_low].size();
  if (with_room == 0) co_return because(Why::none_with_room);
  for (const std::size_t i : of[Kind::low]) detectors.reset(nodes[i].name, now);
  for (const std::size_t i : of[Kind::prod_low]) prod_detectors.reset(nodes[i].name, now);
  for (const std::size_t i : of[Kind::both_low]) detectors.reset(nodes[i].name, now);
  if (static_cast<std::int64_t>(with_room) <= rules.number_of_nodes) co_return because(Why::few_with_room);
  if (with_room == nodes.size()) co_return because(Why::all_with_room);

  Round all(rules, nodes, limits, now, mover, {false, &NodeLoad::usage, &Limits::high, detectors});
  Round prod(rules, nodes, limits, now, mover,
             {true, &NodeLoad::prod_usage, &Limits::prod_high, prod_detectors});
  const std::vector<std::size_t>& both = of[Kind::both_low];
  Amounts room = all.room_of(of[Kind::low]), both_room = all.room_of(both);
  Amounts prod_room = prod.room_of(of[Kind::prod_low]);
  const Amounts prod_both_room = prod.room_of(both);
  for (std::size_t r = 0; r < room.size(); ++r) room[r] += both_room[r];
  done.evicted = co_await all.run(sources, joined(of[Kind::low], both), room);
  // What the first round has left of the nodes that both may use.
  for (std::size_t r = 0; r < room.size(); ++r)
    prod_room[r] += std::min(prod_both_room[r], std::min(both_room[r], room[r]));
  done.evicted += co_await prod.run(prod_sources, joined(of[Kind::prod_low], both), prod_room);
  for (const std::size_t i : sources) detectors.relieved(nodes[i].name, now);
  for (const std::size_t i : prod_sources) prod_detectors.relieved(nodes[i].name, now);
  co_return because(Why::done);
}

std::string why_evicted(const Thresholds& thresholds, const NodeLoad& node, const Limits& limits, bool prod) {
  const Amounts& usage = prod ? node.prod_usage : node.usage;
  const Amounts& limit = prod ? limits.prod_high : limits.high;
  const std::vector<double>& percent = prod ? thresholds.prod_high : thresholds.high;
  std::string text = "node is overutilized, ";
  bool first = true;
  for (std::size_t r = 0; r < limit.size(); ++r) {
    if (usage[r] <= limit[r]) continue;
    text += fmt::format("{}{} {} usage({:.2f}%)>threshold({:.2f}%)", first ? "" : ", ",
                        prod ? "prod" : "node", thresholds.resources[r].view(),
                        percent_of(usage[r], node.capacity[r]).value_or(0), percent[r]);
    first = false;
  }
  return text;
}

}  // namespace koord::descheduler::low_node_load
