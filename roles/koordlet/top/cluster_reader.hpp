// Reads from an API server what `koord top --cluster` shows, page by page.
#pragma once

#include <memory>
#include <string>

#include "koord/async/task.hpp"
#include "koord/kube/client.hpp"
#include "top/cluster.hpp"

namespace koord::koordlet {

/// The event loop's thread. What it holds is a page of each kind and the figures.
class ClusterReader {
 public:
  /// `kubeconfig` and `context` as kube::find_config() takes them. The clock outlives it.
  static Result<std::unique_ptr<ClusterReader>> make(asio::any_io_executor executor, Clock& clock,
                                                     const std::string& kubeconfig,
                                                     const std::string& context);

  /// Nodes, their NodeMetrics (none where the cluster has no such kind), pods that wait for a node,
  /// best-effort pods.
  Task<Result<ClusterFigures>> read();
  const std::string& server() const { return server_; }

 private:
  ClusterReader(std::unique_ptr<kube::Transport> transport, Clock& clock, std::string server);
  template <class T>
  Task<Result<>> each(kube::ListOptions options, ClusterFigures& figures);

  std::unique_ptr<kube::Transport> transport_;
  kube::Client client_;
  std::string server_;
};

}  // namespace koord::koordlet
