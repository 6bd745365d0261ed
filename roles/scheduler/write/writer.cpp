// Writer: see writer.hpp.
#include "write/writer.hpp"

#include <fmt/format.h>

#include "extenders/extender_calls.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/async/timer.hpp"
#include "koord/kube/client.hpp"
#include "koord/scheduling/cluster/transforms.hpp"
#include "koord/scheduling/plugin/patch_placed.hpp"
#include "koord/scheduling/plugin/verdict.hpp"
#include "write/placed.hpp"

namespace koord::scheduler {

using scheduling::Decision;

namespace {

constexpr int kTries = 5;
constexpr nanoseconds kFirstPause = std::chrono::milliseconds(100);

const Decision::Bind& binding_of(const Decision& d) { return std::get<Decision::Bind>(d.outcome); }

/// Whether the server may have acted although we were told of a failure.
bool unknown_outcome(Code code) {
  return code == Code::timeout || code == Code::unavailable || code == Code::server_error;
}

scheduling::Status failed(std::string message) { return {scheduling::StatusCode::error, std::move(message)}; }

std::string being_deleted(std::string_view word) { return fmt::format("{} is being deleted", word); }

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
      if (!d.preemption().victims.empty() || !d.preemption().nominations.empty())
        return preempt(std::move(d));
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
  if (Placed(parts_.role, *d.pod).pod() == nullptr) co_return;
  record(d, kube::EventType::normal, "WaitingForBinding", "Binding",
         fmt::format("assumed on {}, {}", d.node().view(), waits));
}

Task<> Writer::nominate(const Decision& d) {
  const std::optional<Symbol> node = d.nominate();
  if (!node || !parts_.role.may_write()) co_return;
  const Placed placed(parts_.role, *d.pod);
  const std::shared_ptr<const api::Pod> pod = placed.pod();
  if (!pod || !pod->spec.node_name.empty()) co_return;
  const auto ended = std::make_shared<Event>();
  nominating_[pod->metadata.uid] = ended;
  Task<Result<>> telling = tell(parts_, d.pod, [&node](const scheduling::PlacedKind& kind, const void* now) {
    return kind.nominated(now, *node);
  });
  told(placed, co_await std::move(telling));
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
  kube::Object written;
  if (prepares) {
    std::vector<std::string_view> names;
    const Decision::Bind& todo = binding_of(d);
    names.reserve(todo.pre_binds.size() + 1);
    for (const Decision::PreBind& p : todo.pre_binds) names.push_back(p.plugin);
    if (todo.changes) names.push_back(todo.patches);
    watch(d, fmt::format("waiting for what {} is doing before the binding", fmt::join(names, ", ")));
    const scheduling::Status status = co_await pre_bind(d, written);
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
  std::optional<scheduling::Status> bound;
  if (elsewhere) {
    auto binding = parts_.extenders->bind(d.pod, node, parts_.may_go());
    if (auto said = co_await std::move(binding))
      bound = *said ? scheduling::Status{} : failed(said->error().message());
  }
  if (!bound) {
    Task<scheduling::Status> binding = carry_out(d, std::move(written));
    bound = co_await std::move(binding);
  }
  const auto state = co_await asio::this_coro::cancellation_state;
  if (!bound->ok() && state.cancelled() != asio::cancellation_type::none)
    co_return;  // the end; the watch will tell
  // What the watch has told by now counts for more than an answer that was lost.
  if (!bound->ok())
    if (const auto known = Placed(parts_.role, *d.pod).pod(); known && known->spec.node_name == node)
      bound.emplace();
  const MonoTime now = parts_.clock.mono();
  parts_.telemetry.bind_call(d, bound->ok() ? "Success" : "Error", now - began);
  const scheduling::PlacedName name = scheduling::placed_name(*d.pod);
  if (bound->ok()) {
    parts_.telemetry.attempt(d, "scheduled", d.took + (now - start));
    parts_.telemetry.bound(d, now);
    if (parts_.log.enabled(2))
      parts_.log.v(2, fmt::format("{} bound", name.word), kv("namespace", name.ns), kv(name.word, name.name),
                   kv("node", node.view()));
    record(d, kube::EventType::normal, "Scheduled", "Binding",
           fmt::format("Successfully assigned {} to {}", scheduling::text(name), node.view()));
    if (const std::string what = parts_.role.unserved(d.profile, *d.pod); !what.empty())
      record(d, kube::EventType::warning, "NotServed", "Binding", fmt::format("bound without it: {}", what));
    if (d.tells_end()) parts_.role.binding_ended(d.pod, true);
    if (permitted) parts_.role.done();
    co_return;
  }
  parts_.log.v(1, "binding failed", kv("namespace", name.ns), kv(name.word, name.name),
               kv("node", node.view()), kv("error", bound->message));
  Decision::Outcome outcome = Decision::Failed{bound->message, Symbol()};
  if (bound->rejected()) outcome = Decision::Unschedulable{bound->message, Symbol(), {}};
  Task<> ended = bind_failed(std::move(d), std::move(outcome), now - start, permitted);
  co_await std::move(ended);
}

Task<scheduling::Status> Writer::pre_bind(const Decision& d, kube::Object& written) {
  Task<> told = nominate(d);
  co_await std::move(told);
  const Decision::Bind& bind = binding_of(d);
  for (const Decision::PreBind& p : bind.pre_binds) {
    if (!parts_.role.may_write()) co_return failed(scheduling::kMayNotWrite);
    const scheduling::PreBindWork::Context context = work_context(parts_, d.pod, bind.node);
    Task<scheduling::Status> run = p.work->run(context);
    scheduling::Status status = co_await std::move(run);
    if (status.ok()) continue;
    if (!status.rejected())
      status = failed(fmt::format("running PreBind plugin \"{}\": {}", p.plugin, status.message));
    co_return status;
  }
  // After the others: where one of them fails, the pod does not say that it has what it would have had.
  const auto in_vain = [&](const Error& error) {
    return failed(fmt::format("running PreBindExtension plugin \"{}\": {}", bind.patches, error.message()));
  };
  if (!bind.changes) co_return scheduling::Status{};
  const scheduling::PodChanges& changes = *bind.changes;
  if (!changes.scheduling::PodPatch::empty()) {
    Task<Result<kube::Object>> patch = patch_pod(d.pod, changes);
    Result<kube::Object> patched = co_await std::move(patch);
    if (!patched) co_return in_vain(patched.error());
    written = *std::move(patched);
  }
  for (const auto& [other, change] : changes.others) {
    const Placed placed(parts_.role, *other);
    if (!placed.now() || placed.is_going()) continue;
    Task<Result<kube::Object>> patch = patch_pod(other, change);
    const Result<kube::Object> patched = co_await std::move(patch);
    if (!patched && patched.error().code() != Code::not_found)
      co_return in_vain(patched.error().context(scheduling::described(*other)));
  }
  co_return scheduling::Status{};
}

scheduling::Status Writer::checked(const Decision& d) const {
  if (!parts_.checks_pods) return {};
  const Placed placed(parts_.role, *d.pod);
  const scheduling::PlacedName& name = placed.name();
  if (!placed.now()) return failed(fmt::format("{} \"{}\" not found", name.word, name.name));
  const std::shared_ptr<const api::Pod> pod = placed.pod();
  if (!pod) return failed(fmt::format("{} wants no place any more", scheduling::described(*d.pod)));
  if (scheduling::meant_for(*pod) != d.profile) return failed("schedulerName unmatched");
  if (placed.is_going()) return failed(being_deleted(name.word));
  return {};
}

/// The object as it is then; nullptr: it was so already.
Task<Result<kube::Object>> Writer::patch_pod(std::shared_ptr<const api::Pod> pod,
                                             const scheduling::PodPatch& wanted) {
  const Placed placed(parts_.role, *pod);
  const scheduling::PlacedKind& kind = placed.kind();
  const auto change = [&](const kube::Object& now) -> Result<std::optional<scheduling::ObjectPatch>> {
    std::optional<scheduling::ObjectPatch> patch = kind.changed(now.get(), wanted);
    // The server refuses it for another one of the name that was made since.
    if (patch) patch->patch = std::move(patch->patch).with_precondition({.uid = pod->metadata.uid});
    return patch;
  };
  // As often as Koordinator (client-go's default backoff).
  Task<Result<std::string>> patch =
      scheduling::patch_placed(work_context(parts_, pod), kind, change, scheduling::PatchEffort{});
  KOORD_CO_TRY(text, co_await std::move(patch));
  if (text.empty()) co_return kube::Object();
  std::shared_ptr<void> patched = kind.type().make();
  if (!api::decode(text, kind.type().schema(), patched.get())) co_return kube::Object();
  // The server may take the patch of a pod that is going, and change nothing.
  if (kind.type().meta(patched.get()).deletion_timestamp)
    co_return Error(Code::conflict, being_deleted(kind.word()));
  co_return kube::Object(std::move(patched));
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

Task<scheduling::Status> Writer::carry_out(const Decision& d, kube::Object written) {
  const Decision::Bind& bind = binding_of(d);
  if (bind.binder.empty() || (!bind.binding && scheduling::is_placeholder(*d.pod)))
    co_return failed(
        fmt::format("no Bind plugin of profile {} binds {}", d.profile, scheduling::described(*d.pod)));
  scheduling::Status status;
  if (bind.binding) {
    scheduling::PreBindWork::Context context = work_context(parts_, d.pod, bind.node);
    if (written)
      // What was written a moment ago is not known by the watch yet.
      context.find = [written, name = scheduling::placed_name(*d.pod), known = std::move(context.find),
                      kind = parts_.role.placed().of(*d.pod)](const kube::ObjectType& type,
                                                              std::string_view ns, std::string_view object) {
        const bool it = kind != nullptr && &type == &kind->type() && ns == name.ns && object == name.name;
        return it ? written : known(type, ns, object);
      };
    Task<scheduling::Status> run = bind.binding->run(context);
    status = co_await std::move(run);
  } else {
    Task<Result<>> sending = send_binding(d);
    if (const Result<> sent = co_await std::move(sending); !sent) status = failed(sent.error().message());
  }
  if (!status.ok() && !status.rejected())
    status = failed(fmt::format("running Bind plugin \"{}\": {}", bind.binder, status.message));
  co_return status;
}

Task<Result<>> Writer::send_binding(const Decision& d) {
  nanoseconds pause = kFirstPause;
  for (int n = 1;; ++n, pause *= 2) {
    // A lease that was not renewed in time may be renewed yet: the pod is tried again then.
    if (!parts_.role.may_write()) co_return Error(Code::unavailable, scheduling::kMayNotWrite);
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
  for (const scheduling::FailureEventPlugin::Event& each :
       parts_.role.also_told(d.profile, *d.pod, d.message()))
    record(d, kube::EventType::warning, each.reason, "Scheduling", each.note);
  const Decision::Gated* const gated = d.as<Decision::Gated>();
  const std::string_view reason = d.as<Decision::Failed>()                    ? "SchedulerError"
                                  : gated != nullptr && !gated->unschedulable ? "SchedulingGated"
                                                                              : "Unschedulable";
  const Placed placed(parts_.role, *d.pod);
  const std::shared_ptr<const api::Pod> pod = placed.pod();
  if (pod && pod->spec.node_name.empty() && parts_.role.may_write()) {
    const scheduling::AttemptFailure failure{reason, d.message(), d.nominate(), parts_.clock.now()};
    Task<Result<>> telling =
        tell(parts_, d.pod, [&failure](const scheduling::PlacedKind& kind, const void* now) {
          return kind.failed(now, failure);
        });
    told(placed, co_await std::move(telling));
  }
  if (permitted) parts_.role.done();
}

/// One that is gone, and a failure that is only told, are nothing.
void Writer::told(const Placed& placed, const Result<>& done) const {
  if (done || done.error().code() == Code::not_found || done.error().code() == Code::cancelled) return;
  const scheduling::PlacedName& name = placed.name();
  parts_.log.warn(fmt::format("could not patch a {}'s status", name.word), kv("namespace", name.ns),
                  kv(name.word, name.name), kv("error", done.error()));
}

void Writer::record(const Decision& d, kube::EventType type, std::string_view reason, std::string_view action,
                    std::string_view note) {
  if (!parts_.role.may_write()) return;
  kube::EventRecord event;
  event.regarding = event_object(parts_.role, *d.pod);
  event.type = type;
  event.reason = reason;
  event.action = action;
  event.note = note;
  event.repeats = d.as<Decision::Bind>() == nullptr;
  parts_.role.events(d.profile).record(event);
}

}  // namespace koord::scheduler
