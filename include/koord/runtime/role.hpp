// Role: a module that koord can run, alone or with others in one process; and what it is handed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/metrics.hpp"
#include "koord/runtime/flags.hpp"
#include "koord/runtime/rights.hpp"
#include "koord/runtime/serving.hpp"

namespace koord {
class FeatureGates;
class Logger;
class WorkerPool;
struct FeatureGate;
namespace kube {
class Client;
class InformerSet;
struct ClientConfig;
}  // namespace kube
}  // namespace koord

namespace koord::runtime {

/// Whom a role talks to the API server as.
struct ClientSettings {
  /// Empty: --kubeconfig of the process, else KUBECONFIG, else the pod's service account.
  std::string kubeconfig;
  std::string server;      // replaces the kubeconfig's (--master); empty: does not
  std::string user_agent;  // empty: koord-<role>/<version>
  double qps = 0;          // 0: no client-side limit
  int burst = 0;
};

class ClientFactory {
 public:
  virtual ~ClientFactory() = default;
  /// Equal settings give the same client. It lives until the process ends. No request is made yet; what is
  /// wrong with the configuration is an error that names the file.
  virtual Result<kube::Client*> client(const ClientSettings& settings) = 0;
  /// How such a client reaches the server and as whom: for other servers of the cluster that take the same
  /// credentials (the kubelet).
  virtual Result<kube::ClientConfig> config(const ClientSettings& settings) = 0;
};

/// Everything that a role is given; all of it outlives the role. Touched on the event loop's thread only.
struct RoleContext {
  std::string_view role;  // "scheduler"
  std::string version;
  /// What the role's coroutines and ports run on. There is one thread: two tasks never run at once, but
  /// anything may happen between two co_awaits.
  asio::any_io_executor executor;
  Clock& clock;
  WorkerPool& workers;  // for what blocks
  Logger& log;
  metrics::Registry& metrics;  // the role's own, served on its ports
  const FlagValues& flags;     // the role's and the process's
  const FeatureGates& gates;
  ClientFactory& clients;
  kube::InformerSet& informers;  // shared by the roles; start() is the process's
  HealthChecks& health;
  Routes& routes;
  /// Ends the process in an orderly way, exit code 1: for a lease that is lost.
  std::function<void(Error)> shutdown;
  /// Ends the process in an orderly way, exit code 0: for a role whose work is done (--cleanup).
  std::function<void()> finish;
  /// Something of the role's cannot be stopped (a thread that hangs) and still uses what it was given: the
  /// process ends as soon as everything else has stopped, without destroying anything.
  std::function<void()> left_behind;
};

class Role {
 public:
  virtual ~Role() = default;
  /// Runs until it is cancelled (SIGTERM: return soon, within the 10 s that all roles have) or has failed;
  /// an error ends the process. Its ports are open when this is called. Own tasks live in a
  /// TaskGroup of the role's, stopped before run() returns.
  virtual Task<Result<>> run() = 0;
  /// How long it answers others while it ends, beyond those 10 s.
  virtual nanoseconds shutdown_delay() const { return nanoseconds::zero(); }
};

/// The exit codes.
inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;  // it ran and failed
inline constexpr int kUsage = 2;   // the command line or a configuration is wrong; nothing was started

struct Streams {
  std::ostream& out;
  std::ostream& err;
};

/// A command that belongs to a role: `koord NAME ...`, without the role's running.
struct RoleCommand {
  std::string_view name;
  std::string_view summary;  // one line of `koord --help`
  /// `arguments` without the command's name; returns the exit code.
  int (*run)(std::span<const std::string> arguments, Streams streams);
};

/// A flag that names a port; two roles that want the same one are an error at start.
struct PortFlag {
  std::string_view port;  // "secure-port"
  std::string_view
      address;  // "bind-address"; empty: `port` is a text "ADDRESS:PORT", as Go's listeners take it
  bool tls = true;
  std::string_view closed_by =
      {};  // a switch with which the port stays closed ("cleanup"); empty: there is none
};

/// One row of the program's table of roles. All of it is static.
struct RoleDescriptor {
  std::string_view name;
  std::string_view summary;  // one line of `koord --help`
  std::span<const Flag> flags;
  std::span<const FeatureGate> gates;
  std::span<const PortFlag> ports;
  std::span<const RoleCommand> commands = {};
  /// The original takes Go's single-dash long flags.
  bool single_dash = false;
  /// Reads the configuration, declares informers, checks, routes and metrics; no I/O but reading files.
  Result<std::unique_ptr<Role>> (*make)(RoleContext& context) = nullptr;
  /// Every metric of the role's own, from the tables of the parts that register them: the reference prints
  /// them. What each role has besides is the process's (kServingMetrics, kube::ClientMetrics::kMetrics, ...).
  std::span<const metrics::Table> metrics = {};
  /// The role's part of `koord docs` beyond flags, gates and metrics: configuration kinds, plugins, as
  /// markdown.
  std::string (*docs)() = nullptr;
  /// The service account that it runs as in a cluster, and what that may do: `koord manifests` prints both.
  std::string_view account = {};
  std::span<const Right> rights = {};
  /// The webhook configurations by which API servers ask it, as YAML documents.
  std::string (*webhooks)() = nullptr;
};

}  // namespace koord::runtime
