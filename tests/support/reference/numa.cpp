// What NodeNUMAResource means for one pod: see numa.hpp.
#include "support/reference/numa.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/scheduling.hpp"

namespace koord::reference {

namespace {

constexpr const char* kPlugin = "NodeNUMAResource";
constexpr const char* kTooFew = "not enough cpus available to satisfy request";

Filtered reject(bool unresolvable, std::vector<std::string> reasons) {
  std::sort(reasons.begin(), reasons.end());
  return Rejection{kPlugin, unresolvable, std::move(reasons)};
}

bool is_bind_policy(const std::string& text) { return text == "FullPCPUs" || text == "SpreadByPCPUs"; }

/// Of resources that only some pods ask for; others count for every pod.
bool counts_if_asked(const std::string& name) {
  return name.find('/') != std::string::npos || name.starts_with("hugepages-");
}

template <class Map>
std::int64_t value_of(const Map& amounts, const std::string& name) {
  const auto at = amounts.find(name);
  return at == amounts.end() ? 0 : at->second;
}

}  // namespace

Numa::Numa(const Cluster& cluster, const Config& config, const api::Pod& pod)
    : cluster_(cluster),
      default_strategy_(config.numa.zones_most ? "MostAllocated" : "LeastAllocated"),
      most_(config.numa.most),
      zones_most_(config.numa.zones_most) {
  for (const auto& [name, weight] : config.numa.resources) scored_.emplace_back(name, weight);
  read(config, pod);
}

/// PreFilter.
void Numa::read(const Config& config, const api::Pod& pod) {
  const auto spec = api::read_annotation<api::ResourceSpec>(pod.metadata.annotations);
  const auto numa = api::read_annotation<api::NumaTopologySpec>(pod.metadata.annotations);
  if (!spec) error_ = spec.error().message();
  if (spec && !numa) error_ = numa.error().message();
  if (!error_.empty()) return;
  const api::ResourceList requests = api::pod_requests(pod);
  for (const auto& [name, quantity] : requests)
    if (const std::int64_t amount = whole_amount(requests, name); amount != 0) asks_[name.str()] = amount;
  if (asks_.empty()) return;
  cpu_ = value_of(asks_, "cpu");
  if (*numa) {
    const std::string policy = (*numa)->numa_topology_policy.str();
    if (policy == "BestEffort" || policy == "Restricted" || policy == "SingleNUMANode") policy_ = policy;
    const Symbol& exclusive = (*numa)->single_numa_node_exclusive;
    apart_ = exclusive == "Required" || (exclusive.empty() && !policy_.empty());
  }
  const api::ResourceSpec said = *spec ? **spec : api::ResourceSpec();
  const std::string_view hint = api::value_or(pod.metadata.annotations, api::kSchedulingHint);
  if (hint.find("\"extensions\":{\"NodeNUMAResource\"") != std::string_view::npos) again_ = gift_of(pod);
  const std::string level = said.preferred_cpu_exclusive_policy.str();
  if (level == "PCPULevel" || level == "NUMANodeLevel") written_exclusive_ = level;

  const api::KoordQos qos = api::koord_qos(pod);
  if (qos != api::KoordQos::lse && qos != api::KoordQos::lsr) return;
  if (api::with_default(api::koord_priority(pod), qos) != api::KoordPriority::prod) return;
  std::string required = said.required_cpu_bind_policy.str(), bind = said.preferred_cpu_bind_policy.str();
  if (bind.empty() || bind == "Default") bind = config.numa.bind;
  if (required == "Default") required = config.numa.bind;
  if (!required.empty()) bind = required;
  if (!is_bind_policy(bind)) return;
  if (cpu_ % 1000 != 0) {
    rejected_ = "the requested CPUs must be integer";
    return;
  }
  if (cpu_ == 0) return;
  binds_ = true;
  required_ = required;
  preferred_ = bind;
  exclusive_ = written_exclusive_;
}

Numa::Case::Case(const Cluster& cluster, const Numa& pod, const api::Node& node) : machine(cluster, node) {
  policy = pod.policy_.empty() ? machine.policy : pod.policy_;
  bound = pod.binds_ || (pod.cpu_ > 0 && !machine.bind.empty());
  const std::string& must = pod.required_.empty() ? machine.bind : pod.required_;
  required = !must.empty();
  bind = required ? must : pod.preferred_;
  usable = machine.free();
  if (pod.again_) usable = common(usable, pod.again_->cpus);
  if (required) usable = reference::usable(machine, usable, bind);
  for (const auto& [zone, amounts] : machine.zones)
    for (const auto& [name, amount] : amounts) {
      std::int64_t& rest = left[zone][name] =
          std::max<std::int64_t>(amount - machine.allocated(zone, name), 0);
      if (pod.again_ && !pod.again_->zones.empty()) {
        const auto had = pod.again_->zones.find(zone);
        rest = std::min(rest, had == pod.again_->zones.end() ? 0 : value_of(had->second, name));
      }
      if (name == "cpu" && required)
        rest = std::min(rest, 1000 * static_cast<std::int64_t>(common(usable, machine.of_zone(zone)).size()));
    }
}

const Numa::Case& Numa::on(const api::Node& node) const {
  const auto at = cases_.find(node.metadata.name);
  return at != cases_.end() ? at->second
                            : cases_.emplace(node.metadata.name, Case(cluster_, *this, node)).first->second;
}

Filtered Numa::filter(const NodeState& node) const {
  if (asks_.empty()) return std::nullopt;
  return judge(node, on(*node.node));
}

Filtered Numa::judge(const NodeState& node, const Case& on) const {
  const Machine& machine = on.machine;
  if (!machine.policy.empty() && !policy_.empty() && machine.policy != policy_)
    return reject(true, {"node(s) NUMA Topology policy not match"});
  if (on.bound && cpu_ % 1000 != 0) return reject(true, {"the requested CPUs must be integer"});
  const bool amplifies = cpu_ > 0 && !again_;
  if (amplifies && machine.ratio_is_wrong) return reject(true, {"node(s) invalid CPU amplification ratio"});
  const bool without_cpus = machine.reported && !machine.has_cpus();
  if (amplifies && machine.cpu_ratio > 1) {
    if (without_cpus) return reject(true, {"node(s) invalid CPU Topology"});
    if (lacks_amplified(node, on)) return reject(false, {"Insufficient amplified cpu"});
  }
  if (on.bound) {
    if (!machine.has_cpus()) return reject(true, {"node(s) invalid CPU Topology"});
    const std::string& required = machine.bind.empty() ? required_ : machine.bind;
    if (!required_.empty() && required_ != required)
      return reject(true, {"node(s) cpu bind policy conflicts with pod's required cpu bind policy"});
    if (required == "FullPCPUs" && cpu_ / 1000 % machine.per_core != 0)
      return reject(true, {"node(s) requested cpus not multiple cpus per core"});
  }
  if (!on.is_concerned()) return std::nullopt;
  std::optional<NodeSet> nodes;
  if (!on.policy.empty()) {
    if (machine.zones.empty()) return reject(true, {"node(s) missing NUMA resources"});
    if (on.required && !machine.has_cpus())
      return reject(false, {"node(s) Insufficient NUMA Node resources"});
    const Chosen& chosen = choose(on, *node.node);
    if (!chosen.reasons.empty()) return reject(false, chosen.reasons);
    nodes = chosen.nodes;
  }
  const Trial trial = try_on(on, nodes);
  if (!trial.reasons.empty()) return reject(false, trial.reasons);
  return std::nullopt;
}

bool Numa::lacks_amplified(const NodeState& node, const Case& on) const {
  const double ratio = on.machine.cpu_ratio;
  const auto bound = 1000 * static_cast<std::int64_t>(on.machine.taken().size());
  std::int64_t used = 0;
  for (const Counted& pod : node.pods) used += whole_amount(pod.requests, "cpu");
  if (used >= bound) used += amplify(bound, ratio) - bound;
  return (on.bound ? amplify(cpu_, ratio) : cpu_) > whole_amount(node.node->status.allocatable, "cpu") - used;
}

/// An even share for each memory node, those with the least first; what is over is for the later ones.
std::optional<std::string> Numa::distribute(const Case& on, NodeSet nodes, const std::string& resource,
                                            Zones& shares) const {
  std::vector<std::pair<std::int64_t, int>> order;
  for (const auto& [zone, amounts] : on.left)
    if ((nodes >> zone & 1) != 0) order.emplace_back(value_of(amounts, resource), zone);
  std::sort(order.begin(), order.end());
  std::int64_t amount = value_of(asks_, resource);
  auto zones = static_cast<std::int64_t>(order.size());
  for (const auto& [left, zone] : order) {
    std::int64_t part = amount / zones;
    if (resource == "cpu" && on.bound) {
      const std::int64_t cpus = (amount + 999) / 1000;
      part = cpus / zones * 1000;
      if (on.required && on.bind == "FullPCPUs")
        part = cpus / on.machine.per_core / zones * on.machine.per_core * 1000;
    }
    --zones;
    const std::int64_t got = std::min(left, part);
    if (got > 0) shares[zone][resource] = got;
    amount -= got;
  }
  if (amount == 0) return std::nullopt;
  return fmt::format("Insufficient NUMA {}", resource);
}

/// Why it gets no CPUs; empty: it gets them.
std::string Numa::bind_cpus(const Case& on, NumaGift& gift) const {
  const Machine& machine = on.machine;
  const int needed = static_cast<int>(cpu_ / 1000);
  if (static_cast<int>(on.usable.size()) < needed) return kTooFew;
  if (again_ && static_cast<int>(again_->cpus.size()) != needed) return kTooFew;
  const std::string& strategy = machine.strategy.empty() ? default_strategy_ : machine.strategy;
  Wish wish{needed, on.bind, exclusive_, strategy == "MostAllocated"};
  if (gift.zones.empty()) {
    const auto cpus = take_cpus(machine, on.usable, wish);
    if (!cpus) return kTooFew;
    gift.cpus = *cpus;
  }
  for (const auto& [zone, amounts] : gift.zones) {
    const Cpus there = common(on.usable, machine.of_zone(zone));
    wish.count = std::min(static_cast<int>(there.size()), static_cast<int>(value_of(amounts, "cpu") / 1000));
    const auto cpus = take_cpus(machine, there, wish);
    if (!cpus) return kTooFew;
    gift.cpus.insert(cpus->begin(), cpus->end());
  }
  if (static_cast<int>(gift.cpus.size()) != needed) return kTooFew;
  if (on.required && !keeps(machine, gift.cpus, on.bind))
    return fmt::format("insufficient CPUs to satisfy required cpu bind policy {}", on.bind);
  return "";
}

Numa::Trial Numa::try_on(const Case& on, std::optional<NodeSet> nodes) const {
  Trial trial;
  trial.gift.exclusive = written_exclusive_;
  if (nodes)
    for (const auto& [resource, amount] : asks_)
      if (on.machine.knows(resource))
        if (const auto why = distribute(on, *nodes, resource, trial.gift.zones))
          trial.reasons.push_back(*why);
  const bool others = again_ && !on.bound && !again_->cpus.empty();
  if (trial.reasons.empty() && others) trial.reasons.emplace_back(kTooFew);
  if (!trial.reasons.empty() || !on.bound) return trial;
  if (const std::string why = bind_cpus(on, trial.gift); !why.empty()) trial.reasons.push_back(why);
  return trial;
}

Numa::Amounts Numa::asked_for(const Case& on) const {
  Amounts asked = asks_;
  if (on.bound) asked["cpu"] = amplify(cpu_, on.machine.zone_ratio);
  return asked;
}

Hints Numa::hints(const Case& on) const {
  const Machine& machine = on.machine;
  Hints hints;
  std::map<std::string, std::size_t> narrowest;
  for (const auto& [resource, amount] : asks_)
    if (machine.knows(resource)) hints[resource];
  const Amounts asked = asked_for(on);
  for (const NodeSet nodes : sets_of_nodes(machine)) {
    if (!try_on(on, nodes).reasons.empty()) continue;
    Amounts has, used;
    std::set<std::string> lacking;
    std::size_t count = 0;
    for (const auto& [zone, left] : on.left) {
      if ((nodes >> zone & 1) == 0) continue;
      ++count;
      for (const auto& [resource, list] : hints)
        if (value_of(left, resource) == 0) lacking.insert(resource);
      for (const auto& [resource, weight] : scored_) {
        has[resource] += machine.has_of(zone, resource);
        used[resource] += machine.has_of(zone, resource) - value_of(left, resource);
      }
    }
    for (auto& [resource, amount] : used) amount = std::max<std::int64_t>(amount, 0);
    for (auto& [resource, list] : hints) {
      if (lacking.contains(resource)) continue;
      list.push_back({nodes, false, score(zones_most_, used, has, asked)});
      // Sets of fewer come first.
      narrowest.try_emplace(resource, count);
    }
  }
  for (auto& [resource, list] : hints)
    for (Hint& hint : list) {
      std::size_t count = 0;
      for (const auto& [zone, amounts] : machine.zones) count += hint.nodes >> zone & 1;
      hint.preferred = count == narrowest[resource] || on.policy == "Restricted";
    }
  return hints;
}

/// What is there of the memory nodes that it had; absent: it had none.
std::optional<NodeSet> Numa::had(const Machine& machine) const {
  if (again_->zones.empty()) return std::nullopt;
  NodeSet nodes = 0;
  for (const auto& [zone, amounts] : again_->zones)
    if (machine.zones.contains(zone)) nodes |= NodeSet{1} << zone;
  return nodes;
}

const Chosen& Numa::choose(const Case& on, const api::Node& node) const {
  const auto at = chosen_.find(node.metadata.name);
  if (at != chosen_.end()) return at->second;
  if (again_) return chosen_[node.metadata.name] = {{}, had(on.machine)};
  return chosen_.emplace(node.metadata.name, choose_nodes(on.machine, on.policy, apart_, hints(on)))
      .first->second;
}

std::int64_t Numa::score(bool most, const Amounts& used, const Amounts& has, const Amounts& asked) const {
  std::int64_t sum = 0, weights = 0;
  for (const auto& [resource, weight] : scored_) {
    const std::int64_t there = value_of(has, resource);
    if (there == 0 || (counts_if_asked(resource) && value_of(asked, resource) == 0)) continue;
    const std::int64_t all = value_of(used, resource) + value_of(asked, resource);
    weights += weight;
    if (most)
      sum += weight * (std::min(all, there) * 100 / there);
    else if (all <= there)
      sum += weight * ((there - all) * 100 / there);
  }
  return weights == 0 ? 0 : sum / weights;
}

std::int64_t Numa::score(const NodeState& state) const {
  const api::Node& node = *state.node;
  const Case& on = this->on(node);
  const Machine& machine = on.machine;
  if ((on.bound && !machine.has_cpus()) || machine.zone_ratio_is_wrong) return 0;
  Amounts has, used;
  for (const auto& [resource, weight] : scored_) {
    has[resource] = whole_amount(node.status.allocatable, resource);
    for (const Counted& pod : state.pods) used[resource] += whole_amount(pod.requests, resource);
  }
  const auto whole = 1000 * static_cast<std::int64_t>(machine.taken().size());
  if (on.policy.empty()) {
    if (cpu_ > 0 && machine.zone_ratio > 1) {
      if (machine.reported && !machine.has_cpus()) return 0;
      used["cpu"] += amplify(whole, machine.zone_ratio) - whole;
    }
    return score(most_, used, has, asked_for(on));
  }
  // Best effort chooses its memory nodes when the node is chosen.
  const Trial trial = try_on(on, on.policy == "BestEffort" || again_ ? std::nullopt : choose(on, node).nodes);
  if (!trial.reasons.empty()) return 0;
  if (!trial.gift.zones.empty()) {
    has.clear();
    used.clear();
    for (const auto& [zone, amounts] : trial.gift.zones)
      for (const auto& [resource, weight] : scored_) {
        has[resource] += machine.has_of(zone, resource);
        used[resource] += machine.allocated(zone, resource);
      }
  }
  if (on.bound) used["cpu"] = amplify(whole, machine.zone_ratio);
  return score(most_, used, has, asked_for(on));
}

RawScores Numa::scores(const Feasible& nodes) const {
  if (asks_.empty() || !rejected_.empty() || !error_.empty()) return std::nullopt;
  std::vector<std::int64_t> scores;
  for (const NodeState* node : nodes) scores.push_back(score(*node));
  return scores;
}

std::optional<NumaGift> Numa::gift(const NodeState& state) const {
  if (asks_.empty()) return std::nullopt;
  const Case& on = this->on(*state.node);
  if (!on.is_concerned()) return std::nullopt;
  return try_on(on, on.policy.empty() ? std::nullopt : choose(on, *state.node).nodes).gift;
}

std::string Numa::binding(const NodeState& node, bool& required) const {
  const Case& on = this->on(*node.node);
  required = on.required;
  return on.bound ? on.bind : "";
}

}  // namespace koord::reference
