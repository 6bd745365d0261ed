// BackEnd: the container runtime behind the proxy, and what it says of sandboxes and containers that the
// store does not know.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "koord/async/event.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/rpc/call.hpp"
#include "koord/rpc/channel.hpp"
#include "store/store.hpp"

namespace koord::proxy {

/// A call as it came, and until when who called waits.
class Caller {
 public:
  Caller(const Clock& clock, const rpc::Request& request) : clock_(clock) {
    if (request.time_left) end_ = clock.mono() + *request.time_left;
  }
  /// Nothing: for ever. At least a nanosecond: the back end's channel says that the time is over.
  std::optional<nanoseconds> left() const {
    if (!end_) return std::nullopt;
    return std::max(*end_ - clock_.mono(), nanoseconds(1));
  }

 private:
  const Clock& clock_;
  std::optional<MonoTime> end_;
};

/// On the executor's thread.
class BackEnd {
 public:
  BackEnd(rpc::Channel& channel, Store& store) : channel_(channel), store_(store) {}

  /// The request as it is now, with what its caller has left of its time. Where nobody is there, doubted() is
  /// set.
  Task<rpc::Reply> forward(rpc::Request request, const Caller& caller);

  /// From the store, else from the back end, which then is in the store. Code::not_found: it knows of none.
  Task<Result<PodPtr>> pod(std::string id, const Caller& caller);
  /// With its environment, which the store may not have.
  Task<Result<ContainerPtr>> container(std::string id, const Caller& caller);

  /// Set by a call that found nobody; reset by who looks.
  Event& doubted() { return doubted_; }

  /// Whether it answers. Ends after 2 s at most.
  Task<Result<>> probe();
  /// Makes the store tell of what the back end has, and of nothing else. What it knows already is not asked
  /// about.
  Task<Result<>> recover(const Logger& log);

 private:
  Task<Result<std::string>> ask(std::string_view method, std::string message,
                                std::optional<nanoseconds> left);
  Task<Result<PodPtr>> ask_pod(std::string id, std::optional<nanoseconds> left);
  Task<Result<ContainerPtr>> ask_container(std::string id, std::string sandbox,
                                           std::optional<nanoseconds> left);

  rpc::Channel& channel_;
  Store& store_;
  Event doubted_;
};

}  // namespace koord::proxy
