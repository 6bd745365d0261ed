// The ways between the agent and the container runtime: see transports.hpp.
#include "setup/transports.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "framework/devices/vgpu_folders.hpp"
#include "koord/async/timer.hpp"
#include "koord/host/cgroup_knobs.hpp"
#include "koord/kube/event_recorder.hpp"

namespace koord::koordlet {

namespace {

using host::Knob;

/// After an update of a running container the runtime may write what strategies do not want.
constexpr nanoseconds kLookAfterUpdate = std::chrono::seconds(5);
/// What is answered within so long is written down at once.
constexpr nanoseconds kBurst = std::chrono::milliseconds(20);
constexpr std::array kUpdated = {Knob::cpu_quota, Knob::cpu_shares, Knob::cpuset_cpus, Knob::memory_limit};

constexpr std::string_view kAddr = "runtime-hooks-addr", kEndpoint = "runtime-hooks-host-endpoint";

Result<bool> fails(const runtime::FlagValues& flags, std::string_view name) {
  const std::string& policy = flags.get(name);
  if (policy == "Fail" || policy == "Ignore") return policy == "Fail";
  return Error(Code::invalid, fmt::format("--{}: \"{}\" is not Fail or Ignore", name, policy));
}

/// The scheme of its containers' ids.
Result<std::string> scheme_of(const std::string& runtime) {
  if (runtime == "crio") return std::string("cri-o");
  for (const std::string_view known : {"containerd", "docker", "pouch", "cri-o"})
    if (runtime == known) return runtime;
  return Error(
      Code::invalid,
      fmt::format("--default-runtime-type: \"{}\" is not containerd, docker, pouch or cri-o", runtime));
}

void tell_pod(kube::EventRecorder& recorder, const RuntimeSandbox& pod, const std::string& why) {
  kube::EventRecord event;
  event.regarding.version = "v1";
  event.regarding.kind = "Pod";
  event.regarding.ns = pod.ns;
  event.regarding.name = pod.name;
  event.regarding.uid = pod.uid;
  event.type = kube::EventType::warning;
  event.reason = "DeviceNotGiven";
  event.action = "CreatingContainer";
  event.note = why;
  recorder.record(event);
}

}  // namespace

Result<TransportSettings> transport_settings(const runtime::FlagValues& flags, const Place& place) {
  TransportSettings settings;
  settings.desk.dry_run = flags.get_list("dry-run-strategies");
  settings.desk.disabled_stages = flags.get_list("runtime-hooks-disable-stages");
  KOORD_TRY(fail, fails(flags, "runtime-hooks-plugin-failure-policy"));
  settings.desk.fail = fail;
  HookServer::Options& server = settings.hook_server;
  KOORD_TRY(policy, fails(flags, "runtime-hooks-failure-policy"));
  server.fail = policy;
  KOORD_TRY(runtime, scheme_of(flags.get("default-runtime-type")));
  server.runtime = std::move(runtime);
  if (const std::string& network = flags.get("runtime-hooks-network"); network != "unix")
    return Error(
        Code::invalid,
        fmt::format("--runtime-hooks-network: \"{}\" is not unix: whoever reaches the socket says what "
                    "pods are, so that it is this host's root alone",
                    network));
  server.socket = flags.get(kAddr);
  if (!place.in_pod && !flags.changed(kAddr))
    server.socket = fmt::format("{}koordlet/koordlet.sock", place.root.var_run);
  if (!server.socket.empty() && !server.socket.starts_with('/'))
    return Error(Code::invalid, fmt::format("--{}: \"{}\" does not begin at /", kAddr, server.socket));
  server.endpoint = flags.get(kEndpoint);
  if (!place.in_pod && !flags.changed(kEndpoint)) server.endpoint = server.socket;
  server.folder = flags.get("runtime-hooks-config-path");
  if (server.folder.empty())
    server.folder = place.in_pod ? "/host-etc-hookserver/" : "/etc/runtime/hookserver.d";
  settings.pod_resources.socket = fmt::format("{}/kubelet.sock", flags.get("pod-resources-proxy-path"));
  settings.pod_resources.kubelet = fmt::format("{}pod-resources/kubelet.sock", place.root.var_lib_kubelet);
  settings.runtime = {.endpoint = flags.get("containerd-endpoint"), .var_run = place.root.var_run};
  if (const std::string& library = flags.get("hami-core-library-directory-path"); !vgpu_home(library).empty())
    settings.prepare = [folders = VgpuFolders(place.root, library)](const RuntimeMount& mount) -> Result<> {
      const std::string all = fmt::format("{}/", folders.folder());
      return mount.source.starts_with(all) ? folders.make(std::string_view(mount.source).substr(all.size()))
                                           : Result<>();
    };
  KOORD_TRY(nri, nri_settings(flags, place));
  settings.nri = std::move(nri);
  return settings;
}

Transports::Transports(const Parts& parts, TransportSettings settings)
    : parts_(parts),
      settings_(std::move(settings)),
      engine_(parts.context.executor),
      runtime_(engine_, parts.context.metrics, settings_.runtime) {}

Result<std::unique_ptr<Transports>> Transports::make(const Parts& parts, TransportSettings settings) {
  settings.desk.births = parts.births;
  std::unique_ptr<Transports> made(new Transports(parts, std::move(settings)));
  runtime::RoleContext& context = parts.context;
  auto desk = Desk::make(
      {.strategies = parts.strategies,
       .gates = context.gates,
       .hub = parts.hub,
       .cgroup_version = parts.executor.version(),
       .topology = parts.topology,
       .has = [&executor = parts.executor](
                  Knob knob, std::string_view group) { return executor.setting(knob, group).has_value(); },
       .setting = [&executor = parts.executor](Knob knob,
                                               std::string_view name) -> std::optional<std::int64_t> {
         const auto found = executor.current(knob, name);
         const auto* number = found ? std::get_if<std::int64_t>(&*found) : nullptr;
         return number ? std::optional(*number) : std::nullopt;
       },
       .is_set = [&flags = context.flags](std::string_view flag) { return flags.get_bool(flag); },
       .devices = parts.devices,
       .tell = [&recorder = parts.recorder](const RuntimeSandbox& pod,
                                            const std::string& why) { tell_pod(recorder, pod, why); },
       .prepare = made->settings_.prepare,
       .bears = [transports = made.get()] { transports->bears_.set(); },
       .clock = context.clock,
       .log = context.log,
       .metrics = context.metrics},
      made->settings_.desk);
  if (!desk) return std::move(desk).error().context("--runtime-hooks-disable-stages");
  made->desk_ = std::move(*desk);
  if (const auto loaded = made->desk_->births().load(context.clock.mono()); !loaded)
    context.log.warn("cannot read which containers were being made when an earlier agent ended",
                     kv("error", loaded.error()));
  if (!made->settings_.hook_server.socket.empty())
    made->hook_server_.emplace(
        HookServer::Parts{
            made->engine_, context.clock, context.log, context.metrics, *made->desk_,
            [transports = made.get()](const std::vector<LaterValue>& values) { transports->write(values); }},
        made->settings_.hook_server);
  if (made->settings_.nri) made->set_up_nri(*made->settings_.nri);
  if (context.gates.enabled("PodResourcesProxy"))
    made->pod_resources_.emplace(
        PodResources::Parts{made->engine_, context.clock, context.log, context.metrics, parts.hub},
        made->settings_.pod_resources);
  // Where pods depend on it, it is part of being ready.
  if (made->hook_server_ && made->settings_.hook_server.fail)
    context.health.add(
        "hook server",
        [server = &*made->hook_server_]() -> Result<> {
          if (const std::string& fault = server->fault(); !fault.empty())
            return Error(Code::unavailable, fault);
          return {};
        },
        runtime::HealthChecks::readyz);
  return made;
}

void Transports::set_up_nri(const nri::Settings& settings) {
  runtime::RoleContext& context = parts_.context;
  nri::Plugin::Parts plugin{
      .ask = [this](const RuntimeRequest& request) { return desk_->answer(request, Transport::nri); },
      .asked_at = [this](RuntimeMoment moment) { return desk_->asked_at(moment); },
      .write = [this](const std::vector<LaterValue>& values) { write(values); },
      .find_device = nri::find_device,
      .log = context.log,
      .fail = settings_.desk.fail};
  nri_.emplace(nri::Transport::Parts{.executor = context.executor,
                                     .clock = context.clock,
                                     .log = context.log,
                                     .metrics = context.metrics,
                                     .plugin = std::move(plugin),
                                     .missing = [this] { return desk_->missing(); }},
               settings);
}

std::vector<SourceStatus> Transports::sources() const {
  std::vector<SourceStatus> all;
  if (nri_) all.push_back(nri_->status());
  return all;
}

void Transports::start() {
  parts_.tasks.spawn("births", keep_births());
  if (nri_) parts_.tasks.spawn("NRI", nri_->run());
  if (hook_server_) parts_.tasks.spawn("hook server", hook_server_->run());
  if (pod_resources_) parts_.tasks.spawn("pod resources", pod_resources_->run());
}

Task<> Transports::stop() {
  if (hook_server_) co_await hook_server_->stop();
  if (pod_resources_) co_await pod_resources_->stop();
}

void Transports::write(const std::vector<LaterValue>& values) {
  std::vector<Ahead::Value> ahead;
  ahead.reserve(values.size());
  for (const LaterValue& one : values)
    ahead.push_back({one.knob, one.group, one.value, one.strategy, one.reason});
  if (const auto written = parts_.write_ahead(ahead); !written)
    parts_.context.log.warn("cannot write down what a new pod is given", kv("error", written.error()));
}

/// No container waits for it: the file is written a moment after the answers of a burst.
Task<Result<>> Transports::keep_births() {
  for (;;) {
    KOORD_CO_CHECK(co_await bears_.wait());
    KOORD_CO_CHECK(co_await sleep(parts_.context.clock, kBurst));
    bears_.reset();
    save_births();
  }
}

void Transports::save_births() {
  const auto saved = desk_->births().save();
  if (!saved && !births_refused_)
    parts_.context.log.warn(
        "cannot write down which containers are being made: an agent that starts after a crash will not know "
        "what they go back to",
        kv("error", saved.error()));
  births_refused_ = !saved;
}

void Transports::tick() {
  if (const auto born = desk_->born(); !born.empty())
    if (const auto noted = parts_.note_given(born); !noted)
      parts_.context.log.warn("cannot write down what new containers were given", kv("error", noted.error()));
  save_births();  // after the journal has what was in them
  const auto updated = desk_->last_update();
  if (!updated || parts_.context.clock.mono() - *updated > kLookAfterUpdate) return;
  for (const Knob knob : kUpdated) parts_.executor.look_again(knob);
}

}  // namespace koord::koordlet
