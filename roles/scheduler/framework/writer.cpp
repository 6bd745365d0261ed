// Writer: see writer.hpp.
#include "framework/writer.hpp"

#include <fmt/format.h>

#include "framework/pod_status.hpp"
#include "framework/verdict.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/async/timer.hpp"
#include "koord/kube/client.hpp"

namespace koord::scheduler {

namespace {

constexpr int kTries = 5;
constexpr nanoseconds kFirstPause = std::chrono::milliseconds(100);

constexpr const char* kMayNot = "another scheduler may hold the lease";

/// Whether the server may have acted although we were told of a failure.
bool unknown_outcome(Code code) {
  return code == Code::timeout || code == Code::unavailable || code == Code::server_error;
}

}  // namespace

Writer::Writer(asio::any_io_executor executor, Services services)
    : services_(std::move(services)), tasks_(std::move(executor), log_failures(services_.log)) {}

void Writer::write(Decision d) {
  switch (d.kind) {
    case Decision::Kind::bind: return tasks_.spawn("bind", bind(std::move(d)));
    case Decision::Kind::unschedulable:
      services_.telemetry.attempt(d, "unschedulable", d.took);
      return tasks_.spawn("report", report_failure(std::move(d), "Unschedulable"));
    case Decision::Kind::error:
      services_.telemetry.attempt(d, "error", d.took);
      return tasks_.spawn("report", report_failure(std::move(d), "SchedulerError"));
    case Decision::Kind::skip:
      record(d, kube::EventType::warning, "FailedScheduling", "Scheduling", d.message);
      return services_.done();
  }
}

Task<> Writer::stop(nanoseconds grace) {
  Task<Result<>> join = tasks_.join();
  (void)co_await with_timeout(services_.clock, grace, std::move(join));
  co_await tasks_.stop(services_.clock, nanoseconds::zero());
}

Task<> Writer::bind(Decision d) {
  MonoTime start = services_.clock.mono();
  Result<> sent = co_await send_binding(d);
  MonoTime now = services_.clock.mono();
  services_.telemetry.bind_call(d, sent ? "Success" : "Error", now - start);
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
    services_.done();
    co_return;
  }
  if (sent.error().code() == Code::cancelled) co_return;  // the end; the watch will tell
  services_.log.v(1, "binding failed", kv("namespace", meta.namespace_.view()), kv("pod", meta.name),
                  kv("node", d.node.view()), kv("error", sent.error()));
  services_.binding_failed(d.pod);
  d.kind = Decision::Kind::error;
  d.message = fmt::format("running Bind plugin \"DefaultBinder\": {}", sent.error().message());
  services_.telemetry.attempt(d, "error", d.took + (now - start));
  Task<> report = report_failure(std::move(d), "SchedulerError");
  co_await std::move(report);
}

Task<Result<>> Writer::send_binding(const Decision& d) {
  nanoseconds pause = kFirstPause;
  for (int n = 1;; ++n, pause *= 2) {
    // A lease that was not renewed in time may be renewed yet: the pod is tried again then.
    if (!services_.may_write()) co_return Error(Code::unavailable, kMayNot);
    kube::ObjectKey key{d.pod->metadata.namespace_.str(), d.pod->metadata.name};
    Result<> sent = co_await services_.client.bind(key, d.pod->metadata.uid, d.node.str());
    if (sent) co_return sent;
    Code code = sent.error().code();
    if (code == Code::conflict || code == Code::already_exists) co_return co_await is_bound(d, sent.error());
    if (!unknown_outcome(code) || n == kTries) co_return sent;
    KOORD_CO_CHECK(co_await sleep(services_.clock, pause));
  }
}

/// After a conflict: success if the pod is on the node that we wanted, by an earlier try of ours.
Task<Result<>> Writer::is_bound(const Decision& d, Error conflict) {
  kube::ObjectKey key{d.pod->metadata.namespace_.str(), d.pod->metadata.name};
  Result<std::string> text = co_await services_.client.get_raw(api::kind<api::Pod>(), key);
  if (!text) co_return conflict;
  Result<api::Pod> pod = api::decode<api::Pod>(*text);
  if (pod && pod->metadata.uid == d.pod->metadata.uid && pod->spec.node_name == d.node) co_return Result<>();
  co_return conflict;
}

Task<> Writer::report_failure(Decision d, std::string_view reason) {
  record(d, kube::EventType::warning, "FailedScheduling", "Scheduling", d.message);
  std::shared_ptr<const api::Pod> pod = services_.latest(*d.pod);
  if (pod && pod->spec.node_name.empty() && services_.may_write()) {
    std::optional<api::Patch> patch = failure_patch(*pod, reason, d.message, services_.clock.now());
    if (patch) {
      kube::ObjectKey key{pod->metadata.namespace_.str(), pod->metadata.name};
      kube::PatchOptions options;
      options.type = api::PatchType::strategic;
      options.subresource = "status";
      Result<std::string> done =
          co_await services_.client.patch_raw(api::kind<api::Pod>(), key, patch->body, options);
      if (!done && done.error().code() == Code::cancelled) co_return;
      if (!done && done.error().code() != Code::not_found)
        services_.log.warn("could not set a pod's condition", kv("namespace", key.ns), kv("pod", key.name),
                           kv("error", done.error()));
    }
  }
  services_.done();
}

void Writer::record(const Decision& d, kube::EventType type, std::string_view reason, std::string_view action,
                    std::string_view note) {
  if (!services_.may_write()) return;
  kube::EventRecord event;
  event.regarding = kube::event_object(*d.pod);
  event.type = type;
  event.reason = reason;
  event.action = action;
  event.note = note;
  event.repeats = d.kind != Decision::Kind::bind;
  services_.events(d.profile).record(event);
}

}  // namespace koord::scheduler
