// Evictions: asks the victims of preemption to go, all of a node's at a time.
#pragma once

#include <functional>
#include <memory>

#include "koord/async/task_group.hpp"
#include "koord/scheduling/engine/decision.hpp"
#include "write/writer_services.hpp"

namespace koord::scheduler {

/// Belongs to the event loop's thread. A victim is told why (a pod by the condition DisruptionTarget) and
/// deleted with its own grace period, or goes as its kind says; disruption budgets are not asked: preemption
/// has respected them as far as it could.
class Evictions {
 public:
  /// The tasks run in `tasks`; both outlive it.
  Evictions(TaskGroup& tasks, const WriterParts& parts) : tasks_(tasks), parts_(parts) {}

  /// Of a decision with victims; `done` is called when all have been asked.
  void begin(std::shared_ptr<const scheduling::Decision> decision, std::function<void()> done);

 private:
  struct UnderWay;
  Task<> evict(std::shared_ptr<UnderWay> under_way, std::size_t victim);
  Task<> nominate(std::shared_ptr<UnderWay> under_way, std::size_t pod);
  Task<Result<>> ask(const scheduling::Decision& decision, std::shared_ptr<const api::Pod> victim);
  void record(const scheduling::Decision& decision, const api::Pod& victim);
  void finish(UnderWay& under_way, const Result<>& result);

  TaskGroup& tasks_;
  const WriterParts& parts_;
};

}  // namespace koord::scheduler
