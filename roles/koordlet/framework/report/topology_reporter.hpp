// TopologyReporter: keeps the node's NodeResourceTopology on the API server true.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "framework/report/node_topology.hpp"
#include "koord/async/task.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/informer.hpp"

namespace koord::kube {
class Client;
}

namespace koord::koordlet {

/// The event loop's thread; the parts outlive it.
class TopologyReporter {
 public:
  struct Parts {
    Clock& clock;
    Logger& log;
    kube::Client& client;
    kube::InformerSet& informers;
    const InventoryHub& hub;
    /// What the machine is made of; null: not readable yet.
    std::function<std::shared_ptr<const NodeFacts>()> facts;
  };
  struct Settings {
    std::string node;
    nanoseconds interval = std::chrono::seconds(3);
    /// The kubelet is asked for its configuration: nothing is reported without it.
    bool with_kubelet = true;
  };
  /// Declares the informers of the Node and its NodeResourceTopology.
  TopologyReporter(Parts parts, Settings settings);

  /// Until it is cancelled. Nothing is written while what is there is right, nor before the Node, the pods
  /// and the kubelet's configuration are known.
  Task<Result<>> run();

 private:
  using Topology = std::shared_ptr<const api::NodeResourceTopology>;
  /// What a look was at. Held, so that none of it can come back at the same address as another one.
  struct Seen {
    std::shared_ptr<const Inventory> inventory;
    std::shared_ptr<const NodeFacts> facts;
    std::shared_ptr<const api::Node> node;
    Topology topology;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  bool ready(const Seen& now) const;
  Task<Result<>> look();
  Task<Result<>> write(const NodeTopology& wanted, const api::Node& node, bool exists);

  Parts parts_;
  Settings settings_;
  kube::Informer<api::Node> nodes_;
  kube::Informer<api::NodeResourceTopology> topologies_;
  Seen right_;  // what was looked at when all was right
  bool failing_ = false;
};

}  // namespace koord::koordlet
