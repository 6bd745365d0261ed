// Reads from an API server what `koord top --cluster` and its like show, page by page.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "koord/api/figures/cluster_figures.hpp"
#include "koord/async/task.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/config.hpp"

namespace koord::koordlet {

/// What is asked for, beside each other.
struct WhatToRead {
  bool nodes = false;        // with their NodeMetrics
  bool best_effort = false;  // pods that nodes are asked for batch resources by
  bool waiting = false;      // pods without a node
  bool all_pods = false;     // in place of both
  bool quotas = false, groups = false, reservations = false;
};

/// The event loop's thread. What it holds is a page of each kind and the figures.
class ClusterReader {
 public:
  /// "nodes", so many, of so many (0: nobody knows).
  using Progress = std::function<void(std::string_view what, std::size_t done, std::size_t all)>;
  /// The clock outlives it.
  static Result<std::unique_ptr<ClusterReader>> make(asio::any_io_executor executor, Clock& clock,
                                                     kube::ClientConfig config, Progress progress);

  /// Nodes and pods must be readable; kinds that the cluster does not have are empty, and named in the
  /// figures' notes, as is what else this user may not list while there are nodes or pods to show. `ns` is
  /// that of the pods, quotas and groups; empty: all. Errors name the server, and where it and the
  /// credentials came from.
  Task<Result<figures::ClusterFigures>> read(WhatToRead what, std::string ns = {});
  const std::string& server() const { return config_.server; }

 private:
  ClusterReader(std::unique_ptr<kube::Transport> transport, Clock& clock, kube::ClientConfig config,
                Progress progress);
  template <class T>
  Task<Result<>> each(kube::ListOptions options, figures::ClusterFigures& figures);
  template <class T>
  Task<Result<bool>> if_allowed(kube::ListOptions options, figures::ClusterFigures& figures);
  Task<Result<figures::ClusterFigures>> read_all(WhatToRead what, std::string ns);

  std::unique_ptr<kube::Transport> transport_;
  kube::Client client_;
  kube::ClientConfig config_;
  Progress progress_;
  std::vector<std::string> undefined_;  // kinds that the server was found not to serve
  bool must_be_allowed_ = false;        // the kind that is asked about: an answer without it would be none
};

}  // namespace koord::koordlet
