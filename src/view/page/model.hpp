// Model: the cluster's nodes as the page shows them, kept up to date change by change.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "koord/api/figures/cluster_view.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "view/page/history.hpp"

namespace koord::view {

/// One thread. The figures of a node are those of `koord top --cluster` (figures::ClusterFigures); what is
/// the page's own is the pressure, and the half hour before.
class Model {
 public:
  using Pods = std::vector<std::shared_ptr<const api::Pod>>;

  /// `metric` may be null. A report that is not newer than the last one adds no sample.
  void set_node(const std::shared_ptr<const api::Node>& node, const api::NodeMetric* metric, MonoTime at);
  void remove_node(const std::string& name);
  /// The pods that are on it: for what batch pods ask for.
  void set_pods(const api::Node& node, const Pods& pods);

  /// JSON of all nodes, and of those that changed since the last delta(), which forgets them. `waiting` pods
  /// have no node. Where nobody wants a delta, what changed is forgotten: it would grow.
  std::string whole(api::Time now, std::size_t waiting);
  std::string delta(api::Time now, std::size_t waiting);
  void forget_changes();
  /// JSON of one node, with its pods as they are now; empty: there is none of that name.
  std::string node(const std::string& name, api::Time now, MonoTime at, const Pods& pods) const;
  std::size_t nodes() const { return rows_.size(); }

 private:
  struct Row {
    std::shared_ptr<const api::Node> node;  // the informer's: for its conditions
    figures::NodeRow figures;
    History history;
    std::string shown_state;
  };
  struct Pressure {
    double share = 0;
    std::string_view cause;
  };
  static Pressure pressure(const Row& row);
  static std::string state(const Row& row, api::Time now);
  void remember(Row& row, const api::NodeMetric& metric, MonoTime at) const;
  void look_at_states(api::Time now);
  std::string frame(api::Time now, std::size_t waiting, bool all) const;

  std::map<std::string, Row, std::less<>> rows_;
  std::set<std::string, std::less<>> changed_, gone_;
};

}  // namespace koord::view
