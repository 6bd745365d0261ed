// See ranking.hpp.
#include "plugins/scale_down_bin_pack/ranking.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/types/core_v1/node.hpp"

namespace koord::descheduler::scale_down_bin_pack {

namespace {

/// By resource that has a weight, in thousandths.
using Amounts = std::vector<std::int64_t>;

Amounts amounts_of(const api::ResourceList& all, const Weights& weights) {
  Amounts amounts;
  for (const auto& [name, weight] : weights) {
    const api::Quantity* const found = all.find(name.view());
    amounts.push_back(found != nullptr ? found->milli_value() : 0);
  }
  return amounts;
}

Amounts asked_by(const api::Pod& pod, const Weights& weights) {
  return amounts_of(api::pod_requests(pod, {.use_status = false}), weights);
}

/// Bounded: what pods ask for comes from whoever may make pods.
void add(Amounts& sum, const Amounts& more) {
  for (std::size_t i = 0; i < sum.size(); ++i)
    if (__builtin_add_overflow(sum[i], more[i], &sum[i])) sum[i] = std::numeric_limits<std::int64_t>::max();
}

Amounts asked_by(const std::vector<PodPtr>& pods, const Weights& weights) {
  Amounts sum(weights.size());
  for (const PodPtr& pod : pods) add(sum, asked_by(*pod, weights));
  return sum;
}

/// Of what the node has, weighted. A resource that it does not have does not count.
double share(const Amounts& asked, const Amounts& has, const Weights& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < asked.size(); ++i)
    if (has[i] > 0)
      sum += weights.at_index(i).value * (static_cast<double>(asked[i]) / static_cast<double>(has[i]));
  return sum;
}

double score_of(const Ranked& node, const Amounts& has, const Weights& weights) {
  const double others = share(asked_by(node.others, weights), has, weights);
  const double may_go = share(asked_by(node.may_go, weights), has, weights);
  if (may_go > 0) return others / may_go;
  return others > 0 ? std::numeric_limits<double>::infinity() : 0;
}

}  // namespace

void rank(std::vector<Ranked>& nodes, const Weights& weights) {
  for (Ranked& node : nodes) {
    const Amounts has = amounts_of(node.node->node->status.allocatable, weights);
    node.score = score_of(node, has, weights);
    using Key = std::tuple<double, std::chrono::sys_seconds, std::string_view, std::string_view>;
    std::vector<std::pair<Key, PodPtr>> keyed;
    for (PodPtr& pod : node.may_go) {
      const Key key(share(asked_by(*pod, weights), has, weights), pod->metadata.creation_timestamp.at,
                    pod->metadata.namespace_.view(), pod->metadata.name);
      keyed.emplace_back(key, std::move(pod));
    }
    std::ranges::sort(keyed, [](const auto& one, const auto& other) {
      const auto& [size, made, ns, name] = one.first;
      const auto& [its_size, its_made, its_ns, its_name] = other.first;
      if (size != its_size) return size > its_size;
      if (made != its_made) return made > its_made;
      return std::tie(ns, name) < std::tie(its_ns, its_name);
    });
    for (std::size_t i = 0; i < keyed.size(); ++i) node.may_go[i] = std::move(keyed[i].second);
  }
  std::ranges::stable_sort(nodes, {}, [](const Ranked& node) {
    return std::tuple(node.score, node.may_go.size(), std::string_view(node.node->node->metadata.name));
  });
}

}  // namespace koord::descheduler::scale_down_bin_pack
