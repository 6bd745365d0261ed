// Reads from an API server what `koord migrate check` judges, page by page. It only ever GETs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "koord/async/task.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/config.hpp"
#include "migrate/facts.hpp"
#include "migrate/programs.hpp"

namespace koord::app::migrate {

/// The event loop's thread. What it holds is a page of each kind, and the facts.
class ClusterReader {
 public:
  /// What is done, so much of it, of so much (0: nobody knows).
  using Progress = std::function<void(std::string_view what, std::size_t done, std::size_t all)>;
  struct Options {
    kube::ClientConfig config;
    std::size_t kubelets = 5;  // how many are asked for their configuration, one of each sort of node
    RoleOf role_of = nullptr;
    Progress progress;
  };
  /// The clock outlives it.
  static Result<std::unique_ptr<ClusterReader>> make(asio::any_io_executor executor, Clock& clock,
                                                     Options options);

  /// An error where the server cannot be asked at all; what this user may not read is named in the facts.
  Task<Result<Facts>> read();

 private:
  ClusterReader(std::unique_ptr<kube::Transport> transport, Clock& clock, Options options);
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
  void tell(std::string_view plural, std::size_t read, std::int64_t left) const;

  std::unique_ptr<kube::Transport> transport_;
  kube::Client client_;
  const Options options_;
  Facts facts_;
};

}  // namespace koord::app::migrate
