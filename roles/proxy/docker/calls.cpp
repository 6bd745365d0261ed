// The calls: see calls.hpp.
#include "docker/calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "koord/json/writer.hpp"
#include "merge/merge.hpp"

namespace koord::proxy::docker {

namespace {

using net::Request;
using net::Response;

constexpr std::size_t kMostBody = std::size_t{4} << 20, kMostSmallBody = std::size_t{256} << 10;
/// What docker may take for a call: drivers of volumes and networks are slow, and a container has its own
/// time to stop.
constexpr nanoseconds kPatience = std::chrono::minutes(15), kForEver = std::chrono::hours(24);

bool succeeded(const Response& response) { return response.status >= 200 && response.status < 300; }
/// Docker says that there was nothing to do: it is stopped, or it runs.
bool done(const Response& response) { return succeeded(response) || response.status == 304; }

nanoseconds patience_of_stop(const Request& request) {
  const std::string_view text = request.query_get("t");
  std::int64_t seconds = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (bad != std::errc() || end != text.data() + text.size()) return kPatience;
  if (seconds < 0 || seconds >= std::chrono::duration_cast<std::chrono::seconds>(kForEver).count())
    return kForEver;
  return kPatience + std::chrono::seconds(seconds);
}

}  // namespace

Response failure(unsigned status, std::string_view message) {
  std::string body;
  json::Writer(body).begin_object().member("message", message).end_object();
  body.push_back('\n');
  return Response::json(status, std::move(body));
}

std::optional<std::size_t> Calls::most_body(const Request& request) {
  switch (route_of(request.method, request.path).call) {
    case Call::other: return std::nullopt;
    case Call::create:
    case Call::update: return kMostBody;
    case Call::start:
    case Call::stop:
    case Call::remove: return kMostSmallBody;
  }
  return std::nullopt;
}

Task<Response> Calls::handle(Request request) {
  const Route route = route_of(request.method, request.path);
  std::string reference(route.container);  // the path goes with the request
  Result<Response> response;
  if (route.call == Call::create)
    response = co_await create(std::move(request));
  else if (route.call == Call::start)
    response = co_await start(std::move(request), std::move(reference));
  else if (route.call == Call::stop)
    response = co_await stop(std::move(request), std::move(reference));
  else if (route.call == Call::update)
    response = co_await update(std::move(request), std::move(reference));
  else if (route.call == Call::remove)
    response = co_await remove(std::move(request), std::move(reference));
  if (!response) co_return failure(500, response.error().message());
  co_return std::move(*response);
}

bool Calls::skips(const rpc::hooks::Map& labels) const {
  return has(labels, parts_.options.skip_key, parts_.options.skip_value);
}

/// Of what docker does not know it says so itself.
Result<> Calls::cannot_ask(Stage stage, const Error& why) {
  if (why.code() == Code::not_found) return {};
  if (why.code() == Code::cancelled) return why;
  return parts_.hooks.cannot_ask(stage, why);
}

Task<Result<std::optional<Calls::Known>>> Calls::asked_about(Stage stage, std::string reference) {
  if (!parts_.hooks.asks(stage)) co_return std::nullopt;
  const auto unknown = [&](const Error& why) -> Result<std::optional<Known>> {
    KOORD_CHECK(cannot_ask(stage, why));
    return std::nullopt;
  };
  auto found = co_await parts_.daemon.find(std::move(reference));
  if (!found) co_return unknown(found.error());
  if (!found->container) co_return std::nullopt;
  auto container = co_await parts_.daemon.whole(found->id, found->container);
  if (!container) co_return unknown(container.error());
  auto pod = co_await parts_.daemon.pod((*container)->sandbox);
  if (!pod) {
    // The container is there: that nobody knows its sandbox is no reason to go without hooks.
    const Code code = pod.error().code() == Code::cancelled ? Code::cancelled : Code::unavailable;
    co_return unknown(Error(code, pod.error().message()));
  }
  if (skips((*pod)->pod.labels)) co_return std::nullopt;
  co_return Known{.container = std::move(*container), .pod = std::move(*pod)};
}

Task<Result<Response>> Calls::create(Request request) {
  auto body = CreateBody::read(request.body);
  if (!body) {
    // It may be a sandbox's or a container's: what we cannot read Docker may.
    const Error why = body.error().context("the request's body");
    KOORD_CO_CHECK(cannot_ask(Stage::pre_run_pod_sandbox, why));
    KOORD_CO_CHECK(cannot_ask(Stage::pre_create_container, why));
  } else if (body->of_kubernetes()) {
    auto identity = body->identity(request.query_get("name"));
    if (identity && body->is_sandbox())
      co_return co_await create_sandbox(std::move(request), std::move(*body), std::move(*identity));
    if (identity)
      co_return co_await create_container(std::move(request), std::move(*body), std::move(*identity));
    KOORD_CO_CHECK(cannot_ask(body->is_sandbox() ? Stage::pre_run_pod_sandbox : Stage::pre_create_container,
                              identity.error()));
  }
  co_return co_await parts_.daemon.forward(std::move(request), kPatience);
}

Task<Result<Response>> Calls::create_sandbox(Request request, CreateBody body, Identity identity) {
  constexpr Stage kStage = Stage::pre_run_pod_sandbox;
  auto systemd = co_await parts_.daemon.systemd();
  if (!systemd) KOORD_CO_CHECK(cannot_ask(kStage, systemd.error()));
  PodEntry entry{.pod = body.pod(identity, systemd && *systemd)};
  if (systemd && parts_.hooks.asks(kStage) && !skips(entry.pod.labels)) {
    const rpc::hooks::PodRequest asked = entry.pod;
    KOORD_CO_CHECK(co_await parts_.hooks.ask(kStage, entry.pod, std::nullopt));
    const rpc::cri::PodChange change = difference(asked, entry.pod);
    const rpc::cri::ResourceChange resources = difference(asked.resources, entry.pod.resources);
    if (!change.empty() || !resources.empty()) {
      body.apply(change, resources, *systemd);
      request.body = body.text();
    }
  }
  KOORD_CO_TRY(response, co_await parts_.daemon.forward(std::move(request), kPatience));
  if (succeeded(response) && systemd)
    if (const auto id = read_created(response.body)) parts_.store.put(*id, std::move(entry));
  co_return std::move(response);
}

Task<Result<Response>> Calls::create_container(Request request, CreateBody body, Identity identity) {
  constexpr Stage kStage = Stage::pre_create_container;
  ContainerEntry entry;
  entry.sandbox = body.sandbox_id();
  auto systemd = co_await parts_.daemon.systemd();
  if (!systemd) KOORD_CO_CHECK(cannot_ask(kStage, systemd.error()));
  rpc::hooks::ContainerRequest now = body.container(identity, systemd && *systemd);
  if (systemd && parts_.hooks.asks(kStage)) {
    auto pod = co_await parts_.daemon.pod(entry.sandbox);
    if (!pod) {
      // Docker itself does not know what belongs to what: it would make the container.
      const Code code = pod.error().code() == Code::cancelled ? Code::cancelled : Code::unavailable;
      KOORD_CO_CHECK(
          cannot_ask(kStage, Error(code, fmt::format("Failed to get pod info: {}", pod.error().message()))));
    } else if (!skips((*pod)->pod.labels)) {
      now.pod = (*pod)->pod.meta;
      now.pod_labels = (*pod)->pod.labels;
      now.pod_annotations = (*pod)->pod.annotations;
      now.pod_resources = (*pod)->pod.resources;
      if (!(*pod)->pod.cgroup_parent.empty()) now.pod_cgroup_parent = (*pod)->pod.cgroup_parent;
      const rpc::hooks::ContainerRequest asked = now;
      KOORD_CO_CHECK(co_await parts_.hooks.ask(kStage, now, std::nullopt));
      if (const rpc::cri::ContainerChange change = difference(asked, now); !change.empty()) {
        body.apply(change, *systemd);
        request.body = body.text();
      }
    }
  }
  KOORD_CO_TRY(response, co_await parts_.daemon.forward(std::move(request), kPatience));
  if (!succeeded(response) || !systemd) co_return std::move(response);
  if (const auto id = read_created(response.body)) {
    entry.meta = now.meta;
    entry.meta.id = *id;
    entry.env.emplace();
    take(entry, std::move(now));
    parts_.store.put(*id, std::move(entry));
  }
  co_return std::move(response);
}

Task<Result<Response>> Calls::start(Request request, std::string reference) {
  const Stage first = parts_.hooks.asks(Stage::pre_start_container) ? Stage::pre_start_container
                                                                    : Stage::post_start_container;
  KOORD_CO_TRY(known, co_await asked_about(first, reference));
  rpc::hooks::ContainerRequest asked;
  if (known) {
    asked = request_of(*known->container, known->pod.get());
    KOORD_CO_CHECK(co_await parts_.hooks.ask(Stage::pre_start_container, asked, std::nullopt));
  }
  KOORD_CO_TRY(response, co_await parts_.daemon.forward(std::move(request), kPatience));
  if (!known || !done(response)) co_return std::move(response);
  ContainerEntry started = *known->container;
  started.stopped = false;
  take(started, asked);
  if (started != *known->container) parts_.store.replace(known->container->meta.id, std::move(started));
  if (parts_.hooks.asks(Stage::post_start_container))
    (void)co_await parts_.hooks.ask(Stage::post_start_container, asked, std::nullopt);
  co_return std::move(response);
}

Task<Result<Response>> Calls::stop(Request request, std::string reference) {
  const bool asks =
      parts_.hooks.asks(Stage::post_stop_container) || parts_.hooks.asks(Stage::post_stop_pod_sandbox);
  Found found{
      .id = reference, .pod = parts_.store.pod(reference), .container = parts_.store.container(reference)};
  // It may not be there to be asked about when it has stopped.
  if (asks && !found.pod && !found.container)
    if (auto asked = co_await parts_.daemon.find(reference)) found = std::move(*asked);
  std::optional<Known> known;
  if (found.container)
    if (auto asked = co_await asked_about(Stage::post_stop_container, found.id)) known = std::move(*asked);
  const nanoseconds patience = patience_of_stop(request);
  KOORD_CO_TRY(response, co_await parts_.daemon.forward(std::move(request), patience));
  if (!done(response)) co_return std::move(response);
  if (const ContainerPtr now = parts_.store.container(found.id); now && !now->stopped) {
    ContainerEntry stopped = *now;
    stopped.stopped = true;
    parts_.store.replace(found.id, std::move(stopped));
    if (known) {
      rpc::hooks::ContainerRequest asked = request_of(*known->container, known->pod.get());
      (void)co_await parts_.hooks.ask(Stage::post_stop_container, asked, std::nullopt);
    }
  }
  if (const PodPtr now = parts_.store.pod(found.id); now && !now->stopped) {
    PodEntry stopped = *now;
    stopped.stopped = true;
    parts_.store.replace(found.id, std::move(stopped));
    if (parts_.hooks.asks(Stage::post_stop_pod_sandbox) && !skips(now->pod.labels)) {
      rpc::hooks::PodRequest asked = now->pod;
      (void)co_await parts_.hooks.ask(Stage::post_stop_pod_sandbox, asked, std::nullopt);
    }
  }
  co_return std::move(response);
}

Task<Result<Response>> Calls::update(Request request, std::string reference) {
  constexpr Stage kStage = Stage::pre_update_container_resources;
  auto body = UpdateBody::read(request.body);
  if (!body) {
    KOORD_CO_CHECK(cannot_ask(kStage, body.error().context("the request's body")));
    co_return co_await parts_.daemon.forward(std::move(request), kPatience);
  }
  KOORD_CO_TRY(known, co_await asked_about(kStage, reference));
  ContainerPtr container = known ? known->container : parts_.store.container(reference);
  if (!container) co_return co_await parts_.daemon.forward(std::move(request), kPatience);
  rpc::hooks::ContainerRequest now = request_of(*container, known ? known->pod.get() : nullptr);
  if (!now.resources) now.resources.emplace();
  merge_update(*now.resources, body->resources());
  if (known) {
    const rpc::hooks::ContainerRequest asked = now;
    KOORD_CO_CHECK(co_await parts_.hooks.ask(kStage, now, std::nullopt));
    if (const auto change = difference(asked.resources, now.resources); !change.empty()) {
      body->apply(change);
      request.body = body->text();
    }
  }
  KOORD_CO_TRY(response, co_await parts_.daemon.forward(std::move(request), kPatience));
  if (succeeded(response)) {
    ContainerEntry updated = *container;
    take(updated, std::move(now));
    parts_.store.replace(container->meta.id, std::move(updated));
  }
  co_return std::move(response);
}

Task<Result<Response>> Calls::remove(Request request, std::string reference) {
  std::string id = reference;
  if (!parts_.store.pod(id) && !parts_.store.container(id) && !is_id(reference))
    if (auto found = co_await parts_.daemon.find(reference)) id = std::move(found->id);
  KOORD_CO_TRY(response, co_await parts_.daemon.forward(std::move(request), kPatience));
  if (succeeded(response) || response.status == 404) {
    parts_.store.remove_container(id);
    parts_.store.remove_pod(id);
  }
  co_return std::move(response);
}

}  // namespace koord::proxy::docker
