// The calls: see calls.hpp.
#include "cri/calls.hpp"

#include "koord/rpc/cri.hpp"
#include "koord/rpc/server.hpp"
#include "merge/merge.hpp"

namespace koord::proxy {

namespace {

namespace cri = rpc::cri;
using rpc::Reply;
using rpc::Request;
using Stage = rpc::hooks::Stage;

/// As a server says it that reads every message, which this one does where somebody insists on a say.
Reply unreadable(const Error& error) { return Reply::failed(rpc::StatusCode::internal, error.message()); }

Reply refused(const Error& error) {
  const auto code = error.code() == Code::cancelled ? rpc::StatusCode::cancelled : rpc::StatusCode::unknown;
  return Reply::failed(code, error.message());
}

}  // namespace

void Calls::handle_on(rpc::Server& server) {
  const auto handle = [&](std::string_view method, Task<Reply> (Calls::*call)(Request)) {
    server.handle(std::string(method),
                  [this, call](Request request) { return (this->*call)(std::move(request)); });
  };
  handle(cri::method::kRunPodSandbox, &Calls::run_pod_sandbox);
  handle(cri::method::kStopPodSandbox, &Calls::stop_pod_sandbox);
  handle(cri::method::kRemovePodSandbox, &Calls::remove_pod_sandbox);
  handle(cri::method::kCreateContainer, &Calls::create_container);
  handle(cri::method::kStartContainer, &Calls::start_container);
  handle(cri::method::kUpdateContainerResources, &Calls::update_container_resources);
  handle(cri::method::kStopContainer, &Calls::stop_container);
  handle(cri::method::kRemoveContainer, &Calls::remove_container);
}

bool Calls::skips(const rpc::hooks::Map& labels) const {
  return has(labels, parts_.options.skip_key, parts_.options.skip_value);
}

/// Of what the back end does not know it says so itself.
Result<> Calls::cannot_ask(Stage stage, const Error& why) {
  if (why.code() == Code::not_found) return {};
  if (why.code() == Code::cancelled) return why;
  return parts_.hooks.cannot_ask(stage, why);
}

Task<Result<std::optional<Calls::Known>>> Calls::asked_about(Stage stage, std::string_view id,
                                                             const Caller& caller) {
  if (!parts_.hooks.asks(stage)) co_return std::nullopt;
  const auto unknown = [&](const Error& why) -> Result<std::optional<Known>> {
    KOORD_CHECK(cannot_ask(stage, why));
    return std::nullopt;
  };
  auto container = co_await parts_.back_end.container(std::string(id), caller);
  if (!container) co_return unknown(container.error());
  auto pod = co_await parts_.back_end.pod((*container)->sandbox, caller);
  if (!pod) {
    // The container is there: that nobody knows its sandbox is no reason to go without hooks.
    const Code code = pod.error().code() == Code::cancelled ? Code::cancelled : Code::unavailable;
    co_return unknown(Error(code, pod.error().message()).context((*container)->sandbox));
  }
  if ((*container)->stopped || skips((*pod)->pod.labels)) co_return std::nullopt;
  co_return Known{.container = std::move(*container), .pod = std::move(*pod)};
}

Task<Reply> Calls::run_pod_sandbox(Request request) {
  const Caller caller(parts_.clock, request);
  auto message = cri::RunPodSandbox::read(request.message);
  PodEntry entry;
  if (message) {
    entry.pod = message->asked();
    if (parts_.hooks.asks(Stage::pre_run_pod_sandbox) && !skips(entry.pod.labels)) {
      const rpc::hooks::PodRequest asked = entry.pod;
      const auto said = co_await parts_.hooks.ask(Stage::pre_run_pod_sandbox, entry.pod, caller.left());
      if (!said) co_return refused(said.error());
      if (const cri::PodChange change = difference(asked, entry.pod); !change.empty()) {
        message->apply(change);
        request.message = message->bytes();
      }
    }
  } else if (parts_.hooks.insists(Stage::pre_run_pod_sandbox)) {
    co_return unreadable(message.error());
  }
  Reply reply = co_await parts_.back_end.forward(std::move(request), caller);
  if (reply.status.ok() && message)
    if (const auto id = cri::read_id(reply.message)) parts_.store.put(*id, std::move(entry));
  co_return reply;
}

Task<Reply> Calls::stop_pod_sandbox(Request request) {
  const Caller caller(parts_.clock, request);
  const auto id = cri::read_id(request.message);
  PodPtr pod;
  if (id) {
    pod = parts_.store.pod(*id);
    if (!pod && parts_.hooks.asks(Stage::post_stop_pod_sandbox)) {
      // It cannot be asked when it is no more.
      if (auto asked = co_await parts_.back_end.pod(*id, caller)) pod = std::move(*asked);
    }
  }
  Reply reply = co_await parts_.back_end.forward(std::move(request), caller);
  if (!reply.status.ok() || !pod || pod->stopped) co_return reply;
  PodEntry stopped = *pod;
  stopped.stopped = true;
  parts_.store.replace(*id, std::move(stopped));
  if (!parts_.hooks.asks(Stage::post_stop_pod_sandbox) || skips(pod->pod.labels)) co_return reply;
  rpc::hooks::PodRequest asked = pod->pod;
  (void)co_await parts_.hooks.ask(Stage::post_stop_pod_sandbox, asked, caller.left());
  co_return reply;
}

Task<Reply> Calls::remove_pod_sandbox(Request request) {
  const Caller caller(parts_.clock, request);
  const auto id = cri::read_id(request.message);
  Reply reply = co_await parts_.back_end.forward(std::move(request), caller);
  if (reply.status.ok() && id) parts_.store.remove_pod(*id);
  co_return reply;
}

Task<Reply> Calls::create_container(Request request) {
  constexpr Stage kStage = Stage::pre_create_container;
  const Caller caller(parts_.clock, request);
  auto message = cri::CreateContainer::read(request.message);
  if (!message) {
    if (parts_.hooks.insists(kStage)) co_return unreadable(message.error());
    co_return co_await parts_.back_end.forward(std::move(request), caller);
  }
  ContainerEntry entry;
  entry.sandbox = message->sandbox_id();
  rpc::hooks::ContainerRequest now = message->asked();
  PodPtr pod = parts_.store.pod(entry.sandbox);
  if (parts_.hooks.asks(kStage)) {
    if (!pod) {
      auto asked = co_await parts_.back_end.pod(entry.sandbox, caller);
      if (asked)
        pod = std::move(*asked);
      else if (const auto may = cannot_ask(kStage, asked.error()); !may)
        co_return refused(may.error());
    }
    if (pod && !skips(pod->pod.labels)) {
      now.pod = pod->pod.meta;
      now.pod_labels = pod->pod.labels;
      now.pod_annotations = pod->pod.annotations;
      now.pod_resources = pod->pod.resources;
      const rpc::hooks::ContainerRequest asked = now;
      const auto said = co_await parts_.hooks.ask(kStage, now, caller.left());
      if (!said) co_return refused(said.error());
      if (const cri::ContainerChange change = difference(asked, now); !change.empty()) {
        message->apply(change);
        request.message = message->bytes();
      }
    }
  }
  Reply reply = co_await parts_.back_end.forward(std::move(request), caller);
  if (!reply.status.ok()) co_return reply;
  if (const auto id = cri::read_id(reply.message)) {
    entry.meta = now.meta;
    entry.meta.id = *id;
    entry.env.emplace();
    take(entry, std::move(now));
    parts_.store.put(*id, std::move(entry));
  }
  co_return reply;
}

Task<Reply> Calls::start_container(Request request) {
  const Caller caller(parts_.clock, request);
  const auto id = cri::read_id(request.message);
  std::optional<Known> known;
  if (id) {
    auto before = co_await asked_about(Stage::pre_start_container, *id, caller);
    if (!before) co_return refused(before.error());
    known = std::move(*before);
    if (!known && !parts_.hooks.asks(Stage::pre_start_container)) {
      auto after = co_await asked_about(Stage::post_start_container, *id, caller);
      if (!after) co_return refused(after.error());
      known = std::move(*after);
    }
  } else if (parts_.hooks.insists(Stage::pre_start_container)) {
    co_return unreadable(id.error());
  }
  rpc::hooks::ContainerRequest asked;
  if (known) {
    asked = request_of(*known->container, known->pod.get());
    const auto said = co_await parts_.hooks.ask(Stage::pre_start_container, asked, caller.left());
    if (!said) co_return refused(said.error());
  }
  Reply reply = co_await parts_.back_end.forward(std::move(request), caller);
  if (!reply.status.ok() || !known) co_return reply;
  ContainerEntry started = *known->container;
  take(started, asked);
  if (started != *known->container) parts_.store.replace(*id, std::move(started));
  if (parts_.hooks.asks(Stage::post_start_container))
    (void)co_await parts_.hooks.ask(Stage::post_start_container, asked, caller.left());
  co_return reply;
}

Task<Reply> Calls::update_container_resources(Request request) {
  constexpr Stage kStage = Stage::pre_update_container_resources;
  const Caller caller(parts_.clock, request);
  auto message = cri::UpdateContainerResources::read(request.message);
  if (!message) {
    if (parts_.hooks.insists(kStage)) co_return unreadable(message.error());
    co_return co_await parts_.back_end.forward(std::move(request), caller);
  }
  const std::string id(message->container_id());
  auto known = co_await asked_about(kStage, id, caller);
  if (!known) co_return refused(known.error());
  ContainerPtr container = *known ? (*known)->container : parts_.store.container(id);
  if (!container) co_return co_await parts_.back_end.forward(std::move(request), caller);

  rpc::hooks::ContainerRequest now = request_of(*container, *known ? (*known)->pod.get() : nullptr);
  if (const auto wanted = message->resources()) {
    if (!now.resources) now.resources.emplace();
    merge_update(*now.resources, *wanted);
  }
  merge_map(now.annotations, message->annotations());
  if (*known) {
    const rpc::hooks::ContainerRequest asked = now;
    const auto said = co_await parts_.hooks.ask(kStage, now, caller.left());
    if (!said) co_return refused(said.error());
    if (const cri::ContainerChange change = difference(asked, now);
        !change.resources.empty() || !change.annotations.empty()) {
      message->apply(change);
      request.message = message->bytes();
    }
  }
  Reply reply = co_await parts_.back_end.forward(std::move(request), caller);
  if (reply.status.ok()) {
    ContainerEntry updated = *container;
    take(updated, std::move(now));
    parts_.store.replace(id, std::move(updated));
  }
  co_return reply;
}

Task<Reply> Calls::stop_container(Request request) {
  const Caller caller(parts_.clock, request);
  const auto id = cri::read_id(request.message);
  std::optional<Known> known;
  if (id)  // after the stop, nothing is refused
    if (auto asked = co_await asked_about(Stage::post_stop_container, *id, caller)) known = std::move(*asked);
  Reply reply = co_await parts_.back_end.forward(std::move(request), caller);
  if (!reply.status.ok() || !id) co_return reply;
  if (const ContainerPtr container = parts_.store.container(*id); container && !container->stopped) {
    ContainerEntry stopped = *container;
    stopped.stopped = true;
    parts_.store.replace(*id, std::move(stopped));
  }
  if (!known) co_return reply;
  rpc::hooks::ContainerRequest asked = request_of(*known->container, known->pod.get());
  (void)co_await parts_.hooks.ask(Stage::post_stop_container, asked, caller.left());
  co_return reply;
}

Task<Reply> Calls::remove_container(Request request) {
  const Caller caller(parts_.clock, request);
  const auto id = cri::read_id(request.message);
  Reply reply = co_await parts_.back_end.forward(std::move(request), caller);
  if (reply.status.ok() && id) parts_.store.remove_container(*id);
  co_return reply;
}

}  // namespace koord::proxy
