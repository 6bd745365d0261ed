// The plugins that judge a node by itself and its pods, for the scheduler's oracle.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/reference/matching.hpp"
#include "support/reference/state.hpp"

namespace koord::reference {

namespace {

constexpr std::int64_t kMaxScore = 100;

bool is_extended(std::string_view name) {
  return name.find('/') != std::string_view::npos && name.find("kubernetes.io/") == std::string_view::npos;
}
/// Counted, but not asked for by every pod.
bool is_scalar(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.starts_with("hugepages-");
}
bool is_counted(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" || is_scalar(name);
}

std::int64_t amount(const api::ResourceList& list, std::string_view name) {
  const api::Quantity* q = list.find(name);
  return q == nullptr ? 0 : name == "cpu" ? q->milli_value() : q->value();
}

/// `exact`: not with what is assumed of containers that ask for nothing.
std::int64_t asked(const Counted& pod, std::string_view name, bool exact = true) {
  if (exact || (name != "cpu" && name != "memory")) return amount(pod.requests, name);
  return name == "cpu" ? pod.at_least.milli_cpu : pod.at_least.memory;
}
std::int64_t asked(const std::vector<Counted>& pods, std::string_view name, bool exact = true) {
  std::int64_t sum = 0;
  for (const Counted& pod : pods) sum += asked(pod, name, exact);
  return sum;
}

struct Port {
  Symbol ip, protocol;
  std::int32_t number;
};
std::vector<Port> host_ports(const api::Pod& pod) {
  std::vector<Port> ports;
  const auto take = [&](const api::Container& c) {
    for (const auto& p : c.ports)
      if (p.host_port > 0)
        ports.push_back({p.host_ip.empty() ? "0.0.0.0" : p.host_ip, p.protocol.empty() ? "TCP" : p.protocol,
                         p.host_port});
  };
  for (const auto& c : pod.spec.containers) take(c);
  for (const auto& c : pod.spec.init_containers)
    if (c.restart_policy == "Always") take(c);
  return ports;
}
bool conflict(const Port& a, const Port& b) {
  return a.number == b.number && a.protocol == b.protocol &&
         (a.ip == b.ip || a.ip == "0.0.0.0" || b.ip == "0.0.0.0");
}

Filtered reject(const std::string& plugin, bool unresolvable, std::string reason) {
  return Rejection{plugin, unresolvable, {std::move(reason)}};
}

Filtered fit(const Config& config, const Counted& pod, const NodeState& node) {
  Rejection why{"NodeResourcesFit", false, {}};
  const api::ResourceList& has = node.node->status.allocatable;
  if (static_cast<std::int64_t>(node.pods.size()) + 1 > amount(has, "pods"))
    why.reasons.push_back("Too many pods");
  for (const auto& [name, quantity] : pod.requests) {
    const std::int64_t wanted = asked(pod, name);
    if (wanted <= 0 || !is_counted(name)) continue;
    const std::string text = name.str();
    if (is_extended(name) && (config.ignored_resources.contains(text) ||
                              config.ignored_resource_groups.contains(text.substr(0, text.find('/')))))
      continue;
    if (wanted <= amount(has, name) - asked(node.pods, name)) continue;
    why.reasons.push_back(fmt::format("Insufficient {}", text));
    why.unresolvable = why.unresolvable || wanted > amount(has, name);
  }
  if (why.reasons.empty()) return std::nullopt;
  std::sort(why.reasons.begin(), why.reasons.end());
  return why;
}

/// Of a resource that has a say on the node; the pod's share is in it.
struct Usage {
  std::int64_t used, has, weight;
};
std::vector<Usage> usage(const std::vector<Config::Weighted>& resources, bool exact, const Counted& pod,
                         const NodeState& node) {
  std::vector<Usage> all;
  for (const auto& [name, weight] : resources) {
    if (!is_counted(name)) continue;
    const std::int64_t has = amount(node.node->status.allocatable, name);
    if (has == 0 || (is_scalar(name) && asked(pod, name) == 0)) continue;
    all.push_back({asked(pod, name, exact) + asked(node.pods, name, exact), has, weight});
  }
  return all;
}

std::int64_t on_shape(const Config& config, std::int64_t percent) {
  const auto score = [&](std::size_t i) { return config.shape[i].second * 10; };
  for (std::size_t i = 0; i < config.shape.size(); ++i) {
    const std::int64_t to = config.shape[i].first;
    if (percent > to) continue;
    if (i == 0) return score(0);
    const std::int64_t from = config.shape[i - 1].first;
    return score(i - 1) + (score(i) - score(i - 1)) * (percent - from) / (to - from);
  }
  return score(config.shape.size() - 1);
}

std::int64_t fit_score(const Config& config, const Counted& pod, const NodeState& node) {
  std::int64_t sum = 0, weights = 0;
  for (const Usage& u : usage(config.fit_resources, false, pod, node)) {
    std::int64_t score = 0;
    switch (config.strategy) {
      case Config::Strategy::least_allocated:
        score = u.used > u.has ? 0 : (u.has - u.used) * kMaxScore / u.has;
        break;
      case Config::Strategy::most_allocated: score = std::min(u.used, u.has) * kMaxScore / u.has; break;
      case Config::Strategy::requested_to_capacity_ratio:
        score = on_shape(config, u.used > u.has ? 100 : u.used * 100 / u.has);
        if (score <= 0) continue;  // and its weight does not count
    }
    sum += score * u.weight;
    weights += u.weight;
  }
  if (weights == 0) return 0;
  if (config.strategy != Config::Strategy::requested_to_capacity_ratio) return sum / weights;
  return std::llround(static_cast<double>(sum) / static_cast<double>(weights));
}

std::int64_t balance_score(const Config& config, const Counted& pod, const NodeState& node) {
  std::vector<double> shares;
  double sum = 0;
  for (const Usage& u : usage(config.balanced_resources, true, pod, node)) {
    shares.push_back(std::min(static_cast<double>(u.used) / static_cast<double>(u.has), 1.0));
    sum += shares.back();
  }
  double deviation = 0;
  if (shares.size() == 2) {
    deviation = std::fabs((shares[0] - shares[1]) / 2);
  } else if (shares.size() > 2) {
    const double mean = sum / static_cast<double>(shares.size());
    double squares = 0;
    for (const double s : shares) squares += (s - mean) * (s - mean);
    deviation = std::sqrt(squares / static_cast<double>(shares.size()));
  }
  return static_cast<std::int64_t>((1 - deviation) * kMaxScore);
}

std::string image_name(const Symbol& image) {
  std::string name = image.str();
  const auto at = [&](char c) { return static_cast<std::ptrdiff_t>(name.rfind(c)); };  // -1: not there
  if (at(':') <= at('/')) name += ":latest";
  return name;
}
bool carries(const api::Node& node, const std::string& image, std::int64_t& size) {
  for (const auto& i : node.status.images)
    for (const Symbol& name : i.names)
      if (name == image) return size = i.size_bytes, true;
  return false;
}
/// An image's size is taken to be the same everywhere.
std::int64_t image_score(const api::Pod& pod, const State& all, const NodeState& node) {
  constexpr std::int64_t kLow = 23LL << 20, kHighForEach = 1000LL << 20;
  std::int64_t sum = 0, containers = 0;
  const auto add = [&](const api::Container& c) {
    ++containers;
    const std::string name = image_name(c.image);
    std::int64_t size = 0, ignored = 0;
    if (!carries(*node.node, name, size)) return;
    const auto with =
        std::count_if(all.begin(), all.end(), [&](auto& n) { return carries(*n.node, name, ignored); });
    sum += static_cast<std::int64_t>(static_cast<double>(size) *
                                     (static_cast<double>(with) / static_cast<double>(all.size())));
  };
  for (const auto& c : pod.spec.init_containers) add(c);
  for (const auto& c : pod.spec.containers) add(c);
  const std::int64_t high = kHighForEach * containers;
  return kMaxScore * (std::clamp(sum, kLow, high) - kLow) / (high - kLow);
}

}  // namespace

State state_of(const Cluster& cluster) {
  State state;
  std::map<std::string, std::size_t> place;
  for (const auto& [name, node] : cluster.nodes) {
    place[name] = state.size();
    state.push_back({node.get(), {}});
  }
  for (const auto& [key, pod] : cluster.pods)
    if (const auto at = place.find(pod->spec.node_name.str()); at != place.end())
      state[at->second].pods.emplace_back(*pod);
  return state;
}

Filtered filter_node(const std::string& plugin, const Config& config, const Counted& counted,
                     const NodeState& state) {
  const api::Node& node = *state.node;
  const api::Pod& pod = *counted.pod;
  if (plugin == "NodeUnschedulable") {
    if (node.spec.unschedulable &&
        !tolerates(pod, {"node.kubernetes.io/unschedulable", {}, "NoSchedule", {}}))
      return reject(plugin, true, "node(s) were unschedulable");
  } else if (plugin == "NodeName") {
    if (!pod.spec.node_name.empty() && pod.spec.node_name != node.metadata.name)
      return reject(plugin, true, "node(s) didn't match the requested node name");
  } else if (plugin == "TaintToleration") {
    if (is_tainted(pod, node)) return reject(plugin, true, "node(s) had untolerated taint(s)");
  } else if (plugin == "NodeAffinity") {
    if (config.added_affinity && config.added_affinity->required &&
        !matches(*config.added_affinity->required, node))
      return reject(plugin, true, "node(s) didn't match scheduler-enforced node affinity");
    if (!may_go(pod, node)) return reject(plugin, true, "node(s) didn't match Pod's node affinity/selector");
  } else if (plugin == "NodePorts") {
    for (const Port& wanted : host_ports(pod))
      for (const Counted& other : state.pods)
        for (const Port& taken : host_ports(*other.pod))
          if (conflict(wanted, taken))
            return reject(plugin, false, "node(s) didn't have free ports for the requested pod ports");
  } else if (plugin == "NodeResourcesFit") {
    return fit(config, counted, state);
  }
  return std::nullopt;
}

RawScores score_nodes(const std::string& plugin, const Config& config, const Counted& counted,
                      const State& all, const Feasible& nodes) {
  const api::Pod& pod = *counted.pod;
  const api::NodeAffinity* affinity = pod.spec.affinity && pod.spec.affinity->node_affinity
                                          ? pod.spec.affinity->node_affinity.get()
                                          : nullptr;
  const api::NodeAffinity* added = config.added_affinity.get();
  const auto& balanced = config.balanced_resources;
  if (plugin == "NodeAffinity" && (affinity == nullptr || affinity->preferred.empty()) &&
      (added == nullptr || added->preferred.empty()))
    return std::nullopt;
  if (plugin == "NodeResourcesBalancedAllocation" &&
      std::all_of(balanced.begin(), balanced.end(), [&](auto& r) { return asked(counted, r.name) == 0; }))
    return std::nullopt;
  std::vector<std::int64_t> scores;
  for (const NodeState* n : nodes) {
    std::int64_t score = 0;
    if (plugin == "TaintToleration") {
      for (const auto& t : n->node->spec.taints)
        score += t.effect == "PreferNoSchedule" && !tolerates(pod, t);
    } else if (plugin == "NodeAffinity") {
      if (affinity != nullptr) score += preference(affinity->preferred, *n->node);
      if (added != nullptr) score += preference(added->preferred, *n->node);
    } else if (plugin == "NodeResourcesFit") {
      score = fit_score(config, counted, *n);
    } else if (plugin == "NodeResourcesBalancedAllocation") {
      score = balance_score(config, counted, *n);
    } else if (plugin == "ImageLocality") {
      score = image_score(pod, all, *n);
    }
    scores.push_back(score);
  }
  return scores;
}

void normalize(const std::string& plugin, std::vector<std::int64_t>& scores) {
  const bool worst = plugin == "TaintToleration";
  if (!worst && plugin != "NodeAffinity") return;
  std::int64_t best = 0;
  for (const std::int64_t s : scores) best = std::max(best, s);
  for (std::int64_t& s : scores) {
    const std::int64_t share = best == 0 ? 0 : kMaxScore * s / best;
    s = worst ? kMaxScore - share : share;
  }
}

}  // namespace koord::reference
