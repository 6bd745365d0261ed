// Constraints bound to keys, selectors and counts: see bound.hpp.
#include "scheduling/plugins/pod_topology_spread/bound.hpp"

#include <algorithm>
#include <array>

#include "koord/api/rules/node_selector.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "scheduling/plugin/sign.hpp"
#include "scheduling/plugins/pod_topology_spread/score.hpp"

namespace koord::scheduling::pod_topology_spread {

namespace {

std::vector<TopologyRef> keys_of(TopologyTable& topology, std::span<const Constraint> constraints) {
  std::vector<TopologyRef> keys;
  keys.reserve(constraints.size());
  for (const Constraint& c : constraints) keys.push_back(topology.key(c.key));
  return keys;
}

/// The nodes that count for a pod's constraint that needs all these keys.
Ref<Inclusion> inclusion(const Cluster& cluster, const PodInfo& pod, std::span<const TopologyRef> keys,
                         const Constraint& constraint) {
  Inclusion::Policy policy;
  policy.keys.assign(keys.begin(), keys.end());
  const auto by_name = [](const TopologyRef& key) { return key->name(); };
  std::ranges::sort(policy.keys, {}, by_name);
  const auto repeated = std::ranges::unique(policy.keys, {}, by_name);
  policy.keys.erase(repeated.begin(), repeated.end());
  Signature text;
  text.add(static_cast<std::int64_t>(policy.keys.size()));
  for (const TopologyRef& key : policy.keys) text.add(key->name().view());
  const api::PodSpec& spec = pod.pod->spec;
  const bool affinity =
      constraint.honor_affinity && (!spec.node_selector.empty() || required_node_selector(spec) != nullptr);
  text.add((affinity ? 1 : 0) + (constraint.honor_taints ? 2 : 0));
  if (affinity) {
    policy.affinity = std::make_shared<api::RequiredNodeAffinity>(spec);
    sign_required_affinity(spec, text);
  }
  if (constraint.honor_taints) {
    policy.tolerating = pod.pod;
    sign_tolerations(*pod.pod, text);
  }
  return cluster.counts.inclusion(text.bytes(), std::move(policy));
}

/// The same for constraints of one pod, of which many are alike.
class Inclusions {
 public:
  Inclusions(const Cluster& cluster, const PodInfo& pod, std::span<const TopologyRef> keys)
      : cluster_(cluster), pod_(pod), keys_(keys) {}
  const Ref<Inclusion>& of(const Constraint& c) {
    Ref<Inclusion>& made = made_[(c.honor_affinity ? 1 : 0) + (c.honor_taints ? 2 : 0)];
    if (!made) made = inclusion(cluster_, pod_, keys_, c);
    return made;
  }

 private:
  const Cluster& cluster_;
  const PodInfo& pod_;
  std::span<const TopologyRef> keys_;
  std::array<Ref<Inclusion>, 4> made_;
};

}  // namespace

Result<BoundSelector> BoundSelector::of(PodSelectors& selectors, const Symbol& name_of_namespace,
                                        const api::LabelSelector* selector) {
  BoundSelector made;
  made.all = selector != nullptr && selector->match_labels.empty() && selector->match_expressions.empty();
  PodSelectors::Term term;
  term.namespaces = {name_of_namespace};
  term.labels = made.all ? nullptr : selector;
  KOORD_TRY(counted, selectors.selector({&term, 1}));
  made.counted = std::move(counted);
  return made;
}

bool BoundSelector::selects(const PodSelectors& selectors, const api::Pod& pod) const {
  return all || selectors.selects(*counted, pod.metadata.namespace_, pod.metadata.labels);
}

// HardConstraints

Result<HardConstraints> HardConstraints::bind(const Cluster& cluster, const PodInfo& pod,
                                              std::span<const Constraint> constraints,
                                              const api::LabelSelector* selector) {
  HardConstraints made;
  const std::vector<TopologyRef> keys = keys_of(cluster.topology, constraints);
  Inclusions inclusions(cluster, pod, keys);
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const Constraint& c = constraints[i];
    Bound& bound = made.bound_.emplace_back();
    bound.max_skew = c.max_skew;
    bound.min_domains = c.min_domains;
    bound.key = keys[i];
    const api::LabelSelector* own = c.selector ? &*c.selector : nullptr;
    KOORD_TRY(bound_selector, BoundSelector::of(cluster.selectors, pod.pod->metadata.namespace_,
                                                selector != nullptr ? selector : own));
    bound.selector = std::move(bound_selector);
    bound.counts = cluster.counts.domains(bound.selector.counted, bound.key, inclusions.of(c));
  }
  return made;
}

/// How many pods a domain may have before the pod comes, where another has no more than `least`.
std::int64_t HardConstraints::most(const Bound& bound, std::int64_t least) {
  const std::uint32_t domains = bound.counts->placement().domains();
  if (static_cast<std::int64_t>(domains) < bound.min_domains) least = 0;
  return bound.max_skew + least - (bound.self ? 1 : 0);
}

void HardConstraints::begin(const Cluster& cluster, const api::Pod& pod) {
  for (Bound& bound : bound_) {
    bound.self = bound.selector.selects(cluster.selectors, pod);
    bound.domains = bound.key->column();
    bound.column = bound.counts->column();
    bound.more.clear();
    bound.most = most(bound, bound.counts->least());
  }
}

std::int64_t HardConstraints::count(const Bound& bound, DomainId domain) {
  const std::uint32_t there = (*bound.counts)[domain];
  std::int64_t count = there == DomainCounts::kAbsent ? 0 : there;
  for (const Bound::More& more : bound.more)
    if (more.domain == domain) count += more.pods;
  return count;
}

/// With what add() said.
std::int64_t HardConstraints::least(const Bound& bound) {
  const DomainId first = bound.more.front().domain;
  const bool one = std::all_of(bound.more.begin(), bound.more.end(),
                               [&](const Bound::More& more) { return more.domain == first; });
  if (one) return std::min<std::int64_t>(bound.counts->least_but(first), count(bound, first));
  std::int64_t least = DomainCounts::kAbsent;
  for (DomainId domain = 0; domain < bound.column.size(); ++domain)
    if (bound.column[domain] != DomainCounts::kAbsent) least = std::min(least, count(bound, domain));
  return least;
}

void HardConstraints::filter(std::span<const Row> rows, VerdictId missing_label, VerdictId too_skewed,
                             std::span<VerdictId> out) const {
  std::fill(out.begin(), out.end(), kPass);
  // A key that no node has is the end of it, whatever follows: a pod may name any number of them.
  auto end = std::find_if(bound_.begin(), bound_.end(), [](const Bound& b) { return b.key->nodes() == 0; });
  if (end != bound_.end()) ++end;
  // The first that is broken says why: it is looked at last.
  for (auto it = std::make_reverse_iterator(end); it != bound_.rend(); ++it) {
    const Bound& bound = *it;
    const auto domain_of = [&](Row row) {
      return row < bound.domains.size() ? bound.domains[row] : kNoDomain;
    };
    if (!bound.more.empty()) {
      const std::int64_t most = HardConstraints::most(bound, least(bound));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const DomainId domain = domain_of(rows[i]);
        if (domain == kNoDomain) {
          out[i] = missing_label;
        } else if (count(bound, domain) > most) {
          out[i] = too_skewed;
        }
      }
      continue;
    }
    // One more than what is there: an absent domain has 0 then, and is never too full.
    const bool none_fits = bound.most < 0;
    const auto most =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(bound.most + 1, 0, DomainCounts::kAbsent));
    const auto judge = [&](VerdictId before, DomainId domain, std::uint32_t there) {
      const VerdictId skewed = none_fits || there + 1 > most ? too_skewed : before;
      return domain == kNoDomain ? missing_label : skewed;
    };
    const Row first = rows.empty() ? 0 : rows.front();
    if (!rows.empty() && rows.back() - first + 1 == rows.size() && bound.key->by_row() &&
        rows.back() < bound.column.size() && rows.back() < bound.domains.size()) {
      const DomainId* domains = bound.domains.data() + first;
      const std::uint32_t* there = bound.column.data() + first;
      for (std::size_t i = 0; i < rows.size(); ++i) out[i] = judge(out[i], domains[i], there[i]);
      continue;
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const DomainId domain = domain_of(rows[i]);
      out[i] = judge(out[i], domain, domain == kNoDomain ? 0 : bound.column[domain]);
    }
  }
}

void HardConstraints::add(const Cluster& cluster, const api::Pod& pod, const api::Pod& other, Row row,
                          int sign) {
  if (other.metadata.namespace_ != pod.metadata.namespace_) return;
  for (Bound& bound : bound_) {
    const DomainId domain = bound.counts->placement().of(row);
    if (domain == kNoDomain || !bound.selector.selects(cluster.selectors, other)) continue;
    const auto known = std::find_if(bound.more.begin(), bound.more.end(),
                                    [&](const Bound::More& more) { return more.domain == domain; });
    if (known == bound.more.end()) {
      bound.more.push_back({domain, sign});
    } else if ((known->pods += sign) == 0) {
      bound.more.erase(known);
    }
  }
}

// SoftConstraints

Result<SoftConstraints> SoftConstraints::bind(const Cluster& cluster, const PodInfo& pod,
                                              std::span<const Constraint> constraints,
                                              const api::LabelSelector* selector, bool need_all) {
  SoftConstraints made;
  made.need_all_ = need_all;
  const std::vector<TopologyRef> keys = keys_of(cluster.topology, constraints);
  Inclusions inclusions(cluster, pod, need_all ? keys : std::span<const TopologyRef>());
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const Constraint& c = constraints[i];
    Bound& bound = made.bound_.emplace_back();
    bound.max_skew = c.max_skew;
    bound.key = keys[i];
    const api::LabelSelector* own = c.selector ? &*c.selector : nullptr;
    KOORD_TRY(bound_selector, BoundSelector::of(cluster.selectors, pod.pod->metadata.namespace_,
                                                selector != nullptr ? selector : own));
    bound.rows = cluster.counts.rows(bound_selector.counted);
    if (c.key == kHostname) continue;
    bound.counts = cluster.counts.domains(bound_selector.counted, bound.key, inclusions.of(c));
  }
  return made;
}

bool SoftConstraints::scored(Row row) const {
  return std::all_of(bound_.begin(), bound_.end(),
                     [&](const Bound& bound) { return bound.key->domain(row) != kNoDomain; });
}

/// In how many domains the rows are that will be scored; those without the label are in one, of the value "".
std::size_t SoftConstraints::sizes(Bound& bound, std::span<const Row> feasible, std::uint32_t nodes) {
  const TopologyKey& key = *bound.key;
  const bool all_labelled = need_all_ || key.nodes() == nodes;
  if (feasible.size() == nodes && all_scored_ && all_labelled) return key.domains();
  bound.seen.resize(key.id_limit());
  std::size_t size = 0;
  bool without = false;
  for (const Row row : feasible) {
    const DomainId domain = bound.domains[row];
    if (domain == kNoDomain) {
      without = !need_all_;
    } else if (bound.seen[domain] != cycle_ && (all_scored_ || scored(row))) {
      bound.seen[domain] = cycle_;
      ++size;
    }
    if (size == key.domains() && (without || all_labelled)) break;
  }
  if (!without) return size;
  const DomainId empty = key.find(Symbol());
  return size + (empty == kNoDomain || bound.seen[empty] != cycle_ ? 1 : 0);
}

/// The pods on nodes without the label.
std::uint32_t SoftConstraints::unlabelled(const Bound& bound, const NodeTable& nodes) const {
  std::uint32_t pods = 0;
  for (Row row = 0; row < nodes.rows(); ++row)
    if (nodes.node(row) && bound.key->domain(row) == kNoDomain &&
        bound.counts->placement().inclusion().admits(row))
      pods += (*bound.rows)[row];
  return pods;
}

void SoftConstraints::begin(const Cluster& cluster, std::span<const Row> feasible) {
  const NodeTable& nodes = cluster.nodes;
  if (++cycle_ == 0) {
    for (Bound& bound : bound_) bound.seen.clear();
    cycle_ = 1;
  }
  for (Bound& bound : bound_) bound.domains = bound.key->column();
  all_scored_ = !need_all_ || std::all_of(bound_.begin(), bound_.end(), [&](const Bound& bound) {
    return bound.key->nodes() == nodes.nodes();
  });
  std::size_t scored = feasible.size();
  if (!all_scored_)
    scored = static_cast<std::size_t>(
        std::count_if(feasible.begin(), feasible.end(), [&](Row row) { return this->scored(row); }));
  for (Bound& bound : bound_) {
    if (!bound.counts) {
      bound.weight = domain_weight(scored);
      bound.column = bound.rows->column(nodes.rows());
      continue;
    }
    bound.weight = domain_weight(sizes(bound, feasible, nodes.nodes()));
    const std::span<const std::uint32_t> counts = bound.counts->column();
    bound.parts.resize(counts.size() + 1);
    for (std::size_t domain = 0; domain < counts.size(); ++domain)
      bound.parts[domain] =
          part(counts[domain] == DomainCounts::kAbsent ? 0 : counts[domain], bound.max_skew, bound.weight);
    bound.parts.back() = 0;
    // kube-scheduler takes an absent label for an empty one here.
    if (const DomainId empty = need_all_ ? kNoDomain : bound.key->find(Symbol()); empty != kNoDomain)
      bound.parts[empty] =
          part((counts[empty] == DomainCounts::kAbsent ? 0 : counts[empty]) + unlabelled(bound, nodes),
               bound.max_skew, bound.weight);
  }
}

void SoftConstraints::score(std::span<const Row> rows, std::span<std::int64_t> out) const {
#pragma STDC FP_CONTRACT OFF
  constexpr std::size_t kTogether = 512;
  std::array<double, kTogether> sums;
  while (!rows.empty()) {
    const std::size_t count = std::min(rows.size(), kTogether);
    const Row first = rows.front();
    const bool in_order = rows[count - 1] - first + 1 == count;
    std::fill_n(sums.begin(), count, 0.0);
    for (const Bound& bound : bound_) {
      const DomainId* domains = bound.domains.data();
      if (bound.counts) {
        const auto none = static_cast<DomainId>(bound.parts.size() - 1);
        const double* parts = bound.parts.data();
        if (in_order) {
          for (std::size_t i = 0; i < count; ++i) sums[i] += parts[std::min(domains[first + i], none)];
        } else {
          for (std::size_t i = 0; i < count; ++i) sums[i] += parts[std::min(domains[rows[i]], none)];
        }
        continue;
      }
      // What part() says, in a form of which the compiler makes vector instructions.
      const double weight = bound.weight, least = part(0, bound.max_skew, weight);
      const auto of = [&](DomainId domain, std::uint32_t pods) {
        return domain == kNoDomain ? 0.0
                                   : static_cast<double>(static_cast<std::int32_t>(pods)) * weight + least;
      };
      if (bound.column.empty()) {
        for (std::size_t i = 0; i < count; ++i) sums[i] += of(domains[rows[i]], 0);
      } else if (in_order) {
        for (std::size_t i = 0; i < count; ++i) sums[i] += of(domains[first + i], bound.column[first + i]);
      } else {
        for (std::size_t i = 0; i < count; ++i) sums[i] += of(domains[rows[i]], bound.column[rows[i]]);
      }
    }
    round_all(std::span(sums).first(count), out.first(count));
    if (!all_scored_)
      for (std::size_t i = 0; i < count; ++i)
        if (!scored(rows[i])) out[i] = 0;
    rows = rows.subspan(count);
    out = out.subspan(count);
  }
}

void SoftConstraints::normalize(std::span<const Row> rows, std::span<std::int64_t> scores) const {
  if (!all_scored_)
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!scored(rows[i])) scores[i] = kNotScored;
  pod_topology_spread::normalize(scores);
}

}  // namespace koord::scheduling::pod_topology_spread
