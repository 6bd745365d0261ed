// Writer: see writer.hpp.
#include "write/writer.hpp"

#include <fmt/format.h>

#include "extenders/extender_calls.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/async/timer.hpp"
#include "koord/kube/client.hpp"
#include "koord/scheduling/cluster/transforms.hpp"
#include "koord/scheduling/plugin/verdict.hpp"
#include "write/pod_status.hpp"

namespace koord::scheduler {

namespace {

constexpr int kTries = 5;
constexpr nanoseconds kFirstPause = std::chrono::milliseconds(100);

// Of a pod's patch, as in Koordinator (client-go's default backoff).
constexpr int kPatchTries = 4;
constexpr nanoseconds kFirstPatchPause = std::chrono::milliseconds(10);

constexpr const char* kMayNot = "another scheduler may hold the lease";
constexpr const char* kBeingDeleted = "pod is being deleted";

/// Whether the server may have acted although we were told of a failure.
bool unknown_outcome(Code code) {
  return code == Code::timeout || code == Code::unavailable || code == Code::server_error;
}

}  // namespace

Writer::Writer(asio::any_io_executor executor, Services services)
    : services_(std::move(services)),
      tasks_(executor, log_failures(services_.log)),
      watches_(std::move(executor), log_failures(services_.log)),
      evictions_(tasks_, services_) {}

void Writer::write(scheduling::Decision d) {
  if (!waiting_.empty()) waiting_.erase(d.pod->metadata.uid);
  switch (d.kind) {
    case scheduling::Decision::Kind::bind: return tasks_.spawn("bind", bind(std::move(d)));
    case scheduling::Decision::Kind::ask:
      // It takes as long as the extenders do, and uses up no permit.
      if (d.question) tasks_.spawn("ask", ask(std::move(d)));
      return services_.done();
    case scheduling::Decision::Kind::gated: return tasks_.spawn("report", report_failure(std::move(d), true));
    case scheduling::Decision::Kind::wait:
      watch(d, fmt::format("waiting for a permit of {}", d.waits_for));
      return tasks_.spawn("nominate", wait(std::move(d)));
    case scheduling::Decision::Kind::unschedulable:
      services_.telemetry.attempt(d, "unschedulable", d.took);
      if (!d.preemption.victims.empty()) return preempt(std::move(d));
      return tasks_.spawn("report", report_failure(std::move(d), true));
    case scheduling::Decision::Kind::error:
      services_.telemetry.attempt(d, "error", d.took);
      return tasks_.spawn("report", report_failure(std::move(d), true));
    case scheduling::Decision::Kind::skip:
      record(d, kube::EventType::warning, "FailedScheduling", "Scheduling", d.message);
      return services_.done();
  }
}

Task<> Writer::stop(nanoseconds grace) {
  co_await watches_.stop(services_.clock, nanoseconds::zero());
  Task<Result<>> join = tasks_.join();
  (void)co_await with_timeout(services_.clock, grace, std::move(join));
  co_await tasks_.stop(services_.clock, nanoseconds::zero());
}

/// The victims go while the pod is told; its permit is given back when both is done.
void Writer::preempt(scheduling::Decision d) {
  const auto shared = std::make_shared<const scheduling::Decision>(std::move(d));
  evictions_.begin(shared, [this] { services_.done(); });
  tasks_.spawn("report", report_failure(*shared, false));
}

Task<> Writer::wait(scheduling::Decision d) {
  Task<> told = nominate(d);
  co_await std::move(told);
  services_.done();
}

Task<> Writer::ask(scheduling::Decision d) {
  Task<scheduling::ExtenderAnswer> asked = services_.extenders->ask(d.pod, d.question);
  auto answer = std::make_shared<const scheduling::ExtenderAnswer>(co_await std::move(asked));
  services_.answered(d.pod, std::move(answer));
}

/// kube-scheduler says nothing of such pods, however long they wait.
void Writer::watch(const scheduling::Decision& d, std::string waits) {
  const auto still = std::make_shared<const bool>(true);
  waiting_[d.pod->metadata.uid] = still;
  scheduling::Decision told;
  told.pod = d.pod;
  told.node = d.node;
  told.profile = d.profile;
  watches_.spawn("waiting", tell_waiting(std::move(told), std::move(waits), still));
}

Task<> Writer::tell_waiting(scheduling::Decision d, std::string waits, std::weak_ptr<const bool> still) {
  if (!co_await sleep(services_.clock, kTellWaiting) || still.expired()) co_return;
  waiting_.erase(d.pod->metadata.uid);
  if (services_.latest(*d.pod) == nullptr) co_return;
  record(d, kube::EventType::normal, "WaitingForBinding", "Binding",
         fmt::format("assumed on {}, {}", d.node.view(), waits));
}

Task<> Writer::nominate(const scheduling::Decision& d) {
  const std::shared_ptr<const api::Pod> pod = services_.latest(*d.pod);
  if (!d.nominate || !pod || !pod->spec.node_name.empty()) co_return;
  const auto ended = std::make_shared<Event>();
  nominating_[pod->metadata.uid] = ended;
  Task<> patched = patch_status(*pod, nomination_patch(*pod, *d.nominate));
  co_await std::move(patched);
  const auto it = nominating_.find(pod->metadata.uid);
  if (it != nominating_.end() && it->second == ended) nominating_.erase(it);
  ended->set();
}

Task<> Writer::bind(scheduling::Decision d) {
  const MonoTime start = services_.clock.mono();
  // What may take long uses up no permit.
  const bool elsewhere = services_.extenders != nullptr && services_.extenders->binds(*d.pod);
  const bool prepares = d.prepares(), permitted = !prepares && !elsewhere;
  if (!permitted) services_.done();
  if (const scheduling::Status refused = checked(d); !refused.ok()) {
    Task<> failed =
        bind_failed(std::move(d), scheduling::Decision::Kind::error, refused.message, {}, permitted);
    co_return co_await std::move(failed);
  }
  if (prepares) {
    std::vector<std::string_view> names;
    names.reserve(d.pre_binds.size() + 1);
    for (const scheduling::Decision::PreBind& p : d.pre_binds) names.push_back(p.plugin);
    if (!d.changes.empty()) names.push_back(d.patches);
    watch(d, fmt::format("waiting for what {} is doing before the binding", fmt::join(names, ", ")));
    const scheduling::Status status = co_await pre_bind(d);
    waiting_.erase(d.pod->metadata.uid);
    const nanoseconds took = services_.clock.mono() - start;
    services_.telemetry.pre_bind_call(d, label(status.code), took);
    if (!status.ok()) {
      const auto kind =
          status.rejected() ? scheduling::Decision::Kind::unschedulable : scheduling::Decision::Kind::error;
      Task<> failed = bind_failed(std::move(d), kind, status.message, took, permitted);
      co_return co_await std::move(failed);
    }
  }
  if (const auto it = nominating_.find(d.pod->metadata.uid); it != nominating_.end()) {
    const std::shared_ptr<Event> nominated = it->second;
    if (!co_await nominated->wait()) co_return;
  }
  const MonoTime began = services_.clock.mono();
  bool by_extender = false;
  Result<> sent;
  if (elsewhere) {
    auto bound = services_.extenders->bind(d.pod, d.node, services_.may_write);
    if (auto said = co_await std::move(bound)) {
      by_extender = true;
      sent = std::move(*said);
    }
  }
  if (!by_extender) sent = co_await send_binding(d);
  // What the watch has told by now counts for more than an answer that was lost.
  if (!sent && sent.error().code() != Code::cancelled)
    if (const auto known = services_.latest(*d.pod); known && known->spec.node_name == d.node) sent = {};
  const MonoTime now = services_.clock.mono();
  services_.telemetry.bind_call(d, sent ? "Success" : "Error", now - began);
  const api::ObjectMeta& meta = d.pod->metadata;
  if (sent) {
    services_.telemetry.attempt(d, "scheduled", d.took + (now - start));
    services_.telemetry.bound(d, now);
    if (services_.log.enabled(2))
      services_.log.v(2, "pod bound", kv("namespace", meta.namespace_.view()), kv("pod", meta.name),
                      kv("node", d.node.view()));
    const std::string note =
        fmt::format("Successfully assigned {}/{} to {}", meta.namespace_.view(), meta.name, d.node.view());
    record(d, kube::EventType::normal, "Scheduled", "Binding", note);
    if (services_.unserved)
      if (const std::string what = services_.unserved(d.profile, *d.pod); !what.empty())
        record(d, kube::EventType::warning, "NotServed", "Binding",
               fmt::format("bound without it: {}", what));
    if (d.tells_end) services_.binding_ended(d.pod, true);
    if (permitted) services_.done();
    co_return;
  }
  if (sent.error().code() == Code::cancelled) co_return;  // the end; the watch will tell
  services_.log.v(1, "binding failed", kv("namespace", meta.namespace_.view()), kv("pod", meta.name),
                  kv("node", d.node.view()), kv("error", sent.error()));
  std::string message =
      by_extender ? sent.error().message()
                  : fmt::format("running Bind plugin \"DefaultBinder\": {}", sent.error().message());
  Task<> failed = bind_failed(std::move(d), scheduling::Decision::Kind::error, std::move(message),
                              now - start, permitted);
  co_await std::move(failed);
}

Task<scheduling::Status> Writer::pre_bind(const scheduling::Decision& d) {
  Task<> told = nominate(d);
  co_await std::move(told);
  for (const scheduling::Decision::PreBind& p : d.pre_binds) {
    if (!services_.may_write()) co_return scheduling::Status{scheduling::StatusCode::error, kMayNot};
    scheduling::PreBindWork::Context context{services_.client, services_.clock, services_.may_write, d.pod,
                                             d.node,           services_.find};
    Task<scheduling::Status> run = p.work->run(context);
    scheduling::Status status = co_await std::move(run);
    if (status.ok()) continue;
    if (!status.rejected())
      status = {scheduling::StatusCode::error,
                fmt::format("running PreBind plugin \"{}\": {}", p.plugin, status.message)};
    co_return status;
  }
  // After the others: where one of them fails, the pod does not say that it has what it would have had.
  if (!d.changes.empty())
    if (const Result<> patched = co_await patch_pod(d); !patched)
      co_return scheduling::Status{
          scheduling::StatusCode::error,
          fmt::format("running PreBindExtension plugin \"{}\": {}", d.patches, patched.error().message())};
  co_return scheduling::Status{};
}

scheduling::Status Writer::checked(const scheduling::Decision& d) const {
  if (!services_.checks_pods) return {};
  const std::shared_ptr<const api::Pod> pod = services_.latest(*d.pod);
  if (!pod) return {scheduling::StatusCode::error, fmt::format("pod \"{}\" not found", d.pod->metadata.name)};
  if (scheduling::meant_for(*pod) != d.profile)
    return {scheduling::StatusCode::error, "schedulerName unmatched"};
  if (pod->metadata.deletion_timestamp) return {scheduling::StatusCode::error, kBeingDeleted};
  return {};
}

Task<Result<>> Writer::patch_pod(const scheduling::Decision& d) {
  nanoseconds pause = kFirstPatchPause;
  for (int n = 1;; ++n, pause *= 5) {
    if (!services_.may_write()) co_return Error(Code::unavailable, kMayNot);
    const std::shared_ptr<const api::Pod> now = services_.latest(*d.pod);
    if (!now) co_return Error(Code::not_found, fmt::format("pod \"{}\" not found", d.pod->metadata.name));
    api::Pod after = *now;
    for (const auto& [key, value] : d.changes.labels) after.metadata.labels[key] = value;
    for (const auto& [key, value] : d.changes.annotations) after.metadata.annotations[key] = value;
    std::optional<api::Patch> change = api::diff(*now, after);
    if (!change) co_return Result<>();
    // The server refuses it for a pod of the same name that was made since.
    api::Patch patch = (*std::move(change)).with_precondition({.uid = now->metadata.uid});
    const kube::ObjectKey key{now->metadata.namespace_.str(), now->metadata.name};
    kube::PatchOptions options;
    options.type = patch.type;
    options.may_go = services_.may_write;
    const Result<std::string> done =
        co_await services_.client.patch_raw(api::kind<api::Pod>(), key, std::move(patch.body), options);
    if (done) {
      // The server may take the patch of a pod that is going, and change nothing.
      const Result<api::Pod> patched = api::decode<api::Pod>(*done);
      if (patched && patched->metadata.deletion_timestamp) co_return Error(Code::conflict, kBeingDeleted);
      co_return Result<>();
    }
    const Code code = done.error().code();
    if ((code != Code::conflict && code != Code::too_many_requests && code != Code::unavailable) ||
        n == kPatchTries)
      co_return done.error();
    KOORD_CO_CHECK(co_await sleep(services_.clock, pause));
  }
}

/// Of a binding that did not come about.
Task<> Writer::bind_failed(scheduling::Decision d, scheduling::Decision::Kind kind, std::string message,
                           nanoseconds took, bool permitted) {
  services_.binding_ended(d.pod, false);
  d.kind = kind;
  d.message = std::move(message);
  d.nominate.emplace();
  services_.telemetry.attempt(d, kind == scheduling::Decision::Kind::error ? "error" : "unschedulable",
                              d.took + took);
  Task<> report = report_failure(std::move(d), permitted);
  co_await std::move(report);
}

Task<Result<>> Writer::send_binding(const scheduling::Decision& d) {
  nanoseconds pause = kFirstPause;
  for (int n = 1;; ++n, pause *= 2) {
    // A lease that was not renewed in time may be renewed yet: the pod is tried again then.
    if (!services_.may_write()) co_return Error(Code::unavailable, kMayNot);
    kube::ObjectKey key{d.pod->metadata.namespace_.str(), d.pod->metadata.name};
    Result<> sent =
        co_await services_.client.bind(key, d.pod->metadata.uid, d.node.str(), services_.may_write);
    if (sent) co_return sent;
    Code code = sent.error().code();
    if (code == Code::conflict || code == Code::already_exists) co_return co_await is_bound(d, sent.error());
    if (!unknown_outcome(code) || n == kTries) co_return sent;
    KOORD_CO_CHECK(co_await sleep(services_.clock, pause));
  }
}

/// After a conflict: success if the pod is on the node that we wanted, by an earlier try of ours.
Task<Result<>> Writer::is_bound(const scheduling::Decision& d, Error conflict) {
  kube::ObjectKey key{d.pod->metadata.namespace_.str(), d.pod->metadata.name};
  Result<std::string> text = co_await services_.client.get_raw(api::kind<api::Pod>(), key);
  if (!text) co_return conflict;
  Result<api::Pod> pod = api::decode<api::Pod>(*text);
  if (pod && pod->metadata.uid == d.pod->metadata.uid && pod->spec.node_name == d.node) co_return Result<>();
  co_return conflict;
}

Task<> Writer::report_failure(scheduling::Decision d, bool permitted) {
  record(d, kube::EventType::warning, "FailedScheduling", "Scheduling", d.message);
  const std::string_view reason = d.kind == scheduling::Decision::Kind::error   ? "SchedulerError"
                                  : d.kind == scheduling::Decision::Kind::gated ? "SchedulingGated"
                                                                                : "Unschedulable";
  const std::shared_ptr<const api::Pod> pod = services_.latest(*d.pod);
  if (pod && pod->spec.node_name.empty()) {
    Task<> patched =
        patch_status(*pod, failure_patch(*pod, {reason, d.message, d.nominate, services_.clock.now()}));
    co_await std::move(patched);
  }
  if (permitted) services_.done();
}

Task<> Writer::patch_status(const api::Pod& pod, std::optional<api::Patch> patch) {
  if (!patch || !services_.may_write()) co_return;
  const kube::ObjectKey key{pod.metadata.namespace_.str(), pod.metadata.name};
  kube::PatchOptions options;
  options.type = api::PatchType::strategic;
  options.subresource = "status";
  options.may_go = services_.may_write;
  const Result<std::string> done =
      co_await services_.client.patch_raw(api::kind<api::Pod>(), key, patch->body, options);
  if (!done && done.error().code() != Code::not_found && done.error().code() != Code::cancelled)
    services_.log.warn("could not patch a pod's status", kv("namespace", key.ns), kv("pod", key.name),
                       kv("error", done.error()));
}

void Writer::record(const scheduling::Decision& d, kube::EventType type, std::string_view reason,
                    std::string_view action, std::string_view note) {
  if (!services_.may_write()) return;
  kube::EventRecord event;
  event.regarding = kube::event_object(*d.pod);
  event.type = type;
  event.reason = reason;
  event.action = action;
  event.note = note;
  event.repeats = d.kind != scheduling::Decision::Kind::bind;
  services_.events(d.profile).record(event);
}

}  // namespace koord::scheduler
