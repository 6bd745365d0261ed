// PodRunner: see pod_runner.hpp.
#include "framework/action/pod_runner.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "framework/action/stop_group.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/async/timer.hpp"

namespace koord::koordlet {

namespace {

constexpr nanoseconds kPatience = std::chrono::seconds(10);  // with the API server
/// A worker that is free no sooner finds a node on which others have gone.
constexpr nanoseconds kBegin = std::chrono::seconds(10);
/// For all containers of a pod: where memory runs out nobody waits longer for a runtime.
constexpr nanoseconds kRuntime = std::chrono::seconds(2);
constexpr std::string_view kReason = "evicted";  // upstream's, as are the events' reasons
constexpr std::string_view kSuccess = "evictPodSuccess", kFail = "evictPodFail";

bool has_a_runtime_class(const PodInfo& pod) {
  return pod.object && !pod.object->spec.runtime_class_name.empty();
}

}  // namespace

void PodRunner::run(const Action& action, Done done) {
  if (parts_.auditor) {
    AuditEvent event;
    event.type = "pod";
    event.ns = action.pod->ns;
    event.name = action.pod->name;
    event.reason = kReason;
    event.message = action.message;
    parts_.auditor->record(0, event);
  }
  parts_.tasks.spawn("evict", perform(action, std::move(done)));
}

Task<Result<>> PodRunner::perform(Action action, Done done) {
  const PodInfo& pod = *action.pod;
  const Result<> outcome =
      action.kind == ActionKind::evict_pod ? co_await evict(action) : co_await stop(action);
  if (!outcome && outcome.error().code() == Code::cancelled) co_return outcome;
  const std::string name = fmt::format("{}/{}", pod.ns, pod.name);
  const std::string_view how = to_string(action.kind);
  if (outcome)
    parts_.log.info("a pod was evicted", kv("pod", name), kv("how", how), kv("why", action.message));
  else if (outcome.error().code() == Code::not_found)
    parts_.log.info("a pod had gone before it was evicted", kv("pod", name), kv("why", action.message));
  else
    parts_.log.warn("a pod cannot be evicted", kv("pod", name), kv("how", how), kv("why", action.message),
                    kv("error", outcome.error()));
  done(outcome);
  co_return Result<>();
}

Task<Result<>> PodRunner::evict(const Action& action) {
  if (parts_.client == nullptr)
    co_return Error(Code::unsupported, "there is no API server that could be asked");
  const PodInfo& pod = *action.pod;
  kube::DeleteOptions options;
  options.uid = pod.uid;
  Task<Result<>> request = parts_.client->evict({pod.ns, pod.name}, std::move(options));
  Result<> outcome = co_await with_timeout(parts_.clock, kPatience, std::move(request));
  if (!outcome && outcome.error().code() == Code::cancelled) co_return outcome;
  if (!outcome && outcome.error().code() == Code::not_found) co_return outcome;
  if (parts_.recorder && pod.object) {
    std::string note =
        fmt::format("evict Pod:{}/{}, reason: {}, message: {}", pod.ns, pod.name, kReason, action.message);
    if (!outcome) note.append(fmt::format(", error {}", outcome.error().message()));
    kube::EventRecord event;
    event.regarding = kube::event_object(*pod.object);
    event.type = kube::EventType::warning;
    event.reason = outcome ? kSuccess : kFail;
    event.action = "Evicting";
    event.note = note;
    parts_.recorder->record(event);
  }
  co_return outcome;
}

/// Whether a container of it runs, by the kernel's word. Of those in a virtual machine, or behind another
/// runtime's own monitor, the kernel shows nothing: only the runtime can say.
Task<Result<bool>> PodRunner::is_anybody_there(const PodInfo& pod) {
  if (has_a_runtime_class(pod)) co_return true;
  std::function<Result<bool>()> look = [groups = groups_to_stop(pod),
                                        &cgroups = parts_.cgroups]() -> Result<bool> {
    for (const std::string& group : groups) {
      KOORD_TRY(occupied, is_occupied(cgroups, group));
      if (occupied) return true;
    }
    return false;
  };
  co_return co_await offload(parts_.workers, std::move(look));
}

/// False: it stopped nobody, for whatever reason. One container that it does not know, or cannot stop, keeps
/// no other alive; what is left is stopped by its processes afterwards.
Task<Result<bool>> PodRunner::stop_by_runtime(const PodInfo& pod) {
  bool any = false;
  const MonoTime until = parts_.clock.mono() + kRuntime;
  for (const ContainerInfo& container : pod.containers) {
    const nanoseconds left = until - parts_.clock.mono();
    if (left <= nanoseconds(0)) break;
    const auto stopped = co_await runtime_->stop(container, left);
    if (stopped) {
      any = true;
      continue;
    }
    const Code code = stopped.error().code();
    if (code == Code::cancelled) co_return stopped.error();
    if (code == Code::not_found) continue;
    if (code != std::exchange(runtime_fault_, code))
      parts_.log.info("the container runtime does not stop a container: its processes are killed",
                      kv("pod", fmt::format("{}/{}", pod.ns, pod.name)), kv("container", container.name),
                      kv("error", stopped.error()));
    if (code == Code::unsupported || code == Code::unavailable) break;  // so it is for the others
  }
  co_return any;
}

Task<Result<>> PodRunner::stop(const Action& action) {
  const MonoTime late = parts_.clock.mono() + kBegin;
  bool stopped_some = false;
  if (runtime_ != nullptr && !action.pod->containers.empty()) {
    KOORD_CO_TRY(there, co_await is_anybody_there(*action.pod));
    if (there) {
      KOORD_CO_TRY(stopped, co_await stop_by_runtime(*action.pod));
      stopped_some = stopped;
    }
  }
  std::function<Result<>()> work = [groups = groups_to_stop(*action.pod), &cgroups = parts_.cgroups,
                                    &clock = parts_.clock, late, stopped_some]() -> Result<> {
    if (clock.mono() > late) return Error(Code::unavailable, "no worker was free in time");
    Result<> outcome;
    bool any = stopped_some;
    // One that cannot be stopped keeps nobody else alive.
    for (const std::string& group : groups) {
      auto stopped = stop_group(cgroups, group);
      any = any || !stopped || *stopped;
      if (!stopped && outcome) outcome = std::move(stopped).error();
    }
    if (any) return outcome;
    return Error(
        Code::unavailable,
        "nobody is in its containers' groups: they have ended, or the kubelet's list is out of date");
  };
  co_return co_await offload(parts_.workers, std::move(work));
}

}  // namespace koord::koordlet
