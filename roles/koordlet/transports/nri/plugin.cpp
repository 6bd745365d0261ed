// Plugin: see plugin.hpp.
#include "transports/nri/plugin.hpp"

#include <fmt/format.h>

#include <utility>

namespace koord::koordlet::nri {

namespace {

using rpc::Status;
using rpc::StatusCode;
using rpc::nri::Event;
using rpc::ttrpc::Response;

Response refused(StatusCode code, std::string text) { return {{code, std::move(text), {}}, {}}; }

}  // namespace

Response Plugin::answer(const rpc::ttrpc::Request& request) {
  if (request.service != rpc::nri::kPluginService)
    return refused(StatusCode::unimplemented, fmt::format("service {}", request.service));
  const std::string_view method = request.method;
  Answer answer = std::string();
  if (method == "Configure") {
    answer = configure(request.payload);
  } else if (method == "Synchronize") {
    answer = synchronize(request.payload);
  } else if (method == "Shutdown") {
    shut_down_ = true;
  } else if (method == "StateChange") {
    answer = happened(Event::unknown, request.payload);
  } else if (const Event event = rpc::nri::event_named(method); event != Event::unknown) {
    answer = happened(event, request.payload);
  } else {
    return refused(StatusCode::unimplemented, fmt::format("method {}", method));
  }
  if (answer) return {{}, std::move(*answer)};
  return {Status::of(answer.error()), {}};
}

std::optional<rpc::nri::Version> Plugin::version() const {
  if (!runtime_) return std::nullopt;
  return rpc::nri::version_of(runtime_->nri_version, runtime_->runtime_name, runtime_->runtime_version);
}

/// Of those that hooks have a say in; a runtime that knows fewer bits refuses the others, and the plugin.
std::int32_t Plugin::events() const {
  std::int32_t events = 0;
  if (parts_.asked_at(RuntimeMoment::run_sandbox)) {
    events |= bit(Event::run_pod_sandbox);
    const auto runs = version();
    // The kubelet has written a resized pod's group by then.
    if (runs && *runs >= rpc::nri::kAllBits) events |= bit(Event::post_update_pod_sandbox);
  }
  if (parts_.asked_at(RuntimeMoment::create_container)) events |= bit(Event::create_container);
  if (parts_.asked_at(RuntimeMoment::update_container)) events |= bit(Event::update_container);
  // None means all, to a runtime.
  return events != 0 ? events : bit(Event::remove_pod_sandbox);
}

Plugin::Answer Plugin::configure(std::string_view payload) {
  KOORD_TRY(configure, rpc::nri::decode_configure(payload));
  scheme_ = scheme_of(configure.runtime_name);
  runtime_ = std::move(configure);
  return rpc::nri::encode_events(events());
}

Plugin::Answer Plugin::synchronize(std::string_view payload) {
  auto part = rpc::nri::decode_synchronize(payload);
  const std::size_t pods = pods_.size() + (part ? part->pods.size() : 0);
  const std::size_t containers = containers_.size() + (part ? part->containers.size() : 0);
  if (!part || pods > kMostPods || containers > kMostContainers) {
    pods_.clear();
    containers_.clear();
    counting_ = {};
    if (!part) return std::move(part).error();
    return Error(Code::too_large,
                 fmt::format("{} pods and {} containers are more than the {} and {} of a node", pods,
                             containers, kMostPods, kMostContainers));
  }
  ++counting_.parts;
  for (rpc::nri::Pod& pod : part->pods) {
    std::string id = pod.id;
    pods_.insert_or_assign(std::move(id), std::move(pod));
  }
  for (rpc::nri::Container& one : part->containers) containers_.push_back(std::move(one));
  rpc::nri::SynchronizeAnswer answer{.updates = {}, .more = part->more};
  if (part->more) return rpc::nri::encode(answer);

  for (const rpc::nri::Container& container : containers_) {
    const auto pod = pods_.find(container.pod_id);
    const bool lives = container.state != rpc::nri::State::stopped;
    // A change without an id would be nobody's.
    if (pod == pods_.end() || !lives || container.id.empty() ||
        !parts_.asked_at(RuntimeMoment::update_container))
      continue;
    // An error is one container's, which stays as it is.
    const auto verdict =
        parts_.ask(request_of(RuntimeMoment::update_container, scheme_, pod->second, &container, nullptr));
    if (!verdict) continue;
    auto update = update_of(*verdict, container.id, &container.resources);
    if (!update) continue;
    update->ignore_failure = true;  // it may end meanwhile, which shall keep nobody else's from being made
    answer.updates.push_back(std::move(*update));
  }
  counting_.pods = pods_.size();
  counting_.containers = containers_.size();
  counting_.updates = answer.updates.size();
  counts_ = std::exchange(counting_, {});
  pods_.clear();
  containers_.clear();
  synchronized_ = true;
  return rpc::nri::encode(answer);
}

Plugin::Answer Plugin::happened(Event event, std::string_view payload) {
  if (event == Event::validate_container_adjustment) return std::string();  // never a reason to refuse one
  auto call = rpc::nri::decode_happened(event, payload);
  if (!call) {
    if (parts_.fail) return std::move(call).error();
    parts_.log.warn("a call of the container runtime cannot be read: what it is about stays as it is",
                    kv("call", rpc::nri::to_string(event)), kv("error", call.error()));
    return std::string();
  }
  switch (call->event) {
    case Event::run_pod_sandbox:
    case Event::post_update_pod_sandbox: return run_pod(call->pod);
    case Event::create_container: return create(*call);
    case Event::update_container: return update(*call);
    default: return std::string();
  }
}

/// What a sandbox has of its own is nothing that NRI could set; its pod's group is there.
Plugin::Answer Plugin::run_pod(const rpc::nri::Pod& pod) {
  KOORD_TRY(verdict, parts_.ask(request_of(RuntimeMoment::run_sandbox, scheme_, pod)));
  if (!verdict.later.empty()) parts_.write(verdict.later);
  return std::string();
}

Plugin::Answer Plugin::create(const rpc::nri::Happened& call) {
  if (!call.container) return std::string();
  RuntimeRequest request = request_of(RuntimeMoment::create_container, scheme_, call.pod, &*call.container);
  request.takes_cdi = runtime_ && rpc::nri::takes_cdi(runtime_->runtime_name, runtime_->runtime_version);
  KOORD_TRY(verdict, parts_.ask(request));
  std::vector<std::string> missing;
  rpc::nri::CreateContainerAnswer answer;
  answer.adjust = adjustment_of(verdict, parts_.find_device, missing);
  for (const std::string& one : missing)
    parts_.log.warn("a container is made without what it was given",
                    kv("pod", fmt::format("{}/{}", call.pod.ns, call.pod.name)),
                    kv("container", call.container->name), kv("why", one));
  return rpc::nri::encode(answer);
}

Plugin::Answer Plugin::update(const rpc::nri::Happened& call) {
  if (!call.container || call.container->id.empty()) return std::string();
  const rpc::nri::Resources asked = call.resources.value_or(rpc::nri::Resources{});
  KOORD_TRY(verdict, parts_.ask(request_of(RuntimeMoment::update_container, scheme_, call.pod,
                                           &*call.container, &asked)));
  std::vector<rpc::nri::Update> updates;
  if (auto update = update_of(verdict, call.container->id, &asked)) updates.push_back(std::move(*update));
  return rpc::nri::encode(updates);
}

}  // namespace koord::koordlet::nri
