// Calls: the CRI's calls in which hooks have a say, and those by which sandboxes and containers come and go.
#pragma once

#include <optional>
#include <string>

#include "cri/back_end.hpp"
#include "hooks/dispatcher.hpp"
#include "koord/async/task.hpp"
#include "koord/base/log.hpp"
#include "koord/rpc/call.hpp"
#include "options/flags.hpp"
#include "store/store.hpp"

namespace koord::rpc {
class Server;
}

namespace koord::proxy {

/// On the executor's thread; all parts outlive it, and it the server.
class Calls {
 public:
  struct Parts {
    const Clock& clock;
    Logger log;
    const Options& options;
    Dispatcher& hooks;
    Store& store;
    BackEnd& back_end;
  };
  explicit Calls(Parts parts) : parts_(std::move(parts)) {}

  /// Before the server listens.
  void handle_on(rpc::Server& server);

  Task<rpc::Reply> run_pod_sandbox(rpc::Request request);
  Task<rpc::Reply> stop_pod_sandbox(rpc::Request request);
  Task<rpc::Reply> remove_pod_sandbox(rpc::Request request);
  Task<rpc::Reply> create_container(rpc::Request request);
  Task<rpc::Reply> start_container(rpc::Request request);
  Task<rpc::Reply> update_container_resources(rpc::Request request);
  Task<rpc::Reply> stop_container(rpc::Request request);
  Task<rpc::Reply> remove_container(rpc::Request request);

 private:
  struct Known {
    ContainerPtr container;
    PodPtr pod;
  };
  bool skips(const rpc::hooks::Map& labels) const;
  Result<> cannot_ask(rpc::hooks::Stage stage, const Error& why);
  /// The container, if hooks are to be asked about it at `stage`; nothing: they are not, and that is well. An
  /// error: the request is refused.
  Task<Result<std::optional<Known>>> asked_about(rpc::hooks::Stage stage, std::string_view id,
                                                 const Caller& caller);

  Parts parts_;
};

}  // namespace koord::proxy
