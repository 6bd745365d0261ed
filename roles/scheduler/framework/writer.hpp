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
#include "framework/writer_services.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/async/event.hpp"
#include "koord/async/task_group.hpp"

namespace koord::scheduler {

/// Belongs to the event loop's thread. What plugins have to do before a binding may take as long as it wants:
/// it uses up no permit. A binding whose outcome is unknown (a timeout, a broken connection) is
/// sent again for the same node: the API server refuses a second one, and who then looks finds the first.
class Writer {
 public:
  using Services = WriterServices;

  Writer(asio::any_io_executor executor, Services services);

  /// A pod that is assumed on a node and whose binding waits is told so after this long.
  static constexpr nanoseconds kTellWaiting = std::chrono::seconds(10);

  void write(Decision decision);
  /// Waits up to `grace` for what is on its way, then cuts it off. Await before destroying.
  Task<> stop(nanoseconds grace);
  std::size_t in_flight() const { return tasks_.size(); }

 private:
  Task<> bind(Decision d);
  /// Before the binding; what comes of it.
  Task<Status> pre_bind(const Decision& d);
  Status checked(const Decision& d) const;
  /// What plugins change of the pod, in one patch.
  Task<Result<>> patch_pod(const Decision& d);
  /// `permitted`: it has a permit, which is given back.
  Task<> bind_failed(Decision d, Decision::Kind kind, std::string message, nanoseconds took, bool permitted);
  Task<> wait(Decision d);
  void watch(const Decision& d, std::string waits);
  Task<> tell_waiting(Decision d, std::string waits, std::weak_ptr<const bool> still);
  void preempt(Decision d);
  Task<> ask(Decision d);
  Task<> nominate(const Decision& d);
  /// A status patch; nothing to patch, a pod that is gone and a failure that is only told are all the same.
  Task<> patch_status(const api::Pod& pod, std::optional<api::Patch> patch);
  Task<Result<>> send_binding(const Decision& d);
  Task<Result<>> is_bound(const Decision& d, Error conflict);
  Task<> report_failure(Decision d, bool permitted);
  void record(const Decision& d, kube::EventType type, std::string_view reason, std::string_view action,
              std::string_view note);

  Services services_;
  /// Nominations on their way, by the pod's uid: a binding waits for its own.
  std::map<std::string, std::shared_ptr<Event>, std::less<>> nominating_;
  /// Pods whose binding waits for something, by uid, until it goes on, has failed, or is told.
  std::map<std::string, std::shared_ptr<const bool>, std::less<>> waiting_;
  TaskGroup tasks_, watches_;
  Evictions evictions_;
};

}  // namespace koord::scheduler
