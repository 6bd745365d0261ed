// The event loop, the clock, the log, the signals: what there is one of in a process.
#include "process.hpp"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <ostream>

#include "koord/async/event.hpp"
#include "koord/async/offload.hpp"
#include "koord/async/signals.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/log.hpp"
#include "koord/base/system.hpp"
#include "koord/kube/config.hpp"
#include "koord/kube/informer.hpp"
#include "koord/runtime/role_host.hpp"
#include "process_metrics.hpp"

namespace koord::app {
namespace {

constexpr auto kGrace = std::chrono::seconds{10};

class Process {
 public:
  explicit Process(const runtime::CommandLine& line)
      : line_(line),
        clock_(loop_.get_executor()),
        log_(sink_, clock_, static_cast<int>(line.process.get_int("v"))),
        signals_(loop_.get_executor()),
        informers_(loop_.get_executor(), clock_, log_),
        host_({loop_.get_executor(), clock_, workers_, log_, informers_, version(),
               [this](std::string user_agent, metrics::Registry& metrics) {
                 return clients(std::move(user_agent), metrics);
               },
               [this](metrics::Registry& metrics) { process_metrics_.add_to(metrics); }}),
        tasks_(loop_.get_executor(), log_failures(log_)) {}

  Result<> add(const std::vector<const runtime::RoleDescriptor*>& roles) { return host_.add(roles, line_); }

  int run() {
    TaskGroup main(loop_.get_executor(), log_failures(log_));
    main.spawn("main", live());
    finish(main);
    sink_.flush();
    if (host_.left_behind()) std::_Exit(code_);
    return code_;
  }

  /// Ends what add() has begun when it failed half-way.
  void abandon() {
    TaskGroup main(loop_.get_executor(), log_failures(log_));
    main.spawn("abandon", end());
    finish(main);
  }

 private:
  // Not run(): idle connections of the clients would keep the loop for their time-out.
  void finish(const TaskGroup& main) {
    while (main.size() > 0) loop_.run_one();
  }

  std::unique_ptr<runtime::ClientFactory> clients(std::string user_agent, metrics::Registry& metrics) {
    auto config = [this](const std::string& kubeconfig) -> Result<kube::ClientConfig> {
      const std::string& chosen = kubeconfig.empty() ? line_.process.get("kubeconfig") : kubeconfig;
      KOORD_TRY(found, kube::find_config(chosen, "", environment));
      for (const std::string& warning : found.warnings) log_.warn(warning);
      return std::move(found);
    };
    net::PoolOptions transport;
    transport.resolve.servers = line_.process.get_list("name-servers");
    return std::make_unique<runtime::KubeClients>(loop_.get_executor(), clock_, std::move(config),
                                                  std::move(user_agent), metrics, std::move(transport));
  }

  Task<> live() {
    tasks_.spawn("roles", roles());
    tasks_.spawn("signals", signal());
    const Result<> waited = co_await ended_.wait();
    (void)waited;  // nobody cancels this task
    co_await end();
  }

  Task<> end() {
    co_await host_.stop(kGrace);
    co_await tasks_.stop(clock_, std::chrono::seconds{1});
  }

  Task<> roles() {
    const Result<> result = co_await host_.run();
    if (!result && result.error().code() != Code::cancelled) {
      log_.error("koord ends", kv("error", result.error()));
      code_ = kFailed;
      ended_.set();
    }
    if (result) ended_.set();
  }

  Task<> signal() {
    const Result<int> number = co_await signals_.wait();
    if (!number) co_return;
    log_.info("stopping", kv("signal", *number));
    ended_.set();
  }

  const runtime::CommandLine& line_;
  asio::io_context loop_{1};
  AsyncLogSink sink_{STDERR_FILENO};
  SystemClock clock_;
  Logger log_;
  ProcessMetrics process_metrics_{sink_, clock_};
  WorkerPool workers_{2};
  StopSignals signals_;
  kube::InformerSet informers_;
  runtime::RoleHost host_;
  Event ended_;
  TaskGroup tasks_;
  int code_ = kOk;
};

}  // namespace

int run_roles(const std::vector<const runtime::RoleDescriptor*>& roles, const runtime::CommandLine& line,
              Streams streams) {
  Process process(line);
  if (auto added = process.add(roles); !added) {
    streams.err << "koord: " << added.error().message() << "\n";
    process.abandon();
    return kUsage;
  }
  return process.run();
}

}  // namespace koord::app
