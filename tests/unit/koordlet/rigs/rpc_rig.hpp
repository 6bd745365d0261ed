// RpcRig: an engine, servers' sockets in a folder of the test's own, and channels to them, in real time.
#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "koord/async/system_clock.hpp"
#include "koord/async/task_group.hpp"
#include "koord/rpc/channel.hpp"
#include "koord/rpc/engine.hpp"
#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord::koordlet::testing {

class RpcRig {
 public:
  RpcRig() : clock(loop.executor()), engine(loop.executor()), tasks(loop.executor()) {}
  ~RpcRig() { end(); }
  /// What runs on the engine's servers has been stopped.
  void end() {
    run(tasks.stop(clock, std::chrono::seconds(5)));
    channels_.clear();
  }

  std::string path(const std::string& name) const { return tree / name; }
  rpc::Channel& channel(const std::string& name) {
    rpc::ChannelOptions made;
    made.path = path(name);
    channels_.push_back(std::make_unique<rpc::Channel>(engine, std::move(made)));
    return *channels_.back();
  }
  template <class T>
  T run(Task<T> task) {
    return test::run_task(loop, std::move(task), true);
  }
  rpc::Reply call(rpc::Channel& channel, std::string_view method, std::string message) {
    return run(channel.call({.method = std::string(method),
                             .message = std::move(message),
                             .metadata = {},
                             .time_left = std::chrono::seconds(30)}));
  }
  /// Runs the loop until `condition`.
  template <class Condition>
  void until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("it never came");
      loop.context.restart();
      loop.context.run_one_for(std::chrono::milliseconds(10));
    }
  }

  test::Loop loop;
  SystemClock clock;
  koord::testing::Tree tree{{}};
  rpc::Engine engine;
  TaskGroup tasks;

 private:
  std::vector<std::unique_ptr<rpc::Channel>> channels_;
};

}  // namespace koord::koordlet::testing
