// NumaNodes: the machines' CPUs and memory nodes and who has them, by row.
#pragma once

#include <memory>
#include <vector>

#include "koord/scheduling/cluster/cluster_observer.hpp"
#include "koord/scheduling/cluster/node_table.hpp"
#include "koord/scheduling/cluster/object_store.hpp"
#include "koord/scheduling/cluster/row_slots.hpp"
#include "koord/scheduling/plugin/complaints.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/plugins/node_numa_resource/ledger.hpp"

namespace koord::scheduling::node_numa_resource {

/// One for all profiles: whoever decides, nobody is given what another has. What a pod has goes with it: it
/// is counted while the pod counts on a row, whether its topology is known before it or after. Belongs to the
/// engine's thread.
class NumaNodes final : public ClusterObserver {
 public:
  struct OfRow {
    NumaNode node;
    Ledger ledger;
  };

  explicit NumaNodes(const PluginContext& context);

  ObjectStore<api::NodeResourceTopology>& topologies() { return topologies_; }
  /// An empty one where nothing is known.
  const OfRow& of(Row row) const;
  /// NumaNode::plain(): all that is asked about most rows.
  bool is_plain(Row row) const { return row >= special_.size() || !special_[row]; }
  /// Some node has a policy.
  bool have_policies() const { return policies_ != 0; }

  /// The pod, which counts on the row, has it from now on; nullptr: nothing.
  void give(Row row, const PodInfo& pod, std::shared_ptr<const Given> given);

  // ClusterObserver
  void pod_added(Row row, const PodInfo& pod) override;
  void pod_removed(Row row, const PodInfo& pod) override;
  void pod_changed(Row row, const PodInfo& pod) override;
  void node_changed(Row row, const api::Node* before, const api::Node* now) override;

 private:
  /// Its topology or its node is another now.
  void renew(Row row, const api::Node* node, std::shared_ptr<const NodeTopology> topology);
  void count(Row row, const PodInfo& pod, std::shared_ptr<const Given> given);
  std::shared_ptr<const NodeTopology> read(const api::NodeResourceTopology& object);
  std::shared_ptr<const Given> read(const api::Pod& pod);

  NodeTable& nodes_;
  ObjectStore<api::NodeResourceTopology>& topologies_;
  Complaints& complaints_;
  KnownCpus cpus_;
  RowSlots<OfRow> rows_;
  std::vector<bool> special_;
  std::size_t policies_ = 0;  // of how many nodes
};

}  // namespace koord::scheduling::node_numa_resource
