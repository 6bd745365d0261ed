// The proxy as a role: what both of its ways share is made here.
#include "role.hpp"

#include <fmt/format.h>

#include <array>

#include "cri/cri_mode.hpp"
#include "docker/docker_mode.hpp"
#include "hooks/dispatcher.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/log.hpp"
#include "koord/rpc/engine.hpp"
#include "mode/back_end_watch.hpp"
#include "mode/mode.hpp"
#include "options/flags.hpp"

namespace koord::proxy {

namespace {

/// What tasks have to end, of the 10 s that a role has.
constexpr nanoseconds kGrace = std::chrono::seconds(3);

class Proxy final : public runtime::Role {
 public:
  Proxy(runtime::RoleContext& context, Options options)
      : context_(context),
        options_(std::move(options)),
        engine_(context.executor),
        hooks_({.engine = engine_,
                .executor = context.executor,
                .clock = context.clock,
                .log = context.log,
                .metrics = context.metrics,
                .folder = options_.hook_folder,
                .keep_file = options_.hook_keep_file,
                .timeout = options_.hook_timeout}),
        mode_((options_.docker ? docker::make_mode : make_cri_mode)({context, options_, hooks_, engine_})),
        tasks_(context.executor, log_failures(context.log)) {
    context.health.add(
        "backend", [this] { return mode_->backend(); },
        runtime::HealthChecks::readyz | runtime::HealthChecks::told);
  }

  Task<Result<>> run() override {
    tasks_.spawn("hook servers", hooks_.follow());
    co_return co_await with_cleanup(mode_->run(), tasks_.stop(context_.clock, kGrace));
  }

 private:
  runtime::RoleContext& context_;
  Options options_;
  rpc::Engine engine_;
  Dispatcher hooks_;
  std::unique_ptr<Mode> mode_;
  TaskGroup tasks_;
};

Result<std::unique_ptr<runtime::Role>> make(runtime::RoleContext& context) {
  KOORD_TRY(options, read_options(context.flags));
  return std::unique_ptr<runtime::Role>(std::make_unique<Proxy>(context, std::move(options)));
}

constexpr std::array<runtime::PortFlag, 1> kPorts = {{{"addr", "", false}}};

}  // namespace

const runtime::RoleDescriptor& role() {
  static const std::array kMetrics = {Dispatcher::kMetrics, BackEndWatch::kMetrics};
  static const runtime::RoleDescriptor kRole{
      .name = "proxy",
      .summary = "Between the kubelet and its container runtime: hooks have a say in what containers become.",
      .flags = flags(),
      .gates = {},
      .ports = kPorts,
      .make = &make,
      .metrics = kMetrics,
  };
  return kRole;
}

}  // namespace koord::proxy
