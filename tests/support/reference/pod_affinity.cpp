// InterPodAffinity: see pod_affinity.hpp.
#include "support/reference/pod_affinity.hpp"

#include <algorithm>

namespace koord::reference {

namespace {

using Term = api::PodAffinityTerm;

const api::PodAffinity& affinity_of(const api::Pod& pod) {
  static const api::PodAffinity kNone;
  return pod.spec.affinity && pod.spec.affinity->pod_affinity ? *pod.spec.affinity->pod_affinity : kNone;
}
const api::PodAffinity& anti_affinity_of(const api::Pod& pod) {
  static const api::PodAffinity kNone;
  return pod.spec.affinity && pod.spec.affinity->pod_anti_affinity ? *pod.spec.affinity->pod_anti_affinity
                                                                   : kNone;
}

/// `term` is `of`'s. The scheduled pod's own namespace selector picks from the namespaces that are known;
/// other pods' are asked about the scheduled pod's namespace, which has no labels while it is unknown.
bool matches(const Cluster& cluster, const Term& term, const api::Pod& of, bool scheduled_pods,
             const api::Pod& other) {
  const Symbol& namespace_ = other.metadata.namespace_;
  bool there = std::find(term.namespaces.begin(), term.namespaces.end(), namespace_) != term.namespaces.end();
  if (term.namespaces.empty() && !term.namespace_selector) there = namespace_ == of.metadata.namespace_;
  if (!there && term.namespace_selector) {
    const Selector selector = Selector::of(term.namespace_selector.get());
    const auto known = cluster.namespaces.find(namespace_.str());
    if (known != cluster.namespaces.end())
      there = selector.matches(known->second->metadata.labels);
    else
      there = scheduled_pods ? selector.is_everything() : selector.matches({});
  }
  return there && Selector::of(term.label_selector.get()).matches(other.metadata.labels);
}

}  // namespace

AffinityFilter::AffinityFilter(const Cluster& cluster, const api::Pod& pod, const State& state)
    : cluster_(cluster), pod_(pod) {
  for (const NodeState& n : state)
    for (const Counted& p : n.pods) count(*p.pod, *n.node, 1);
  no_say_ = refusing_.empty() && affinity_of(pod).required.empty() && anti_affinity_of(pod).required.empty();
}

bool AffinityFilter::matches_all_own_terms(const api::Pod& other) const {
  const auto& terms = affinity_of(pod_).required;
  return !terms.empty() && std::all_of(terms.begin(), terms.end(), [&](const Term& t) {
    return matches(cluster_, t, pod_, true, other);
  });
}

void AffinityFilter::count(const api::Pod& other, const api::Node& node, int change) {
  const auto add = [&](Counts& counts, const Symbol& key) {
    const Symbol* value = node.metadata.labels.find(key.view());
    if (value == nullptr) return;
    const auto at = counts.try_emplace({key, *value}).first;
    if ((at->second += change) == 0) counts.erase(at);
  };
  for (const Term& t : anti_affinity_of(other).required)
    if (matches(cluster_, t, other, false, pod_)) add(refusing_, t.topology_key);
  for (const Term& t : anti_affinity_of(pod_).required)
    if (matches(cluster_, t, pod_, true, other)) add(unwanted_, t.topology_key);
  if (matches_all_own_terms(other))
    for (const Term& t : affinity_of(pod_).required) add(wanted_, t.topology_key);
}

Filtered AffinityFilter::filter(const api::Node& node) const {
  const auto among = [&](const Counts& counts, const Symbol& key) {
    const Symbol* value = node.metadata.labels.find(key.view());
    const auto at = value == nullptr ? counts.end() : counts.find({key, *value});
    return at != counts.end() && at->second > 0;
  };
  const Filtered unmatched = Rejection{"InterPodAffinity", true, {"node(s) didn't match pod affinity rules"}};
  bool company = true;
  for (const Term& t : affinity_of(pod_).required) {
    if (!has(node.metadata.labels, t.topology_key)) return unmatched;
    company = company && among(wanted_, t.topology_key);
  }
  // The first of a group that wants to be together may go where it likes.
  if (!company && !(wanted_.empty() && matches_all_own_terms(pod_))) return unmatched;
  for (const Term& t : anti_affinity_of(pod_).required)
    if (among(unwanted_, t.topology_key))
      return Rejection{"InterPodAffinity", false, {"node(s) didn't match pod anti-affinity rules"}};
  for (const auto& [key, value] : node.metadata.labels)
    if (among(refusing_, key))
      return Rejection{
          "InterPodAffinity", false, {"node(s) didn't satisfy existing pods anti-affinity rules"}};
  return std::nullopt;
}

RawScores affinity_scores(const Cluster& cluster, const Config& config, const api::Pod& pod,
                          const State& state, const Feasible& nodes) {
  const bool prefers = !affinity_of(pod).preferred.empty() || !anti_affinity_of(pod).preferred.empty();
  if (config.ignore_preferred_terms_of_existing_pods && !prefers) return std::nullopt;
  std::map<std::pair<Symbol, Symbol>, std::int64_t> sums;  // by key and value
  for (const NodeState& n : state) {
    const auto add = [&](const Term& t, std::int64_t weight) {
      const Symbol* value = n.node->metadata.labels.find(t.topology_key.view());
      if (value != nullptr) sums[{t.topology_key, *value}] += weight;
    };
    for (const Counted& p : n.pods) {
      const api::Pod& other = *p.pod;
      for (const auto& t : affinity_of(pod).preferred)
        if (matches(cluster, t.pod_affinity_term, pod, true, other)) add(t.pod_affinity_term, t.weight);
      for (const auto& t : anti_affinity_of(pod).preferred)
        if (matches(cluster, t.pod_affinity_term, pod, true, other)) add(t.pod_affinity_term, -t.weight);
      if (config.hard_pod_affinity_weight > 0)
        for (const Term& t : affinity_of(other).required)
          if (matches(cluster, t, other, false, pod)) add(t, config.hard_pod_affinity_weight);
      for (const auto& t : affinity_of(other).preferred)
        if (matches(cluster, t.pod_affinity_term, other, false, pod)) add(t.pod_affinity_term, t.weight);
      for (const auto& t : anti_affinity_of(other).preferred)
        if (matches(cluster, t.pod_affinity_term, other, false, pod)) add(t.pod_affinity_term, -t.weight);
    }
  }
  if (sums.empty()) return std::nullopt;
  std::vector<std::int64_t> scores;
  for (const NodeState* n : nodes) {
    std::int64_t score = 0;
    for (const auto& [key, value] : n->node->metadata.labels)
      if (const auto at = sums.find({key, value}); at != sums.end()) score += at->second;
    scores.push_back(score);
  }
  return scores;
}

void normalize_affinity(std::vector<std::int64_t>& scores) {
  if (scores.empty()) return;
  const auto [least, most] = std::minmax_element(scores.begin(), scores.end());
  const std::int64_t low = *least, spread = *most - low;
  for (std::int64_t& s : scores)
    s = spread == 0
            ? 0
            : static_cast<std::int64_t>(100 * (static_cast<double>(s - low) / static_cast<double>(spread)));
}

}  // namespace koord::reference
