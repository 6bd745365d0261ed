// Writer: carries decisions out: bindings, conditions, events; many at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "framework/cycle_plugin.hpp"
#include "framework/decision.hpp"
#include "framework/evictions.hpp"
#include "framework/telemetry.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/async/event.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/event_recorder.hpp"

namespace koord::kube {
class Client;
}

namespace koord::scheduler {

/// Belongs to the event loop's thread. What plugins have to do before a binding may take as long as it wants:
/// it uses up no permit. A binding whose outcome is unknown (a timeout, a broken connection) is
/// sent again for the same node: the API server refuses a second one, and who then looks finds the first.
class Writer {
 public:
  struct Services {
    kube::Client& client;
    Clock& clock;
    Logger log;
    Telemetry& telemetry;
    /// What events of a profile are recorded with.
    std::function<kube::EventRecorder&(std::string_view profile)> events;
    /// The pod as it is known now; nullptr: gone.
    std::function<std::shared_ptr<const api::Pod>(const api::Pod&)> latest;
    /// False while another process may hold the lease: nothing is written then.
    std::function<bool()> may_write;
    /// A binding has ended: of those that failed, and of all whose decision asks for it.
    std::function<void(std::shared_ptr<const api::Pod>, bool bound)> binding_ended;
    /// The victims of the pod's decision were asked to go; false: not all of them could be.
    std::function<void(std::shared_ptr<const api::Pod>, bool all)> preempted;
    /// After each decision, but for those that stop() cuts off: another one may come.
    std::function<void()> done;
  };

  Writer(asio::any_io_executor executor, Services services);

  void write(Decision decision);
  /// Waits up to `grace` for what is on its way, then cuts it off. Await before destroying.
  Task<> stop(nanoseconds grace);
  std::size_t in_flight() const { return tasks_.size(); }

 private:
  Task<> bind(Decision d);
  /// Before the binding; what comes of it.
  Task<Status> pre_bind(const Decision& d);
  Task<> bind_failed(Decision d, Decision::Kind kind, std::string message, nanoseconds took);
  Task<> wait(Decision d);
  void preempt(Decision d);
  Task<> nominate(const Decision& d);
  /// A status patch; nothing to patch, a pod that is gone and a failure that is only told are all the same.
  Task<> patch_status(const api::Pod& pod, std::optional<api::Patch> patch);
  Task<Result<>> send_binding(const Decision& d);
  Task<Result<>> is_bound(const Decision& d, Error conflict);
  /// `permitted`: it has a permit, which is given back.
  Task<> report_failure(Decision d, bool permitted);
  void record(const Decision& d, kube::EventType type, std::string_view reason, std::string_view action,
              std::string_view note);

  Services services_;
  /// Nominations on their way, by the pod's uid: a binding waits for its own.
  std::map<std::string, std::shared_ptr<Event>, std::less<>> nominating_;
  TaskGroup tasks_;
  Evictions evictions_;
};

}  // namespace koord::scheduler
