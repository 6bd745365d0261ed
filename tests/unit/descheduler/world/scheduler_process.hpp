// SchedulerProcess: koord's scheduler with its shipped profile, whole but for its thread: the engine decides
// on the event loop, so that a run comes out the same each time.
#pragma once

#include <memory>

#include "koord/kube/transport.hpp"
#include "support/run_task.hpp"

namespace koord::descheduler::world {

class SchedulerProcess {
 public:
  SchedulerProcess(koord::test::Loop& loop, kube::Transport& transport, std::uint64_t seed);
  ~SchedulerProcess();
  /// Once, when the cluster's kinds are served.
  void start();
  /// What went wrong; empty: nothing.
  const std::string& failure() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::descheduler::world
