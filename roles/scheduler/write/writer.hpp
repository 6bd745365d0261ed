// Writer: carries decisions out: bindings, conditions, events; many at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "koord/api/schema/codec.hpp"
#include "koord/async/event.hpp"
#include "koord/async/task_group.hpp"
#include "koord/scheduling/engine/decision.hpp"
#include "koord/scheduling/plugin/cycle_plugin.hpp"
#include "write/evictions.hpp"
#include "write/writer_services.hpp"

namespace koord::scheduler {

class Placed;

/// Belongs to the event loop's thread. What plugins have to do before a binding may take as long as it wants:
/// it uses up no permit. A binding whose outcome is unknown (a timeout, a broken connection) is
/// sent again for the same node: the API server refuses a second one, and who then looks finds the first.
class Writer {
 public:
  Writer(asio::any_io_executor executor, WriterParts parts);

  /// A pod that is assumed on a node and whose binding waits is told so after this long.
  static constexpr nanoseconds kTellWaiting = std::chrono::seconds(10);

  void write(scheduling::Decision decision);
  /// Waits up to `grace` for what is on its way, then cuts it off. Await before destroying.
  Task<> stop(nanoseconds grace);
  std::size_t in_flight() const { return tasks_.size(); }

 private:
  Task<> bind(scheduling::Decision d);
  /// Before the binding; what comes of it, and in `written` the object if it was patched.
  Task<scheduling::Status> pre_bind(const scheduling::Decision& d, kube::Object& written);
  scheduling::Status checked(const scheduling::Decision& d) const;
  /// What plugins change of the pod, in one patch.
  Task<Result<kube::Object>> patch_pod(std::shared_ptr<const api::Pod> pod,
                                       const scheduling::PodPatch& wanted);
  /// `permitted`: it has a permit, which is given back.
  Task<> bind_failed(scheduling::Decision d, scheduling::Decision::Outcome outcome, nanoseconds took,
                     bool permitted);
  Task<> wait(scheduling::Decision d);
  void watch(const scheduling::Decision& d, std::string waits);
  Task<> tell_waiting(scheduling::Decision d, std::string waits, std::weak_ptr<const bool> still);
  void preempt(scheduling::Decision d);
  Task<> ask(scheduling::Decision d);
  Task<> nominate(const scheduling::Decision& d);
  /// What plugins bind by is run, other pods are bound by a POST.
  Task<scheduling::Status> carry_out(const scheduling::Decision& d, kube::Object written);
  Task<Result<>> send_binding(const scheduling::Decision& d);
  Task<Result<>> is_bound(const scheduling::Decision& d, Error conflict);
  Task<> report_failure(scheduling::Decision d, bool permitted);
  /// What became of a status patch.
  void told(const Placed& placed, const Result<>& done) const;
  void record(const scheduling::Decision& d, kube::EventType type, std::string_view reason,
              std::string_view action, std::string_view note);

  WriterParts parts_;
  /// Nominations on their way, by the pod's uid: a binding waits for its own.
  std::map<std::string, std::shared_ptr<Event>, std::less<>> nominating_;
  /// Pods whose binding waits for something, by uid, until it goes on, has failed, or is told.
  std::map<std::string, std::shared_ptr<const bool>, std::less<>> waiting_;
  TaskGroup tasks_, watches_;
  Evictions evictions_;
};

}  // namespace koord::scheduler
