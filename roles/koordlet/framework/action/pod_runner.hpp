// PodRunner: evicts pods through the API server, or stops their containers through their runtime and their
// cgroups.
#pragma once

#include <string>

#include "framework/action/container_stopper.hpp"
#include "framework/audit/auditor.hpp"
#include "framework/plan/action.hpp"
#include "koord/async/offload.hpp"
#include "koord/async/task_group.hpp"
#include "koord/host/cgroup_fs.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/event_recorder.hpp"

namespace koord::koordlet {

class PodRunner final : public ActionRunner {
 public:
  /// All outlive its tasks.
  struct Parts {
    TaskGroup& tasks;
    Clock& clock;
    Logger& log;
    WorkerPool& workers;
    const host::CgroupFs& cgroups;
    Auditor* auditor = nullptr;      // null: nothing is audited
    kube::Client* client = nullptr;  // null, both: without Kubernetes, nothing is evicted
    kube::EventRecorder* recorder = nullptr;
  };
  explicit PodRunner(const Parts& parts) : parts_(parts) {}
  void run(const Action& action, Done done) override;
  /// From now on the runtime is asked first to stop containers; it outlives the runner's tasks.
  void ask_first(ContainerStopper& runtime) { runtime_ = &runtime; }

 private:
  Task<Result<>> perform(Action action, Done done);
  Task<Result<>> evict(const Action& action);
  Task<Result<>> stop(const Action& action);
  Task<Result<bool>> stop_by_runtime(const PodInfo& pod);
  Task<Result<bool>> is_anybody_there(const PodInfo& pod);

  Parts parts_;
  ContainerStopper* runtime_ = nullptr;  // null: there is none
  Code runtime_fault_ = Code::internal;  // of the last fault that the log was told of
};

}  // namespace koord::koordlet
