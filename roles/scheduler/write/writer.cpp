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

using scheduling::Decision;

namespace {

constexpr int kTries = 5;
constexpr nanoseconds kFirstPause = std::chrono::milliseconds(100);

// Of a pod's patch, as in Koordinator (client-go's default backoff).
constexpr int kPatchTries = 4;
constexpr nanoseconds kFirstPatchPause = std::chrono::milliseconds(10);

constexpr const char* kMayNot = "another scheduler may hold the lease";
constexpr const char* kBeingDeleted = "pod is being deleted";

const Decision::Bind& binding_of(const Decision& d) { return std::get<Decision::Bind>(d.outcome); }

/// Whether the server may have acted although we were told of a failure.
bool unknown_outcome(Code code) {
  return code == Code::timeout || code == Code::unavailable || code == Code::server_error;
}

}  // namespace

Writer::Writer(asio::any_io_executor executor, WriterParts parts)
    : parts_(std::move(parts)),
      tasks_(executor, log_failures(parts_.log)),
      watches_(std::move(executor), log_failures(parts_.log)),
      evictions_(tasks_, parts_) {}

void Writer::write(Decision d) {
  if (!waiting_.empty()) waiting_.erase(d.pod->metadata.uid);
  switch (d.kind()) {
    case Decision::Kind::bind: return tasks_.spawn("bind", bind(std::move(d)));
    case Decision::Kind::ask:
      // It takes as long as the extenders do, and uses up no permit.
      if (d.as<Decision::Ask>()->question) tasks_.spawn("ask", ask(std::move(d)));
      return parts_.role.done();
    case Decision::Kind::gated: return tasks_.spawn("report", report_failure(std::move(d), true));
    case Decision::Kind::wait:
      watch(d, fmt::format("waiting for a permit of {}", d.as<Decision::Wait>()->plugins));
      return tasks_.spawn("nominate", wait(std::move(d)));
    case Decision::Kind::unschedulable:
      parts_.telemetry.attempt(d, "unschedulable", d.took);
      if (!d.preemption().victims.empty()) return preempt(std::move(d));
      return tasks_.spawn("report", report_failure(std::move(d), true));
    case Decision::Kind::error:
      parts_.telemetry.attempt(d, "error", d.took);
      return tasks_.spawn("report", report_failure(std::move(d), true));
    case Decision::Kind::skip:
      record(d, kube::EventType::warning, "FailedScheduling", "Scheduling", d.message());
      return parts_.role.done();
  }
}

Task<> Writer::stop(nanoseconds grace) {
  co_await watches_.stop(parts_.clock, nanoseconds::zero());
  Task<Result<>> join = tasks_.join();
  (void)co_await with_timeout(parts_.clock, grace, std::move(join));
  co_await tasks_.stop(parts_.clock, nanoseconds::zero());
}

/// The victims go while the pod is told; its permit is given back when both is done.
void Writer::preempt(Decision d) {
  const auto shared = std::make_shared<const Decision>(std::move(d));
  evictions_.begin(shared, [this] { parts_.role.done(); });
  tasks_.spawn("report", report_failure(*shared, false));
}

Task<> Writer::wait(Decision d) {
  Task<> told = nominate(d);
  co_await std::move(told);
  parts_.role.done();
}

Task<> Writer::ask(Decision d) {
  Task<scheduling::ExtenderAnswer> asked = parts_.extenders->ask(d.pod, d.as<Decision::Ask>()->question);
  auto answer = std::make_shared<const scheduling::ExtenderAnswer>(co_await std::move(asked));
  parts_.role.answered(d.pod, std::move(answer));
}

/// kube-scheduler says nothing of such pods, however long they wait.
void Writer::watch(const Decision& d, std::string waits) {
  const auto still = std::make_shared<const bool>(true);
  waiting_[d.pod->metadata.uid] = still;
  Decision told;
  told.pod = d.pod;
  told.profile = d.profile;
  told.outcome = Decision::Bind{.node = d.node()};
  watches_.spawn("waiting", tell_waiting(std::move(told), std::move(waits), still));
}

Task<> Writer::tell_waiting(Decision d, std::string waits, std::weak_ptr<const bool> still) {
  if (!co_await sleep(parts_.clock, kTellWaiting) || still.expired()) co_return;
  waiting_.erase(d.pod->metadata.uid);
  if (parts_.role.latest(*d.pod) == nullptr) co_return;
  record(d, kube::EventType::normal, "WaitingForBinding", "Binding",
         fmt::format("assumed on {}, {}", d.node().view(), waits));
}

Task<> Writer::nominate(const Decision& d) {
  const std::shared_ptr<const api::Pod> pod = parts_.role.latest(*d.pod);
  const std::optional<Symbol>& node = d.nominate();
  if (!node || !pod || !pod->spec.node_name.empty()) co_return;
  const auto ended = std::make_shared<Event>();
  nominating_[pod->metadata.uid] = ended;
  Task<> patched = patch_status(*pod, nomination_patch(*pod, *node));
  co_await std::move(patched);
  const auto it = nominating_.find(pod->metadata.uid);
  if (it != nominating_.end() && it->second == ended) nominating_.erase(it);
  ended->set();
}

Task<> Writer::bind(Decision d) {
  const MonoTime start = parts_.clock.mono();
  const Symbol node = d.node();
  // What may take long uses up no permit.
  const bool elsewhere = parts_.extenders != nullptr && parts_.extenders->binds(*d.pod);
  const bool prepares = binding_of(d).prepares(), permitted = !prepares && !elsewhere;
  if (!permitted) parts_.role.done();
  if (const scheduling::Status refused = checked(d); !refused.ok()) {
    Task<> failed = bind_failed(std::move(d), Decision::Failed{refused.message, Symbol()}, {}, permitted);
    co_return co_await std::move(failed);
  }
  if (prepares) {
    std::vector<std::string_view> names;
    const Decision::Bind& todo = binding_of(d);
    names.reserve(todo.pre_binds.size() + 1);
    for (const Decision::PreBind& p : todo.pre_binds) names.push_back(p.plugin);
    if (!todo.changes.empty()) names.push_back(todo.patches);
    watch(d, fmt::format("waiting for what {} is doing before the binding", fmt::join(names, ", ")));
    const scheduling::Status status = co_await pre_bind(d);
    waiting_.erase(d.pod->metadata.uid);
    const nanoseconds took = parts_.clock.mono() - start;
    parts_.telemetry.pre_bind_call(d, label(status.code), took);
    if (!status.ok()) {
      Decision::Outcome outcome = Decision::Failed{status.message, Symbol()};
      if (status.rejected()) outcome = Decision::Unschedulable{status.message, Symbol(), {}};
      Task<> failed = bind_failed(std::move(d), std::move(outcome), took, permitted);
      co_return co_await std::move(failed);
    }
  }
  if (const auto it = nominating_.find(d.pod->metadata.uid); it != nominating_.end()) {
    const std::shared_ptr<Event> nominated = it->second;
    if (!co_await nominated->wait()) co_return;
  }
  const MonoTime began = parts_.clock.mono();
  bool by_extender = false;
  Result<> sent;
  if (elsewhere) {
    auto bound = parts_.extenders->bind(d.pod, node, parts_.may_go());
    if (auto said = co_await std::move(bound)) {
      by_extender = true;
      sent = std::move(*said);
    }
  }
  if (!by_extender) sent = co_await send_binding(d);
  // What the watch has told by now counts for more than an answer that was lost.
  if (!sent && sent.error().code() != Code::cancelled)
    if (const auto known = parts_.role.latest(*d.pod); known && known->spec.node_name == node) sent = {};
  const MonoTime now = parts_.clock.mono();
  parts_.telemetry.bind_call(d, sent ? "Success" : "Error", now - began);
  const api::ObjectMeta& meta = d.pod->metadata;
  if (sent) {
    parts_.telemetry.attempt(d, "scheduled", d.took + (now - start));
    parts_.telemetry.bound(d, now);
    if (parts_.log.enabled(2))
      parts_.log.v(2, "pod bound", kv("namespace", meta.namespace_.view()), kv("pod", meta.name),
                   kv("node", node.view()));
    const std::string note =
        fmt::format("Successfully assigned {}/{} to {}", meta.namespace_.view(), meta.name, node.view());
    record(d, kube::EventType::normal, "Scheduled", "Binding", note);
    if (const std::string what = parts_.role.unserved(d.profile, *d.pod); !what.empty())
      record(d, kube::EventType::warning, "NotServed", "Binding", fmt::format("bound without it: {}", what));
    if (d.tells_end()) parts_.role.binding_ended(d.pod, true);
    if (permitted) parts_.role.done();
    co_return;
  }
  if (sent.error().code() == Code::cancelled) co_return;  // the end; the watch will tell
  parts_.log.v(1, "binding failed", kv("namespace", meta.namespace_.view()), kv("pod", meta.name),
               kv("node", node.view()), kv("error", sent.error()));
  std::string message =
      by_extender ? sent.error().message()
                  : fmt::format("running Bind plugin \"DefaultBinder\": {}", sent.error().message());
  Task<> failed =
      bind_failed(std::move(d), Decision::Failed{std::move(message), Symbol()}, now - start, permitted);
  co_await std::move(failed);
}

Task<scheduling::Status> Writer::pre_bind(const Decision& d) {
  Task<> told = nominate(d);
  co_await std::move(told);
  const Decision::Bind& bind = binding_of(d);
  for (const Decision::PreBind& p : bind.pre_binds) {
    if (!parts_.role.may_write()) co_return scheduling::Status{scheduling::StatusCode::error, kMayNot};
    scheduling::PreBindWork::Context context{
        parts_.client,
        parts_.clock,
        parts_.may_go(),
        d.pod,
        bind.node,
        [&role = parts_.role](const kube::ObjectType& type, std::string_view ns, std::string_view name) {
          return role.find(type, ns, name);
        }};
    Task<scheduling::Status> run = p.work->run(context);
    scheduling::Status status = co_await std::move(run);
    if (status.ok()) continue;
    if (!status.rejected())
      status = {scheduling::StatusCode::error,
                fmt::format("running PreBind plugin \"{}\": {}", p.plugin, status.message)};
    co_return status;
  }
  // After the others: where one of them fails, the pod does not say that it has what it would have had.
  if (!bind.changes.empty())
    if (const Result<> patched = co_await patch_pod(d); !patched)
      co_return scheduling::Status{
          scheduling::StatusCode::error,
          fmt::format("running PreBindExtension plugin \"{}\": {}", bind.patches, patched.error().message())};
  co_return scheduling::Status{};
}

scheduling::Status Writer::checked(const Decision& d) const {
  if (!parts_.checks_pods) return {};
  const std::shared_ptr<const api::Pod> pod = parts_.role.latest(*d.pod);
  if (!pod) return {scheduling::StatusCode::error, fmt::format("pod \"{}\" not found", d.pod->metadata.name)};
  if (scheduling::meant_for(*pod) != d.profile)
    return {scheduling::StatusCode::error, "schedulerName unmatched"};
  if (pod->metadata.deletion_timestamp) return {scheduling::StatusCode::error, kBeingDeleted};
  return {};
}

Task<Result<>> Writer::patch_pod(const Decision& d) {
  const scheduling::PodChanges& changes = binding_of(d).changes;
  nanoseconds pause = kFirstPatchPause;
  for (int n = 1;; ++n, pause *= 5) {
    if (!parts_.role.may_write()) co_return Error(Code::unavailable, kMayNot);
    const std::shared_ptr<const api::Pod> now = parts_.role.latest(*d.pod);
    if (!now) co_return Error(Code::not_found, fmt::format("pod \"{}\" not found", d.pod->metadata.name));
    api::Pod after = *now;
    for (const auto& [key, value] : changes.labels) after.metadata.labels[key] = value;
    for (const auto& [key, value] : changes.annotations) after.metadata.annotations[key] = value;
    std::optional<api::Patch> change = api::diff(*now, after);
    if (!change) co_return Result<>();
    // The server refuses it for a pod of the same name that was made since.
    api::Patch patch = (*std::move(change)).with_precondition({.uid = now->metadata.uid});
    const kube::ObjectKey key{now->metadata.namespace_.str(), now->metadata.name};
    kube::PatchOptions options;
    options.type = patch.type;
    options.may_go = parts_.may_go();
    const Result<std::string> done =
        co_await parts_.client.patch_raw(api::kind<api::Pod>(), key, std::move(patch.body), options);
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
    KOORD_CO_CHECK(co_await sleep(parts_.clock, pause));
  }
}

/// Of a binding that did not come about.
Task<> Writer::bind_failed(Decision d, Decision::Outcome outcome, nanoseconds took, bool permitted) {
  parts_.role.binding_ended(d.pod, false);
  d.outcome = std::move(outcome);
  const bool error = d.as<Decision::Failed>() != nullptr;
  parts_.telemetry.attempt(d, error ? "error" : "unschedulable", d.took + took);
  Task<> report = report_failure(std::move(d), permitted);
  co_await std::move(report);
}

Task<Result<>> Writer::send_binding(const Decision& d) {
  nanoseconds pause = kFirstPause;
  for (int n = 1;; ++n, pause *= 2) {
    // A lease that was not renewed in time may be renewed yet: the pod is tried again then.
    if (!parts_.role.may_write()) co_return Error(Code::unavailable, kMayNot);
    kube::ObjectKey key{d.pod->metadata.namespace_.str(), d.pod->metadata.name};
    Result<> sent = co_await parts_.client.bind(key, d.pod->metadata.uid, d.node().str(), parts_.may_go());
    if (sent) co_return sent;
    Code code = sent.error().code();
    if (code == Code::conflict || code == Code::already_exists) co_return co_await is_bound(d, sent.error());
    if (!unknown_outcome(code) || n == kTries) co_return sent;
    KOORD_CO_CHECK(co_await sleep(parts_.clock, pause));
  }
}

/// After a conflict: success if the pod is on the node that we wanted, by an earlier try of ours.
Task<Result<>> Writer::is_bound(const Decision& d, Error conflict) {
  kube::ObjectKey key{d.pod->metadata.namespace_.str(), d.pod->metadata.name};
  Result<std::string> text = co_await parts_.client.get_raw(api::kind<api::Pod>(), key);
  if (!text) co_return conflict;
  Result<api::Pod> pod = api::decode<api::Pod>(*text);
  if (pod && pod->metadata.uid == d.pod->metadata.uid && pod->spec.node_name == d.node())
    co_return Result<>();
  co_return conflict;
}

Task<> Writer::report_failure(Decision d, bool permitted) {
  record(d, kube::EventType::warning, "FailedScheduling", "Scheduling", d.message());
  const std::string_view reason = d.as<Decision::Failed>()  ? "SchedulerError"
                                  : d.as<Decision::Gated>() ? "SchedulingGated"
                                                            : "Unschedulable";
  const std::shared_ptr<const api::Pod> pod = parts_.role.latest(*d.pod);
  if (pod && pod->spec.node_name.empty()) {
    Task<> patched =
        patch_status(*pod, failure_patch(*pod, {reason, d.message(), d.nominate(), parts_.clock.now()}));
    co_await std::move(patched);
  }
  if (permitted) parts_.role.done();
}

Task<> Writer::patch_status(const api::Pod& pod, std::optional<api::Patch> patch) {
  if (!patch || !parts_.role.may_write()) co_return;
  const kube::ObjectKey key{pod.metadata.namespace_.str(), pod.metadata.name};
  kube::PatchOptions options;
  options.type = api::PatchType::strategic;
  options.subresource = "status";
  options.may_go = parts_.may_go();
  const Result<std::string> done =
      co_await parts_.client.patch_raw(api::kind<api::Pod>(), key, patch->body, options);
  if (!done && done.error().code() != Code::not_found && done.error().code() != Code::cancelled)
    parts_.log.warn("could not patch a pod's status", kv("namespace", key.ns), kv("pod", key.name),
                    kv("error", done.error()));
}

void Writer::record(const Decision& d, kube::EventType type, std::string_view reason, std::string_view action,
                    std::string_view note) {
  if (!parts_.role.may_write()) return;
  kube::EventRecord event;
  event.regarding = kube::event_object(*d.pod);
  event.type = type;
  event.reason = reason;
  event.action = action;
  event.note = note;
  event.repeats = d.as<Decision::Bind>() == nullptr;
  parts_.role.events(d.profile).record(event);
}

}  // namespace koord::scheduler
