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
constexpr std::string_view kReason = "evicted";  // upstream's, as are the events' reasons
constexpr std::string_view kSuccess = "evictPodSuccess", kFail = "evictPodFail";

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

Task<Result<>> PodRunner::stop(const Action& action) {
  const MonoTime late = parts_.clock.mono() + kBegin;
  std::function<Result<>()> work = [groups = groups_to_stop(*action.pod), &cgroups = parts_.cgroups,
                                    &clock = parts_.clock, late]() -> Result<> {
    if (clock.mono() > late) return Error(Code::unavailable, "no worker was free in time");
    Result<> outcome;
    bool any = false;
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
