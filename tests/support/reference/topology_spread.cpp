// PodTopologySpread: see topology_spread.hpp.
#include "support/reference/topology_spread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace koord::reference {

namespace {

using Constraint = SpreadFilter::Constraint;
constexpr std::string_view kHostname = "kubernetes.io/hostname";

/// By the services that select the pod and by its controller.
Selector default_selector(const Cluster& cluster, const api::Pod& pod) {
  api::SymbolMap labels;
  const auto merge = [&](const api::SymbolMap& more) {
    for (const auto& [key, value] : more) labels[key.view()] = value;
  };
  const api::ObjectMeta& meta = pod.metadata;
  for (const auto& [key, s] : cluster.services)
    if (s->metadata.namespace_ == meta.namespace_ && Selector::of(s->spec.selector).matches(meta.labels))
      merge(s->spec.selector);
  const api::OwnerReference* owner = api::controller_of(meta);
  const auto owned_by = [&](const auto& all, std::string_view version, std::string_view kind) {
    return owner != nullptr && owner->api_version == version && owner->kind == kind
               ? all.find(fmt::format("{}/{}", meta.namespace_.view(), owner->name.view()))
               : all.end();
  };
  const auto rc = owned_by(cluster.replication_controllers, "v1", "ReplicationController");
  if (rc != cluster.replication_controllers.end()) merge(rc->second->spec.selector);
  Selector selector = Selector::of(labels);
  const auto rs = owned_by(cluster.replica_sets, "apps/v1", "ReplicaSet");
  if (rs != cluster.replica_sets.end()) selector.add(Selector::of(&rs->second->spec.selector));
  const auto ss = owned_by(cluster.stateful_sets, "apps/v1", "StatefulSet");
  if (ss != cluster.stateful_sets.end()) selector.add(Selector::of(&ss->second->spec.selector));
  return selector;
}

std::vector<api::TopologySpreadConstraint> defaults(const Config& config) {
  if (config.default_constraints) return *config.default_constraints;
  std::vector<api::TopologySpreadConstraint> both(2);
  both[0].max_skew = 3;
  both[0].topology_key = kHostname;
  both[1].max_skew = 5;
  both[1].topology_key = "topology.kubernetes.io/zone";
  for (auto& c : both) c.when_unsatisfiable = "ScheduleAnyway";
  return both;
}

std::vector<Constraint> constraints_of(const Cluster& cluster, const Config& config, const api::Pod& pod,
                                       std::string_view action) {
  std::vector<Constraint> out;
  const auto take = [&](const auto& all) {
    for (const api::TopologySpreadConstraint& c : all) {
      if (c.when_unsatisfiable != action) continue;
      Selector selector = Selector::of(c.label_selector.get());
      for (const Symbol& key : c.match_label_keys)
        if (const Symbol* value = pod.metadata.labels.find(key.view()))
          selector.add(Selector::of(api::SymbolMap{{key, *value}}));
      out.push_back({c.max_skew, c.topology_key, selector, c.min_domains.value_or(1),
                     c.node_affinity_policy != "Ignore", c.node_taints_policy == "Honor"});
    }
  };
  if (!pod.spec.topology_spread_constraints.empty()) {
    take(pod.spec.topology_spread_constraints);
    return out;
  }
  take(defaults(config));
  const Selector selector = default_selector(cluster, pod);
  if (selector.is_everything()) return {};
  for (Constraint& c : out) c.selector = selector;
  return out;
}

bool has_all_keys(const api::Node& node, const std::vector<Constraint>& constraints) {
  return std::all_of(constraints.begin(), constraints.end(),
                     [&](const Constraint& c) { return has(node.metadata.labels, c.key); });
}

/// Of the pods that count on a node; a selector of everything counts none, as in kube-scheduler.
std::int64_t matching(const NodeState& node, const Selector& selector, const Symbol& namespace_) {
  if (selector.is_everything()) return 0;
  return std::count_if(node.pods.begin(), node.pods.end(), [&](const Counted& p) {
    const api::ObjectMeta& meta = p.pod->metadata;
    return !meta.deletion_timestamp && meta.namespace_ == namespace_ && selector.matches(meta.labels);
  });
}

/// With the system's constraints a node may lack some of the keys.
bool wants_all_keys(const Config& config, const api::Pod& pod) {
  return !pod.spec.topology_spread_constraints.empty() || config.default_constraints.has_value();
}

}  // namespace

bool Constraint::includes(const api::Pod& pod, const api::Node& node) const {
  return (!honor_affinity || may_go(pod, node)) && (!honor_taints || !is_tainted(pod, node));
}

SpreadFilter::SpreadFilter(const Cluster& cluster, const Config& config, const api::Pod& pod,
                           const State& state)
    : pod_(pod),
      constraints_(constraints_of(cluster, config, pod, "DoNotSchedule")),
      counts_(constraints_.size()) {
  for (const NodeState& n : state) {
    if (!has_all_keys(*n.node, constraints_)) continue;
    for (std::size_t i = 0; i < constraints_.size(); ++i)
      if (constraints_[i].includes(pod, *n.node))
        counts_[i][*n.node->metadata.labels.find(constraints_[i].key.view())] +=
            matching(n, constraints_[i].selector, pod.metadata.namespace_);
  }
}

void SpreadFilter::count(const api::Pod& other, const api::Node& node, int change) {
  if (other.metadata.namespace_ != pod_.metadata.namespace_ || !has_all_keys(node, constraints_)) return;
  for (std::size_t i = 0; i < constraints_.size(); ++i)
    if (constraints_[i].selector.matches(other.metadata.labels) && constraints_[i].includes(pod_, node))
      counts_[i][*node.metadata.labels.find(constraints_[i].key.view())] += change;
}

Filtered SpreadFilter::filter(const api::Node& node) const {
  for (std::size_t i = 0; i < constraints_.size(); ++i) {
    const Constraint& c = constraints_[i];
    const Symbol* domain = node.metadata.labels.find(c.key.view());
    if (domain == nullptr)
      return Rejection{"PodTopologySpread",
                       true,
                       {"node(s) didn't match pod topology spread constraints (missing required label)"}};
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const auto& [value, n] : counts_[i]) least = std::min(least, n);
    if (static_cast<std::int64_t>(counts_[i].size()) < c.min_domains) least = 0;
    const auto there = counts_[i].find(*domain);
    const std::int64_t self = c.selector.matches(pod_.metadata.labels) ? 1 : 0;
    if ((there == counts_[i].end() ? 0 : there->second) + self - least > c.max_skew)
      return Rejection{"PodTopologySpread", false, {"node(s) didn't match pod topology spread constraints"}};
  }
  return std::nullopt;
}

RawScores spread_scores(const Cluster& cluster, const Config& config, const api::Pod& pod, const State& state,
                        const Feasible& nodes) {
  const std::vector<Constraint> constraints = constraints_of(cluster, config, pod, "ScheduleAnyway");
  if (constraints.empty()) return std::nullopt;
  const bool all_keys = wants_all_keys(config, pod);
  std::vector<double> weights;
  std::vector<std::map<Symbol, std::int64_t>> counts;
  for (const Constraint& c : constraints) {
    std::map<Symbol, std::int64_t>& count = counts.emplace_back();
    std::size_t scored = 0;
    for (const NodeState* n : nodes) {
      if (all_keys && !has_all_keys(*n->node, constraints)) continue;
      ++scored;
      // A node without the key is in the domain of the empty value.
      const Symbol* domain = n->node->metadata.labels.find(c.key.view());
      count[domain == nullptr ? Symbol() : *domain] = 0;
    }
    weights.push_back(std::log(static_cast<double>((c.key == kHostname ? scored : count.size()) + 2)));
    for (const NodeState& n : state) {
      if ((all_keys && !has_all_keys(*n.node, constraints)) || !c.includes(pod, *n.node)) continue;
      const Symbol* domain = n.node->metadata.labels.find(c.key.view());
      const auto at = count.find(domain == nullptr ? Symbol() : *domain);
      if (at != count.end()) at->second += matching(n, c.selector, pod.metadata.namespace_);
    }
  }
  std::vector<std::int64_t> scores;
  for (const NodeState* n : nodes) {
    double score = 0;
    for (std::size_t i = 0; i < constraints.size(); ++i) {
      const Constraint& c = constraints[i];
      const Symbol* domain = n->node->metadata.labels.find(c.key.view());
      if (domain == nullptr || (all_keys && !has_all_keys(*n->node, constraints))) continue;
      // A host's pods count, whatever the policies say of it.
      const std::int64_t there =
          c.key == kHostname ? matching(*n, c.selector, pod.metadata.namespace_) : counts[i].at(*domain);
      score += static_cast<double>(there) * weights[i] + static_cast<double>(c.max_skew - 1);
    }
    scores.push_back(std::llround(score));
  }
  return scores;
}

void normalize_spread(const Cluster& cluster, const Config& config, const api::Pod& pod,
                      const Feasible& nodes, std::vector<std::int64_t>& scores) {
  const std::vector<Constraint> constraints = constraints_of(cluster, config, pod, "ScheduleAnyway");
  const auto counts = [&](std::size_t i) {
    return !wants_all_keys(config, pod) || has_all_keys(*nodes[i]->node, constraints);
  };
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!counts(i)) continue;
    least = std::min(least, scores[i]);
    most = std::max(most, scores[i]);
  }
  for (std::size_t i = 0; i < scores.size(); ++i)
    scores[i] = !counts(i) ? 0 : most == 0 ? 100 : 100 * (most + least - scores[i]) / most;
}

}  // namespace koord::reference
