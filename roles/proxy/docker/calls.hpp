// Calls: docker's calls in which hooks have a say, and those by which containers come and go.
#pragma once

#include <optional>
#include <string>

#include "docker/daemon.hpp"
#include "docker/routes.hpp"
#include "hooks/dispatcher.hpp"
#include "koord/net/server.hpp"
#include "options/flags.hpp"
#include "store/store.hpp"

namespace koord::proxy::docker {

/// As docker has its errors: {"message": "..."}.
net::Response failure(unsigned status, std::string_view message);

/// On the executor's thread; all parts outlive it, and it the server.
class Calls {
 public:
  struct Parts {
    Logger log;
    const Options& options;
    Dispatcher& hooks;
    Store& store;
    Daemon& daemon;
  };
  explicit Calls(Parts parts) : parts_(std::move(parts)) {}

  /// The most bytes of a request's body; nothing: nobody has a say, and it is passed through as it comes.
  static std::optional<std::size_t> most_body(const net::Request& request);
  /// One that most_body() has a number for.
  Task<net::Response> handle(net::Request request);

 private:
  using Stage = rpc::hooks::Stage;
  struct Known {
    ContainerPtr container;
    PodPtr pod;
  };

  Task<Result<net::Response>> create(net::Request request);
  Task<Result<net::Response>> create_sandbox(net::Request request, CreateBody body, Identity identity);
  Task<Result<net::Response>> create_container(net::Request request, CreateBody body, Identity identity);
  Task<Result<net::Response>> start(net::Request request, std::string reference);
  Task<Result<net::Response>> stop(net::Request request, std::string reference);
  Task<Result<net::Response>> update(net::Request request, std::string reference);
  Task<Result<net::Response>> remove(net::Request request, std::string reference);

  bool skips(const rpc::hooks::Map& labels) const;
  Result<> cannot_ask(Stage stage, const Error& why);
  /// The container, if hooks are to be asked about it at `stage`; nothing: they are not, and that is well. An
  /// error: the request is refused.
  Task<Result<std::optional<Known>>> asked_about(Stage stage, std::string reference);

  Parts parts_;
};

}  // namespace koord::proxy::docker
