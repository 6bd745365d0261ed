// Whether ClusterNetworkTopology counts, whoever has plugins that read it.
#pragma once

namespace koord::scheduling {

/// In SharedParts: who makes an engine says so before its plugins are made.
struct NetworkTopologyUse {
  bool enabled = true;
};

}  // namespace koord::scheduling
