// Daemon: the docker behind the proxy, and what it says of containers that the store does not know.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "docker/body.hpp"
#include "koord/async/event.hpp"
#include "koord/async/task.hpp"
#include "koord/base/log.hpp"
#include "koord/net/pool.hpp"
#include "store/store.hpp"

namespace koord::proxy::docker {

/// A container as the store has it; both null: no kubelet's.
struct Found {
  std::string id;
  PodPtr pod;              // it is a sandbox
  ContainerPtr container;  // or one of a pod's
};

/// On the executor's thread.
class Daemon {
 public:
  Daemon(net::Pool& pool, Store& store) : pool_(pool), store_(store) {}

  /// Set when a request found nobody there.
  Event& doubted() { return doubted_; }

  /// The request as a server got it, with its body as it is now; what docker answers, for that server to
  /// send.
  Task<Result<net::Response>> forward(net::Request request, nanoseconds patience);

  /// By its id, the beginning of it or its name: from the store, else from docker, and then it is in the
  /// store. Code::not_found: there is none.
  Task<Result<Found>> find(std::string reference);
  /// The sandbox; Code::not_found: nobody knows one of that id.
  Task<Result<PodPtr>> pod(std::string id);
  /// With its environment, which the store may not have.
  Task<Result<ContainerPtr>> whole(std::string id, ContainerPtr known);

  /// Whether it answers. Ends after 2 s at most.
  Task<Result<>> probe();
  /// Makes the store tell of what docker has, and of nothing else. What it knows already is not asked about.
  Task<Result<>> recover(const Logger& log);
  /// Whether its cgroups are systemd's. It is asked once, and again after each recover().
  Task<Result<bool>> systemd();

 private:
  Task<Result<std::string>> get(std::string target, nanoseconds patience);
  Task<Result<Inspected>> inspect(std::string reference);
  Task<Result<Found>> keep(Inspected inspected);

  net::Pool& pool_;
  Store& store_;
  Event doubted_;
  std::optional<bool> systemd_;
};

}  // namespace koord::proxy::docker
