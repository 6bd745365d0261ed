// RoleHost: a set of roles in one process, from their making to their end. `koord --role` and the sandbox
// run roles through it alike.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "koord/base/log.hpp"
#include "koord/runtime/flags.hpp"
#include "koord/runtime/role.hpp"

namespace koord::runtime {

struct RoleHostParts {
  asio::any_io_executor executor;
  Clock& clock;
  WorkerPool& workers;
  Logger log;
  kube::InformerSet& informers;
  std::string version;
  /// Makes a role's ClientFactory; its user agent is koord-<role>/<version>, its requests are counted in the
  /// role's metrics.
  std::function<std::unique_ptr<ClientFactory>(std::string user_agent, metrics::Registry& metrics)> clients;
  /// Adds what belongs to the process to a role's metrics; may be empty.
  std::function<void(metrics::Registry& metrics)> process_metrics = {};
};

class RoleHost {
 public:
  explicit RoleHost(RoleHostParts parts);
  ~RoleHost();
  RoleHost(const RoleHost&) = delete;
  RoleHost& operator=(const RoleHost&) = delete;

  /// Checks that no two roles want one port, sets gates, makes every role and opens its ports. An error is
  /// one line for the user; nothing runs then. Once.
  Result<> add(std::span<const RoleDescriptor* const> roles, const CommandLine& line);
  /// Starts the roles and the informers. Returns the first failure, when cancelled, or without an error when
  /// a role has finished (RoleContext::finish).
  Task<Result<>> run();
  /// The longest of the roles'.
  nanoseconds shutdown_delay() const;
  /// Stops the roles, which have `grace` and their shutdown_delay(), then the informers, then the ports.
  /// Await before destroying.
  Task<> stop(nanoseconds grace);
  /// After stop(): something of a role still runs (RoleContext::left_behind), so that nothing may be
  /// destroyed.
  bool left_behind() const;
  /// The ports that a role has opened, in the order of its descriptor's.
  std::vector<std::uint16_t> ports(std::string_view role) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::runtime
