// A rig of two ends: servers and channels on sockets of a folder of the test's own, one event loop, real
// time.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "koord/async/system_clock.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"
#include "koord/rpc/channel.hpp"
#include "koord/rpc/engine.hpp"
#include "koord/rpc/server.hpp"
#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord::rpc::test_rig {

using namespace std::chrono_literals;

inline constexpr std::string_view kEcho = "/test.Service/Echo";

class Rig {
 public:
  Rig() : clock(loop.executor()), engine(std::make_unique<Engine>(loop.executor())) {}
  ~Rig() {
    for (auto& server : servers_) run(server->stop(0s));
    channels_.clear();
    servers_.clear();
    engine.reset();
  }

  std::string path(const std::string& name) const { return tree / name; }
  ServerOptions options(const std::string& name) const {
    ServerOptions made;
    made.socket = {.path = path(name), .users = {::geteuid()}};
    return made;
  }
  Server& server(ServerOptions made) {
    servers_.push_back(std::make_unique<Server>(*engine, clock, std::move(made)));
    return *servers_.back();
  }
  Channel& channel(const std::string& name) {
    ChannelOptions made;
    made.path = path(name);
    channels_.push_back(std::make_unique<Channel>(*engine, std::move(made)));
    return *channels_.back();
  }
  /// The server is one of the rig's no more.
  void stop(Server& server, nanoseconds grace) {
    run(server.stop(grace));
    forget(server);
  }
  /// It has been stopped.
  void forget(Server& server) {
    std::erase_if(servers_, [&](const auto& one) { return one.get() == &server; });
  }
  template <class T>
  T run(Task<T> task) {
    return test::run_task(loop, std::move(task), true);
  }
  Reply call(Channel& channel, std::string method, std::string message, Metadata metadata = {},
             std::optional<nanoseconds> time_left = 20s) {
    return run(channel.call({.method = std::move(method),
                             .message = std::move(message),
                             .metadata = std::move(metadata),
                             .time_left = time_left}));
  }
  /// Runs the loop until `condition`, for at most 20 s.
  template <class Condition>
  void until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("it never came");
      loop.context.restart();
      loop.context.run_one_for(10ms);
    }
  }

  test::Loop loop;
  SystemClock clock;
  testing::Tree tree{{}};
  std::unique_ptr<Engine> engine;

 private:
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<std::unique_ptr<Server>> servers_;
};

inline Task<Reply> echo(Request request) {
  Reply reply{.status = {}, .message = fmt::format("{} {}", request.method, request.message)};
  reply.headers = {{"a-header", "h"}};
  reply.trailers = std::move(request.metadata);
  co_return reply;
}

}  // namespace koord::rpc::test_rig
