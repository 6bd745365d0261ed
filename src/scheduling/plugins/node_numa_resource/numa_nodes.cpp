// NumaNodes: see numa_nodes.hpp.
#include "scheduling/plugins/node_numa_resource/numa_nodes.hpp"

#include <fmt/format.h>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "scheduling/plugin/reserved_room.hpp"

namespace koord::scheduling::node_numa_resource {

NumaNodes::NumaNodes(const PluginContext& context)
    : nodes_(context.nodes),
      topologies_(context.objects.watch<api::NodeResourceTopology>()),
      complaints_(context.shared.get<Complaints>()),
      rows_(context.nodes) {
  context.observe(*this);
  topologies_.on_change(
      [this](const api::NodeResourceTopology* before, const api::NodeResourceTopology* now) {
        // That of a node that is not there waits in the store.
        const Row row = nodes_.find((now != nullptr ? now : before)->metadata.name);
        if (row == kNoRow || !nodes_.node(row)) return;
        renew(row, nodes_.node(row).get(), now != nullptr ? read(*now) : nullptr);
        nodes_.mark(row);
      });
}

const NumaNodes::OfRow& NumaNodes::of(Row row) const {
  static const OfRow kNothing;
  const OfRow* const of = rows_.find(row);
  return of != nullptr ? *of : kNothing;
}

std::shared_ptr<const NodeTopology> NumaNodes::read(const api::NodeResourceTopology& object) {
  auto topology = read_topology(object, cpus_);
  if (!topology->unread.empty())
    complaints_.say("NodeResourceTopology", object.metadata,
                    fmt::format("{}: of this nothing is known of the node", topology->unread));
  return topology;
}

std::shared_ptr<const Given> NumaNodes::read(const api::Pod& pod) {
  auto given = given_by_annotations(pod);
  if (given) return *std::move(given);
  const bool placed = is_placeholder(pod);
  complaints_.say(
      placed ? placed_name(pod).word : "Pod", pod.metadata,
      fmt::format("{}: it counts as if it had no CPUs and memory nodes of its own", given.error().message()));
  return nullptr;
}

void NumaNodes::renew(Row row, const api::Node* node, std::shared_ptr<const NodeTopology> topology) {
  OfRow& of = rows_[row];
  policies_ -= of.node.policy != NumaPolicy::none ? 1 : 0;
  of.node = make_numa_node(node, std::move(topology));
  policies_ += of.node.policy != NumaPolicy::none ? 1 : 0;
  of.ledger.bind(of.node);
  if (row >= special_.size()) special_.resize(nodes_.rows());
  special_[row] = !of.node.plain();
}

void NumaNodes::count(Row row, const PodInfo& pod, std::shared_ptr<const Given> given) {
  OfRow& of = rows_[row];
  of.ledger.remove(of.node, pod);
  if (given != nullptr) of.ledger.add(of.node, {&pod, std::move(given), lodges_in(pod)});
}

void NumaNodes::give(Row row, const PodInfo& pod, std::shared_ptr<const Given> given) {
  pod.kept.put(given);
  if (row == kNoRow) return;
  count(row, pod, std::move(given));
  nodes_.mark(row);
}

void NumaNodes::pod_added(Row row, const PodInfo& pod) {
  // What is written into a pod that is not bound is a wish.
  auto said = pod.pod->spec.node_name.empty() ? nullptr : read(*pod.pod);
  auto given = pod.kept.share<const Given>();
  if (said != nullptr && (given == nullptr || *said != *given)) {
    given = std::move(said);
    pod.kept.put(given);
  }
  if (given != nullptr) count(row, pod, std::move(given));
}

void NumaNodes::pod_removed(Row row, const PodInfo& pod) {
  if (rows_.find(row) == nullptr) return;
  OfRow& of = rows_[row];
  of.ledger.remove(of.node, pod);
}

void NumaNodes::pod_changed(Row row, const PodInfo& pod) {
  if (pod.pod->spec.node_name.empty()) return;
  auto said = read(*pod.pod);
  const Given* const has = of(row).ledger.of(pod);
  // An annotation that is gone takes nothing back: the pod runs with what it was given.
  if (said != nullptr && (has == nullptr || *said != *has)) return give(row, pod, std::move(said));
  const Ledger::Holder* const holder = has != nullptr ? of(row).ledger.find(pod.pod->metadata.uid) : nullptr;
  if (holder != nullptr && !has->zones.empty() && holder->in != lodges_in(pod)) give(row, pod, holder->given);
}

void NumaNodes::node_changed(Row row, const api::Node*, const api::Node* now) {
  std::shared_ptr<const NodeTopology> topology = of(row).node.topology;
  if (now == nullptr) {
    topology = nullptr;
  } else if (topology == nullptr) {
    if (const auto object = topologies_.find({}, now->metadata.name)) topology = read(*object);
  }
  renew(row, now, std::move(topology));
}

}  // namespace koord::scheduling::node_numa_resource
