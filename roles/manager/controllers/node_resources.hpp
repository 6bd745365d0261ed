// NodeResources: the controller that keeps what nodes lend (batch and mid resources) in their status.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "controllers/node_objects.hpp"
#include "noderesource/node_update.hpp"

namespace koord::manager {

/// A row of --noderesource-plugins.
struct ResourcePlugin {
  std::string_view name;  // "BatchResource"
  std::string_view cpu, memory;
  Loan (*loan)(const NodeView&);
};
/// Those that koord has.
std::span<const ResourcePlugin> resource_plugins();

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
    metrics::Registry& registry;
    std::vector<const ResourcePlugin*> plugins;
    const SloConfig& config;
    std::function<bool()> may_write;
  };
  static const metrics::Table kMetrics;

  explicit NodeResources(Parts parts);
  NodeWorkers& workers() { return workers_; }
  void forget(std::string_view node);

 private:
  Task<Result<>> reconcile(std::string name);
  /// What each plugin says of the node now. `wait`: after which time it would say something else.
  std::vector<LoanOf> loans(const api::Node& node, const ColocationStrategy& strategy,
                            std::optional<nanoseconds>& wait);
  void show(const std::string& node, std::span<const LoanOf> loans);

  Parts parts_;
  metrics::Family<metrics::Counter> reconciled_, ran_;
  metrics::Family<metrics::Gauge> allocatable_;
  std::unordered_map<std::string, MonoTime> written_;  // by node: when this process wrote it last
  NodeWorkers workers_;
};

}  // namespace koord::manager
