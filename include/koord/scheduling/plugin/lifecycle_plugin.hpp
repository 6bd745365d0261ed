// Plugins beside the cycle: what they run at the API server while the role leads, when all is known, and
// which pods leave.
#pragma once

#include <functional>
#include <memory>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/result.hpp"
#include "koord/base/symbol.hpp"

namespace koord::api {
struct Pod;
}
namespace koord::metrics {
class Registry;
}  // namespace koord::metrics
namespace koord::kube {
class Client;
class InformerSet;
}  // namespace koord::kube

namespace koord::scheduling {

struct PodInfo;

/// Works on the event loop's thread, beside the engine: it shares with its plugin only what is made for two
/// threads.
class PluginController {
 public:
  /// References outlive the run.
  struct Context {
    kube::Client& client;
    Clock& clock;
    Logger log;
    /// False while another process may hold the lease: nothing may be written then.
    std::function<bool()> may_write;
    metrics::Registry& metrics;
  };
  virtual ~PluginController() = default;
  /// Once, when the role leads and all objects that existed at the start are known; until it is cancelled,
  /// when the role ends. Its end is awaited, for as long as the role's own writes are. An error ends the
  /// role.
  virtual Task<Result<>> run(Context context) = 0;
};

/// A plugin with a controller. A role that schedules asks for it; who only asks where pods would go does not.
class ControllerPlugin {
 public:
  virtual ~ControllerPlugin() = default;
  /// Once, before the engine's thread has the plugin, of its instance in the first profile that has it. What
  /// the controller reads it declares with `informers`: they are filled whether the role leads or not.
  virtual std::unique_ptr<PluginController> make_controller(kube::InformerSet& informers,
                                                            kube::Client& client) = 0;
};

/// Told once, on the engine's thread, when all nodes, pods and watched objects that existed at the start have
/// been told, before the first pod is tried: what was kept of them so far is the whole picture.
class SyncedPlugin {
 public:
  virtual ~SyncedPlugin() = default;
  virtual void all_synced() = 0;
};

/// Told on the engine's thread of every pod of the cluster, whoever schedules it and wherever it stands: who
/// counts pods from the moment they are created. Before the engine itself looks at the change.
class EveryPodPlugin {
 public:
  virtual ~EveryPodPlugin() = default;
  /// It came, or anything of its object is another now. One of the same name that was another pod is gone.
  virtual void pod_seen(const std::shared_ptr<const api::Pod>& pod) = 0;
  /// It is gone or has finished; perhaps it was never seen.
  virtual void pod_left(const api::Pod& pod) = 0;
  /// Told of placeholders, too, which stand for what is placed and is no pod.
  virtual bool counts_placeholders() const { return false; }
};

/// Told on the engine's thread of pods that leave it, of all profiles.
class ForgetPlugin {
 public:
  virtual ~ForgetPlugin() = default;
  /// A pod that was assumed on the node does not count there any more, and is not bound there
  /// (kube-scheduler's cache forgets it). ReservePlugin::unreserve() comes before or, where a binding is on
  /// its way, when that has ended.
  virtual void forgotten(const PodInfo& /*pod*/, const Symbol& /*node*/) {}
  /// The engine does not know of the pod any more: it is gone, has finished, or is another scheduler's. Of
  /// pods that were bound, too; what plugins keep with it goes now.
  virtual void gone(const PodInfo& /*pod*/) {}
};

}  // namespace koord::scheduling
