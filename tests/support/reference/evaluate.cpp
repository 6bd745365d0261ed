// The scheduler's oracle: see evaluate.hpp.
#include "support/reference/evaluate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "support/reference/claims/claims.hpp"
#include "support/reference/cycle.hpp"
#include "support/reference/devices/devices.hpp"
#include "support/reference/load_aware.hpp"
#include "support/reference/numa.hpp"
#include "support/reference/reservations.hpp"
#include "support/reference/volume_binding.hpp"

namespace koord::reference {

namespace {

std::string message_of(const Answer& answer) {
  const std::string head = fmt::format("0/{} nodes are available:", answer.nodes.size());
  if (!answer.prefilter_message.empty()) return fmt::format("{} {}.", head, answer.prefilter_message);
  std::map<std::string, std::size_t> counts;
  for (const auto& [name, node] : answer.nodes)
    for (const std::string& reason : node.rejected->reasons) ++counts[reason];
  std::set<std::string> parts;
  for (const auto& [reason, n] : counts) parts.insert(fmt::format("{} {}", n, reason));
  return fmt::format("{} {}.", head, fmt::join(parts, ", "));
}

void score(const Cluster& cluster, const Config& config, const api::Pod& pod, const State& state,
           const Reservations& reservations, const Numa& numa, const Devices& devices, const Claims& claims,
           const Feasible& feasible, Answer& answer) {
  const Counted counted(pod);
  for (const auto& [plugin, weight] : config.scores) {
    const bool spread = plugin == "PodTopologySpread", affinity = plugin == "InterPodAffinity",
               load = plugin == "LoadAwareScheduling", reservation = plugin == "Reservation",
               zones = plugin == "NodeNUMAResource", device = plugin == "DeviceShare",
               claim = plugin == "DynamicResources";
    const RawScores raw = spread        ? spread_scores(cluster, config, pod, state, feasible)
                          : affinity    ? affinity_scores(cluster, config, pod, state, feasible)
                          : load        ? load_scores(cluster, config.load, pod, feasible)
                          : reservation ? reservations.scores(feasible)
                          : zones       ? numa.scores(feasible)
                          : device      ? devices.scores(feasible)
                          : claim       ? claims.scores(feasible)
                                        : score_nodes(plugin, config, counted, state, feasible);
    if (!raw) continue;
    std::vector<std::int64_t> scores = *raw;
    if (spread)
      normalize_spread(cluster, config, pod, feasible, scores);
    else if (affinity)
      normalize_affinity(scores);
    else if (reservation)
      Reservations::normalize(scores);
    else if (device)
      Devices::normalize(scores);
    else if (claim)
      Claims::normalize(scores);
    else if (!load && !zones)
      normalize(plugin, scores);
    for (std::size_t i = 0; i < feasible.size(); ++i) {
      NodeAnswer& node = answer.nodes[feasible[i]->node->metadata.name];
      node.scores[plugin] = {(*raw)[i], scores[i] * weight};
      node.final += scores[i] * weight;
    }
  }
}

}  // namespace

Answer evaluate(const Cluster& cluster, const Config& config, const api::Pod& pod) {
  Answer answer;
  if (cluster.nodes.empty()) {
    answer.message = "no nodes available to schedule pods";
    return answer;
  }
  State state = state_of(cluster);
  const Reservations reservations(cluster, config, pod);
  reservations.put_on(state);
  const Numa numa(cluster, config, pod);
  const Devices devices(cluster, config, pod);
  const Claims claims(cluster, config, pod);
  const Cycle cycle(cluster, config, pod, state, {&reservations, &numa, &devices, &claims});
  if (!cycle.error().empty()) {
    answer.error = answer.message = cycle.error();
    return answer;
  }
  answer.prefilter_message = cycle.rejected();
  Feasible feasible;
  for (const NodeState& n : state) {
    NodeAnswer& node = answer.nodes[n.node->metadata.name];
    if (!cycle.rejected().empty())
      node.rejected = Rejection{cycle.rejected_by(), true, {cycle.rejected()}};
    else if (cycle.leaves_out(*n.node))
      node.rejected = Rejection{cycle.left_out_by(), true, {cycle.left_out()}};
    else
      node.rejected = cycle.filter(n);
    if (!node.rejected) feasible.push_back(&n);
  }
  const Extended* extended = config.extended && config.extended->asks(pod) ? &*config.extended : nullptr;
  if (extended != nullptr && !feasible.empty()) {
    // They are asked about what the plugins have left, and plugins score what they leave.
    answer.error = answer.message = extended->error(pod);
    if (!answer.error.empty()) return answer;
    std::erase_if(feasible, [&](const NodeState* n) {
      return (answer.nodes[n->node->metadata.name].rejected = extended->filter(pod, *n->node)).has_value();
    });
  }
  answer.feasible = feasible.size();
  if (feasible.empty()) {
    answer.message = message_of(answer);
    answer.about_reservations = reservations.about(answer);
  }
  score(cluster, config, pod, state, reservations, numa, devices, claims, feasible, answer);
  for (const NodeState* n : feasible)
    answer.nodes[n->node->metadata.name].reservations = reservations.nominated(*n);
  if (extended != nullptr)
    for (const NodeState* n : feasible)
      answer.nodes[n->node->metadata.name].final += extended->score(pod, *n->node);
  return answer;
}

std::optional<Assumed> assumed_on(const Cluster& cluster, const Config& config, const api::Pod& pod,
                                  const api::Node& node) {
  const VolumeBinding volumes(cluster, pod);
  if (std::find(config.filters.begin(), config.filters.end(), "VolumeBinding") == config.filters.end() ||
      !volumes.waits())
    return std::nullopt;
  return volumes.assumed_on(node);
}

std::optional<NumaWritten> numa_written(const Cluster& cluster, const Config& config, const api::Pod& pod,
                                        const api::Node& node) {
  const Numa numa(cluster, config, pod);
  const NodeState state{&node, {}};
  const auto gift = numa.gift(state);
  if (!gift) return std::nullopt;
  NumaWritten written{gift->cpus, gift->zones, {}, false};
  written.bind = numa.binding(state, written.required);
  return written;
}

DeviceGift device_gift(const Cluster& cluster, const Config& config, const api::Pod& pod,
                       const api::Node& node) {
  return Devices(cluster, config, pod).gift(node);
}

ByKey<api::AllocationResult> claims_gift(const Cluster& cluster, const Config& config, const api::Pod& pod,
                                         const api::Node& node) {
  return Claims(cluster, config, pod).gift(node);
}

}  // namespace koord::reference
