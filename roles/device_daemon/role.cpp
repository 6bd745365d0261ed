// The device daemon's life: look, write, wait; at SIGHUP it reads its file again, at its end it takes the
// file away.
#include "role.hpp"

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstdlib>

#include "koord/async/event.hpp"
#include "koord/async/offload.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/log.hpp"
#include "options/settings.hpp"
#include "passes/device_file.hpp"
#include "passes/look.hpp"

namespace koord::device_daemon {

namespace {

constexpr nanoseconds kGrace = std::chrono::seconds(3),
                      kAfterFailure = std::chrono::seconds(30);  // or the interval, if that is shorter

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

class DeviceDaemon final : public runtime::Role {
 public:
  DeviceDaemon(runtime::RoleContext& context, Settings settings)
      : context_(context),
        settings_(std::move(settings)),
        looker_({context.clock, context.workers, context.log, context.metrics}),
        signals_(context.executor, SIGHUP, SIGQUIT),
        tasks_(context.executor, log_failures(context.log)) {
    context.health.add(
        "devices", [this] { return state_; }, runtime::HealthChecks::readyz | runtime::HealthChecks::told);
  }

  Task<Result<>> run() override {
    tasks_.spawn("signals", follow_signals());
    co_return co_await with_cleanup(look_on(), end());
  }

 private:
  Task<Result<>> look_on() {
    for (;;) {
      const auto well = co_await look_once();
      if (!well && well.error().code() == Code::cancelled) co_return well.error();
      if (settings_.oneshot) {
        if (!well) co_return well.error();
        context_.finish();
        co_return Result<>();
      }
      const nanoseconds pause =
          well && *well ? settings_.interval : std::min(settings_.interval, kAfterFailure);
      const auto told = co_await with_timeout(context_.clock, pause, reload_.wait());
      if (!told && told.error().code() == Code::cancelled) co_return told.error();
      if (reload_.is_set()) reload();
    }
  }

  /// True: all vendors have said what they have, and it is written.
  Task<Result<bool>> look_once() {
    auto well = co_await looker_.look(settings_);
    if (well && !settings_.output_file.empty()) {
      // A copy: the settings may be read anew meanwhile.
      const std::string path = settings_.output_file;
      const auto devices = looker_.devices();
      const auto written = co_await offload(context_.workers, [&]() -> Result<bool> {
        KOORD_CHECK(write_device_file(path, devices));
        return true;
      });
      if (!written) well = written.error();
    }
    if (well)
      state_ = Result<>();
    else
      state_ = well.error();
    if (!well && well.error().code() != Code::cancelled)
      context_.log.error("the node agent is not told of accelerators", kv("error", well.error()));
    co_return well;
  }

  Task<Result<>> follow_signals() {
    for (;;) {
      const auto [failed, signal] = co_await signals_.async_wait(asio::as_tuple(asio::use_awaitable));
      if (failed) co_return Error(Code::cancelled, "asked to stop");
      if (signal == SIGHUP) {
        reload_.set();
      } else {
        context_.log.info("asked to end by SIGQUIT");
        context_.finish();
      }
    }
  }

  void reload() {
    reload_.reset();
    auto settings = read_settings(context_.flags, environment);
    if (!settings) {
      context_.log.error("the settings stay as they were", kv("error", settings.error()));
      return;
    }
    if (settings->output_file != settings_.output_file) remove_file();
    settings_ = std::move(*settings);
    context_.log.info("the settings were read again");
  }

  /// What describes the machine is not to stay behind once nobody keeps it true.
  Task<> end() {
    co_await tasks_.stop(context_.clock, kGrace);
    if (!settings_.oneshot) remove_file();
  }

  void remove_file() {
    if (settings_.output_file.empty()) return;
    if (const auto removed = remove_device_file(settings_.output_file); !removed)
      context_.log.warn("the file of accelerators stays behind", kv("error", removed.error()));
  }

  runtime::RoleContext& context_;
  Settings settings_;
  Looker looker_;
  asio::signal_set signals_;
  Event reload_;
  Result<> state_ = Error(Code::unavailable, "it has not looked yet");
  TaskGroup tasks_;
};

Result<std::unique_ptr<runtime::Role>> make(runtime::RoleContext& context) {
  KOORD_TRY(settings, read_settings(context.flags, environment));
  return std::unique_ptr<runtime::Role>(std::make_unique<DeviceDaemon>(context, std::move(settings)));
}

constexpr std::array<runtime::PortFlag, 1> kPorts = {{{"addr", "", false}}};

}  // namespace

const runtime::RoleDescriptor& role() {
  static const std::array kMetrics = {Looker::kMetrics};
  static const runtime::RoleDescriptor kRole{
      .name = "device-daemon",
      .summary = "Looks for accelerators with their vendors' tools, and tells the node agent in a file.",
      .flags = flags(),
      .gates = {},
      .ports = kPorts,
      .single_dash = true,
      .make = &make,
      .metrics = kMetrics,
  };
  return kRole;
}

}  // namespace koord::device_daemon
