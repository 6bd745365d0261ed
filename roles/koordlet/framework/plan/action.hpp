// Action: what a strategy does beside cgroup values, and that cannot be undone: a pod is evicted, or its
// containers are stopped. It runs off the loop; what became of it is known in a later tick. ProcessSetting:
// what it wants of processes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/model/inventory.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

enum class ActionKind : std::uint8_t {
  evict_pod,  // the API server is asked, which minds disruption budgets
  stop_pod,   // all processes of its containers are killed
};
std::string_view to_string(ActionKind kind);  // "evict", "stop": what the file of actions calls it

struct Action {
  std::shared_ptr<const PodInfo> pod;  // its uid is the action's key
  std::string message;                 // "trigger by koordlet feature BEMemoryEvict, kill pod: NAME"
  // The manager's.
  ActionKind kind = ActionKind::stop_pod;
  std::string_view strategy;  // static text
};

struct ProcessKind;  // framework/action/process_kind.hpp

/// What the processes of a container shall have, those too that it starts later, as their oom_score_adj.
/// Unlike an action it goes back to what it was when nobody wants it any more.
struct ProcessSetting {
  const ProcessKind* kind = nullptr;  // never null
  std::shared_ptr<const PodInfo> pod;
  std::string container;  // its name
  std::string group;
  std::int64_t value = 0;  // within the kind's bounds
  /// Of kinds whose value the kernel makes (ProcessKind::shared): whose processes have the same. One line
  /// without tabs.
  std::string shared = {};
};

/// The groups of the pod's containers; without Kubernetes the pod's own.
std::vector<std::string> groups_to_stop(const PodInfo& pod);

/// Does what it is told; on the event loop's thread, without waiting.
class ActionRunner {
 public:
  using Done = std::function<void(Result<> outcome)>;
  virtual ~ActionRunner() = default;
  /// Calls `done` once, later, on the event loop's thread; not at all if the agent ends before. Code::
  /// not_found: the pod had gone by itself. Code::timeout: nobody can tell whether it was done.
  virtual void run(const Action& action, Done done) = 0;
};

}  // namespace koord::koordlet
