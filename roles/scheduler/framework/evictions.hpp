// Evictions: asks the victims of preemption to go, all of a node's at a time.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "framework/decision.hpp"
#include "framework/telemetry.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/event_recorder.hpp"

namespace koord::kube {
class Client;
}

namespace koord::scheduler {

/// Belongs to the event loop's thread. A victim is told why (the condition DisruptionTarget) and deleted with
/// its own grace period; disruption budgets are not asked: preemption has respected them as far as it could.
class Evictions {
 public:
  struct Services {
    kube::Client& client;
    Clock& clock;
    Logger log;
    Telemetry& telemetry;
    std::function<kube::EventRecorder&(std::string_view profile)> events;
    std::function<std::shared_ptr<const api::Pod>(const api::Pod&)> latest;
    std::function<bool()> may_write;
    /// The pod's victims were asked; false: not all of them could be.
    std::function<void(std::shared_ptr<const api::Pod>, bool all)> preempted;
  };
  /// The tasks run in `tasks`, which outlives them.
  Evictions(TaskGroup& tasks, Services services) : tasks_(tasks), services_(std::move(services)) {}

  /// Of a decision with victims; `done` is called when all have been asked.
  void begin(std::shared_ptr<const Decision> decision, std::function<void()> done);

 private:
  struct UnderWay;
  Task<> evict(std::shared_ptr<UnderWay> under_way, std::size_t victim);
  Task<> take_nomination(std::shared_ptr<UnderWay> under_way, std::size_t pod);
  Task<Result<>> ask(const Decision& decision, const api::Pod& victim);
  Task<Result<>> patch_status(const api::Pod& pod, api::Patch patch);
  void record(const Decision& decision, const api::Pod& victim);
  void finish(UnderWay& under_way, const Result<>& result);

  TaskGroup& tasks_;
  Services services_;
};

}  // namespace koord::scheduler
