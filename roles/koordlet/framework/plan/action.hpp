// Action: what a strategy does beside cgroup values, and that cannot be undone: a pod is evicted, or its
// containers are stopped. It runs off the loop; what became of it is known in a later tick.
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

/// What the kernel shall go by where memory is short: the oom_score_adj of a container's processes, of those
/// too that it starts later. Unlike an action it goes back to what it was when nobody wants it any more.
struct ScoreWish {
  std::shared_ptr<const PodInfo> pod;
  std::string container;  // its name
  std::string group;
  std::int64_t score = 0;  // -1000 to 1000
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
