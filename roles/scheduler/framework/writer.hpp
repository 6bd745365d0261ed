// Writer: carries decisions out: bindings, conditions, events; many at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "framework/engine.hpp"
#include "framework/telemetry.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/event_recorder.hpp"

namespace koord::kube {
class Client;
}

namespace koord::scheduler {

/// Belongs to the event loop's thread. A binding whose outcome is unknown (a timeout, a broken connection) is
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
    std::function<void(std::shared_ptr<const api::Pod>)> binding_failed;
    /// After each decision, but for those that stop() cuts off.
    std::function<void()> done;
  };

  Writer(asio::any_io_executor executor, Services services);

  void write(Decision decision);
  /// Waits up to `grace` for what is on its way, then cuts it off. Await before destroying.
  Task<> stop(nanoseconds grace);
  std::size_t in_flight() const { return tasks_.size(); }

 private:
  Task<> bind(Decision d);
  Task<Result<>> send_binding(const Decision& d);
  Task<Result<>> is_bound(const Decision& d, Error conflict);
  Task<> report_failure(Decision d, std::string_view reason);
  void record(const Decision& d, kube::EventType type, std::string_view reason, std::string_view action,
              std::string_view note);

  Services services_;
  TaskGroup tasks_;
};

}  // namespace koord::scheduler
