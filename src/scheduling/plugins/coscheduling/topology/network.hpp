// NetworkTopology: the ClusterNetworkTopology and the nodes in it, as the engine has them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "koord/api/types/scheduling_v1alpha1/cluster_network_topology.hpp"
#include "koord/scheduling/cluster/cluster_observer.hpp"
#include "koord/scheduling/plugin/complaints.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/plugins/coscheduling/topology/layers.hpp"
#include "scheduling/plugins/coscheduling/topology/tree.hpp"

namespace koord::scheduling::coscheduling::topology {

/// One for all profiles. Follows from the objects, which come in any order; a node's change costs its layers.
/// Belongs to the engine's thread.
class NetworkTopology final : public ClusterObserver {
 public:
  explicit NetworkTopology(const PluginContext& context);
  NetworkTopology(const NetworkTopology&) = delete;
  NetworkTopology& operator=(const NetworkTopology&) = delete;

  /// There is a ClusterNetworkTopology that says what can be used.
  bool there() const { return !layers_.all.empty(); }
  /// Why there is none, if not because nobody has made it.
  const std::string& wrong() const { return wrong_; }
  const Layers& layers() const { return layers_; }
  const Tree& tree() const { return tree_; }
  /// kNone: it holds no node, or one that lies nowhere.
  Tree::Id leaf(Row row) const { return row < leaves_.size() ? leaves_[row] : Tree::kNone; }
  /// Of a leaf.
  Row row(Tree::Id leaf) const { return rows_[leaf]; }
  /// Pods on nodes whose annotation kNetworkTopologySelector is this, by domain; nothing: there are none.
  std::vector<std::int64_t> existing(std::string_view selector) const;

  /// Called whenever a node or a layer lies elsewhere than before.
  void on_change(std::function<void()> told) { told_.push_back(std::move(told)); }

  void pod_added(Row row, const PodInfo& pod) override;
  void pod_removed(Row row, const PodInfo& pod) override;
  void pod_changed(Row row, const PodInfo& pod) override;
  void node_changed(Row row, const api::Node* before, const api::Node* now) override;

 private:
  struct Placed {
    std::string selector;
    Row row;
  };
  void changed(const api::ClusterNetworkTopology* now);
  void put(Row row, const api::Node& node);
  void take_out(Row row);
  void tell() const;

  const NodeTable& nodes_;
  Complaints& complaints_;
  Layers layers_;  // none: there is no topology
  std::string wrong_;
  Tree tree_;
  std::vector<Tree::Id> leaves_;                                              // by row
  std::vector<Row> rows_;                                                     // by id
  std::map<std::string, std::map<Row, std::int64_t>, std::less<>> existing_;  // by selector
  std::unordered_map<std::string, Placed> placed_;                            // by uid
  std::vector<std::function<void()>> told_;
};

}  // namespace koord::scheduling::coscheduling::topology
