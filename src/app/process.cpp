// `koord --role`: the roles of a process on its event loop.
#include "process.hpp"

#include <ostream>

#include "koord/base/system.hpp"
#include "koord/kube/config.hpp"
#include "koord/kube/informer.hpp"
#include "koord/runtime/event_loop.hpp"
#include "koord/runtime/kube_clients.hpp"
#include "koord/runtime/role_host.hpp"
#include "process_metrics.hpp"

namespace koord::app {
namespace {

constexpr auto kGrace = std::chrono::seconds{10};

class Process {
 public:
  explicit Process(const runtime::CommandLine& line)
      : line_(line),
        loop_(static_cast<int>(line.process.get_int("v"))),
        informers_(loop_.executor(), loop_.clock(), loop_.log()),
        host_({loop_.executor(), loop_.clock(), loop_.workers(), loop_.log(), informers_, version(),
               [this](std::string user_agent, metrics::Registry& metrics) {
                 return clients(std::move(user_agent), metrics);
               },
               [this](metrics::Registry& metrics) { process_metrics_.add_to(metrics); }}) {}

  Result<> add(const std::vector<const runtime::RoleDescriptor*>& roles) {
    KOORD_CHECK(host_.add(roles, line_));
    loop_.allow_longer(std::chrono::ceil<std::chrono::milliseconds>(host_.shutdown_delay()));
    return {};
  }

  int run() {
    return loop_.run(
        [this]() -> Task<> {
          loop_.tasks().spawn("roles", roles());
          co_return;
        },
        [this] { return stop(); });
  }

  /// Ends what add() has begun when it failed half-way.
  int abandon() {
    loop_.end(kUsage);
    return loop_.run([]() -> Task<> { co_return; }, [this] { return stop(); });
  }

 private:
  std::unique_ptr<runtime::ClientFactory> clients(std::string user_agent, metrics::Registry& metrics) {
    auto config = [this](const std::string& kubeconfig) -> Result<kube::ClientConfig> {
      const std::string& chosen = kubeconfig.empty() ? line_.process.get("kubeconfig") : kubeconfig;
      KOORD_TRY(found, kube::find_config(chosen, "", environment));
      for (const std::string& warning : found.warnings) loop_.log().warn(warning);
      return std::move(found);
    };
    net::PoolOptions transport;
    transport.resolve.servers = line_.process.get_list("name-servers");
    return std::make_unique<runtime::KubeClients>(loop_.executor(), loop_.clock(), std::move(config),
                                                  std::move(user_agent), metrics, std::move(transport));
  }

  Task<> roles() {
    const Result<> result = co_await host_.run();
    if (result) co_return loop_.end(kOk);
    if (result.error().code() == Code::cancelled) co_return;
    loop_.log().error("koord ends", kv("error", result.error()));
    loop_.end(kFailed);
  }

  Task<> stop() {
    co_await host_.stop(kGrace);
    if (host_.left_behind()) loop_.leave_behind();
  }

  const runtime::CommandLine& line_;
  runtime::EventLoop loop_;
  ProcessMetrics process_metrics_{loop_.sink(), loop_.clock()};
  kube::InformerSet informers_;
  runtime::RoleHost host_;
};

}  // namespace

int run_roles(const std::vector<const runtime::RoleDescriptor*>& roles, const runtime::CommandLine& line,
              Streams streams) {
  Process process(line);
  if (auto added = process.add(roles); !added) {
    streams.err << "koord: " << added.error().message() << "\n";
    return process.abandon();
  }
  return process.run();
}

}  // namespace koord::app
