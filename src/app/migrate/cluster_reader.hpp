// Reads from an API server what `koord migrate check` judges, page by page. It only ever GETs.
#pragma once

#include <memory>
#include <string>

#include "koord/async/task.hpp"
#include "koord/kube/client.hpp"
#include "migrate/facts.hpp"
#include "migrate/programs.hpp"

namespace koord::app::migrate {

/// The event loop's thread. What it holds is a page of each kind, and the facts.
class ClusterReader {
 public:
  struct Options {
    std::string kubeconfig, context;  // as kube::find_config() takes them
    std::size_t kubelets = 5;         // how many are asked for their configuration, one of each sort of node
    RoleOf role_of = nullptr;
  };
  /// The clock outlives it.
  static Result<std::unique_ptr<ClusterReader>> make(asio::any_io_executor executor, Clock& clock,
                                                     const Options& options);

  /// An error where the server cannot be asked at all; what this user may not read is named in the facts.
  Task<Result<Facts>> read();
  const std::string& server() const { return facts_.server; }

 private:
  ClusterReader(std::unique_ptr<kube::Transport> transport, Clock& clock, const Options& options);
  template <class Visit>
  Task<Result<>> each(std::string path, Visit visit);
  template <class T>
  Task<Result<>> count(Kind& kind);
  Task<> read_workloads();
  Task<> read_config_maps();
  Task<> read_webhooks();
  Task<> read_kinds();
  Task<> read_objects(Kind& kind, const std::string& group, const std::string& plural);
  Task<> read_nodes();
  Task<> ask_kubelet(NodeGroup& group);
  void note(const Result<>& done, std::string_view what);

  std::unique_ptr<kube::Transport> transport_;
  kube::Client client_;
  std::size_t kubelets_;
  RoleOf role_of_;
  Facts facts_;
};

}  // namespace koord::app::migrate
