// NodeResources: the controller noderesource: what nodes lend, how their CPUs compare and which devices they
// have, kept in their status, their metadata and the zones of their NodeResourceTopology.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "controllers/node_objects.hpp"
#include "framework/noderesource/plan.hpp"

namespace koord::manager {

/// Belongs to the event loop's thread.
class NodeResources {
 public:
  struct Parts {
    Clock& clock;
    Logger log;
    kube::Client& client;
    kube::Informer<api::Node> nodes;
    kube::Informer<api::NodeMetric> metrics;
    kube::Informer<api::Pod> pods;  // indexed by "node"
    /// Their definitions may be missing: what is not listed() is not known to be absent.
    kube::Informer<api::NodeResourceTopology> topologies;
    kube::Informer<api::Device> devices;
    metrics::Registry& registry;
    ResourcePlugins plugins;
    const SloConfig& config;
    std::function<bool()> may_write;
    /// A warning for whoever looks at the node.
    std::function<void(const api::Node&, std::string_view reason, std::string_view note)> warn;
  };
  static const metrics::Table kMetrics;

  explicit NodeResources(Parts parts);
  NodeWorkers& workers() { return workers_; }
  /// A best-effort pod of the node was evicted.
  void evicted(std::string_view node);

 private:
  struct State {
    OvercommitLevel level;
    bool fresh = false;    // as it was seen last
    bool evicted = false;  // since it was looked at last
    MonoTime written{};    // the status, by this process
    MonoTime zones_written{};
    bool has_written = false, has_written_zones = false;
  };
  Task<Result<>> reconcile(std::string name);
  Task<Result<>> write_node(const api::Node& node, const NodePlan& plan, const ColocationStrategy& strategy);
  Task<Result<>> write_zones(const api::NodeResourceTopology& topology, const NodePlan& plan,
                             const ColocationStrategy& strategy);
  void judge(const api::Node& node, const NodeView& view, State& state);
  void show(const std::string& node, const NodePlan& plan, bool judged);
  void count(const std::string& node, const NodePlan& plan) const;
  void forget(const std::string& node);
  void told(bool succeeded, std::string_view reason) const;
  /// Whether a small change waits for others; then the node is looked at again in time.
  bool gathers(const std::string& node, bool has_written, MonoTime written,
               const ColocationStrategy& strategy);

  Parts parts_;
  metrics::Family<metrics::Counter> reconciled_, ran_;
  metrics::Family<metrics::Gauge> allocatable_, level_;
  std::unordered_map<std::string, State> states_;  // by node
  NodeWorkers workers_;
};

}  // namespace koord::manager
