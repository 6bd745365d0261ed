// Transport: see transport.hpp.
#include "transports/nri/transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "koord/async/event.hpp"
#include "koord/async/file_watch.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"

namespace koord::koordlet::nri {

namespace {

constexpr metrics::Metric kConnected{
    .name = "koordlet_runtime_connected",
    .type = metrics::Type::gauge,
    .help =
        "1 while the container runtime asks the agent before it makes a container; 0: new containers get "
        "their values from the reconciler, after they have started.",
    .labels = {"transport"}};
constexpr metrics::Metric kConnections{.name = "koordlet_runtime_connections_total",
                                       .help = "Connections to the container runtime that were synchronized.",
                                       .labels = {"transport"}};
constexpr metrics::Metric kLate{
    .name = "koordlet_runtime_late_containers_total",
    .help =
        "Containers that the runtime had made with other values than hooks want, and that were updated "
        "when it told of all of its containers.",
    .labels = {"transport"}};
constexpr std::string_view kLabel = "nri";

constexpr nanoseconds kLook = std::chrono::milliseconds(200);    // whether enough is known by now
constexpr nanoseconds kListens = std::chrono::milliseconds(50);  // after a socket's file has come
constexpr nanoseconds kForEver = std::chrono::hours(24 * 365 * 10);
constexpr nanoseconds kGrace = std::chrono::seconds(1);

std::string text_of(const rpc::nri::Version& version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

std::string name_of(const rpc::nri::Configure& runtime, const std::optional<rpc::nri::Version>& version) {
  return fmt::format("{} {} (NRI {})", runtime.runtime_name, runtime.runtime_version,
                     version ? text_of(*version) : "of an unknown version");
}

/// A runtime that has configured the plugin and tells of no containers.
Error not_synchronized(const Plugin& plugin, std::string_view what) {
  const auto version = plugin.version();
  std::string text = fmt::format("{} {}", name_of(*plugin.runtime(), version), what);
  if (version && *version < rpc::nri::kSplits)
    text += fmt::format(
        ": before NRI {} it tells of all pods and containers in one message of at most 4 MiB, and gives up "
        "where they take more; containerd 1.7.26, 2.0 and later split it",
        text_of(rpc::nri::kSplits));
  return Error(Code::unavailable, std::move(text));
}

Task<Result<rpc::ttrpc::Response>> call(rpc::ttrpc::Connection& connection, rpc::ttrpc::Request request) {
  co_return co_await connection.call(std::move(request));
}

}  // namespace

const metrics::Table Transport::kMetrics = {&kConnected, &kConnections, &kLate};

/// What a connection and those who attend to it share.
struct Transport::Link {
  explicit Link(Plugin::Parts parts) : plugin(std::move(parts)) {}
  Plugin plugin;
  std::unique_ptr<rpc::ttrpc::Connection> connection;
  Event configured, synchronized;
  std::optional<Error> failure;
};

Result<> check(const Settings& settings) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (settings.index.size() != 2 || !std::ranges::all_of(settings.index, digit))
    return Error(Code::invalid,
                 fmt::format("--runtime-hooks-nri-plugin-index: \"{}\" is not two digits", settings.index));
  const auto fits = [&](char c) {
    return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("-_.+").find(c) != std::string_view::npos;
  };
  if (settings.name.empty() || !std::ranges::all_of(settings.name, fits))
    return Error(
        Code::invalid,
        fmt::format("--runtime-hooks-nri-plugin-name: \"{}\" is not made of [a-zA-Z0-9_.+-]", settings.name));
  return {};
}

Transport::Transport(Parts parts, Settings settings)
    : parts_(std::move(parts)),
      settings_(std::move(settings)),
      connected_(parts_.metrics.gauges(kConnected).with({kLabel})),
      connections_(parts_.metrics.counters(kConnections).with({kLabel})),
      late_(parts_.metrics.counters(kLate).with({kLabel})) {
  status_.name = "container runtime (NRI)";
  status_.error = "not connected yet";
}

SourceStatus Transport::status() const { return status_; }

Task<Result<>> Transport::run() {
  Backoff backoff(settings_.backoff,
                  static_cast<std::uint64_t>(parts_.clock.now().time_since_epoch().count()));
  for (;;) {
    KOORD_CO_CHECK(co_await wait_until_known());
    synchronized_ = false;
    // A coroutine of its own, which forgets the polite cancellation while it cleans up: this one must not.
    const Result<> ended = co_await with_timeout(parts_.clock, kForEver, connect_once());
    connected_.set(0);
    if (ended.error().code() == Code::cancelled) co_return ended;
    lost(ended.error());
    if (synchronized_ || backoff.tries() >= settings_.backoff_steps) backoff.reset();
    KOORD_CO_CHECK(co_await wait_for_socket(backoff.next()));
  }
}

/// For a while: what is known of a pod's own CPUs is worth more than nothing.
Task<Result<>> Transport::wait_until_known() {
  for (const MonoTime until = parts_.clock.mono() + settings_.patience; parts_.clock.mono() < until;) {
    const std::string missing = parts_.missing();
    if (missing.empty()) co_return Result<>();
    status_.error = fmt::format("not connected: the agent does not know yet: {}", missing);
    KOORD_CO_CHECK(co_await sleep(parts_.clock, kLook));
  }
  co_return Result<>();
}

/// At most so long: a socket that comes meanwhile is a runtime that has started.
Task<Result<>> Transport::wait_for_socket(nanoseconds most) {
  const MonoTime until = parts_.clock.mono() + most;
  const std::size_t slash = settings_.socket.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : settings_.socket.substr(0, slash + 1);
  const std::string name = settings_.socket.substr(slash == std::string::npos ? 0 : slash + 1);
  auto watch = FileWatch::open(parts_.executor);
  if (!watch || !watch->add(folder, IN_CREATE | IN_MOVED_TO))
    co_return co_await sleep_until(parts_.clock, until);
  while (parts_.clock.mono() < until) {
    const auto events = co_await with_timeout(parts_.clock, until - parts_.clock.mono(), watch->next());
    if (!events && events.error().code() == Code::cancelled) co_return events.error();
    if (!events) break;
    if (std::ranges::none_of(*events, [&](const FileEvent& event) { return event.name == name; })) continue;
    co_return co_await sleep(parts_.clock, kListens);
  }
  co_return Result<>();
}

/// Always an error: why the connection has ended.
Task<Result<>> Transport::connect_once() {
  Link link(parts_.plugin);
  rpc::ttrpc::ConnectionOptions options;
  options.session.serves_on = rpc::nri::kPluginConnection;
  options.session.calls_on = rpc::nri::kRuntimeConnection;
  KOORD_CO_TRY(connection, co_await with_timeout(parts_.clock, settings_.connect_timeout,
                                                 rpc::ttrpc::Connection::connect(settings_.socket, options)));
  link.connection = std::move(connection);
  TaskGroup tasks(parts_.executor, [&link](std::string_view, const Error& error) {
    link.failure = error;
    link.connection->close();
  });
  tasks.spawn("introduction to the container runtime", introduce(link));
  const auto handler = [this, &link](const rpc::ttrpc::Request& request) { return answer(link, request); };
  const Result<> ended =
      co_await with_cleanup(link.connection->serve(handler), tasks.stop(parts_.clock, kGrace));
  if (link.failure) co_return *link.failure;
  if (ended.error().code() != Code::cancelled && link.plugin.runtime() && !link.plugin.synchronized())
    co_return not_synchronized(link.plugin,
                               fmt::format("told of no containers: {}", ended.error().message()));
  co_return ended;
}

/// Registers, and sees to it that the runtime does what follows.
Task<Result<>> Transport::introduce(Link& link) {
  const MonoTime until = parts_.clock.mono() + settings_.connect_timeout;
  rpc::ttrpc::Request request{std::string(rpc::nri::kRuntimeService),
                              "RegisterPlugin",
                              rpc::nri::encode(rpc::nri::RegisterPlugin{settings_.name, settings_.index}),
                              {}};
  request.time_left = settings_.connect_timeout;
  auto registered = co_await with_timeout(parts_.clock, settings_.connect_timeout,
                                          call(*link.connection, std::move(request)));
  if (!registered) co_return std::move(registered).error().context("registering");
  if (!registered->status.ok())
    co_return registered->status.error().context("the runtime refuses the plugin");
  const nanoseconds left = std::max(nanoseconds(0), until - parts_.clock.mono());
  auto configured = co_await with_timeout(parts_.clock, left, link.configured.wait());
  if (!configured) {
    if (configured.error().code() == Code::cancelled) co_return configured;
    co_return Error(Code::timeout, "the runtime has registered the plugin and does not configure it");
  }
  auto synchronized =
      co_await with_timeout(parts_.clock, settings_.synchronize_timeout, link.synchronized.wait());
  if (!synchronized && synchronized.error().code() == Code::cancelled) co_return synchronized;
  if (!synchronized)
    co_return not_synchronized(link.plugin,
                               fmt::format("has told of no containers for {} s",
                                           settings_.synchronize_timeout.count() / 1'000'000'000));
  co_return Result<>();
}

rpc::ttrpc::Response Transport::answer(Link& link, const rpc::ttrpc::Request& request) {
  const bool before = link.plugin.synchronized();
  rpc::ttrpc::Response response = link.plugin.answer(request);
  if (link.plugin.runtime()) link.configured.set();
  if (!before && link.plugin.synchronized()) {
    link.synchronized.set();
    greet(link.plugin);
  }
  status_.last_good = parts_.clock.now();
  return response;
}

void Transport::greet(const Plugin& plugin) {
  synchronized_ = true;
  status_.ok = true;
  status_.error.clear();
  told_.clear();
  connected_.set(1);
  connections_.inc();
  const Plugin::Counts& counts = plugin.counts();
  late_.add(static_cast<double>(counts.updates));
  parts_.log.info("the container runtime asks before it makes containers",
                  kv("runtime", name_of(*plugin.runtime(), plugin.version())), kv("pods", counts.pods),
                  kv("containers", counts.containers), kv("updated", counts.updates));
}

/// Each reason once, until there is another one or a connection.
void Transport::lost(const Error& why) {
  status_.ok = false;
  status_.error = why.code() == Code::not_found
                      ? fmt::format(
                            "{} (containerd has NRI from 1.7 on, where its configuration switches it "
                            "on, from 2.0 on by itself)",
                            why.message())
                      : why.message();
  if (told_ == status_.error) return;
  told_ = status_.error;
  parts_.log.warn(
      "the container runtime does not ask the agent: new containers get their values only after they have "
      "started",
      kv("socket", settings_.socket), kv("why", status_.error));
}

}  // namespace koord::koordlet::nri
