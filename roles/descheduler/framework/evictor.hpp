// Evictor: whoever makes a pod go that a plugin has chosen.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/meta_v1/delete_options.hpp"
#include "koord/async/task.hpp"
#include "koord/base/result.hpp"

namespace koord {
class TaskGroup;
namespace api {
struct Pod;
}
}  // namespace koord

namespace koord::descheduler {

/// Why a pod is to go, as it is told to whoever looks at it.
struct EvictOptions {
  std::string plugin;                  // the plugin that chose it
  std::string reason;                  // for people: "node is overutilized, ..."
  std::string profile;                 // whose plugin that is
  std::vector<std::string> wanted_by;  // objects that ask for it, the outermost first: "PodMigrationJob/a"
  std::optional<api::DeleteOptions> delete_options;
};

/// Belongs to the role's strand. A profile has exactly one that evicts; several may filter, and all of them
/// have to agree.
class Evictor {
 public:
  Evictor() = default;
  Evictor(const Evictor&) = delete;
  Evictor& operator=(const Evictor&) = delete;
  virtual ~Evictor() = default;

  /// Why the pod may not be evicted, for the log; empty: it may. Asked of every candidate, perhaps more than
  /// once in a pass, so it never waits. What it does not know yet speaks against the pod.
  virtual std::string why_not(const api::Pod& pod) = 0;
  /// Asked before the eviction itself, of what costs more to know; empty: it may.
  virtual std::string why_not_now(const api::Pod& pod) {
    (void)pod;
    return {};
  }
  /// Makes the pod go, or has it done: it counts as gone once this has succeeded. An error says why it stays;
  /// the next one is looked at then. Limits and dry runs are the caller's: it is not called for them. Writes
  /// only while the role leads.
  virtual Task<Result<>> evict(std::shared_ptr<const api::Pod> pod, const EvictOptions& options) = 0;

  /// What evict() would say now if it were called, of a dry run: nothing is written. Until the pass ends the
  /// pod counts against the evictor's own limits.
  virtual Task<Result<>> rehearse(std::shared_ptr<const api::Pod> pod, const EvictOptions& options) {
    (void)pod, (void)options;
    co_return Result<>();
  }

  /// The role leads: what it does on its own (a controller of what it has written) goes into `tasks`.
  virtual void start(TaskGroup& tasks) { (void)tasks; }
  /// After start(): waits until it knows what it needs to say of a pod that it may go; passes begin then.
  virtual Task<Result<>> ready() { co_return Result<>(); }
  /// The role ends: nothing new is begun.
  virtual void stop() {}
};

}  // namespace koord::descheduler
