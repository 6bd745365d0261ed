#include "koord/runtime/component_config.hpp"

#include <fmt/format.h>

#include "koord/api/schema/table.hpp"
#include "koord/base/text.hpp"
#include "koord/kube/leader_election.hpp"
#include "koord/runtime/role.hpp"

namespace koord::runtime {

KOORD_SCHEMA(LeaderElectionSettings, ROW(leader_elect).doc("Only the holder of the lease works."),
             ROW(lease_duration).doc("How long others wait before they take over."),
             ROW(renew_deadline).doc("How long the holder tries to renew."),
             ROW(retry_period).doc("Between tries."), ROW(resource_lock).doc("\"leases\" is the only kind."),
             ROW(resource_name).doc("Name of the Lease."),
             ROW(resource_namespace).doc("Namespace of the Lease."));
KOORD_SCHEMA(ClientConnection, ROW(kubeconfig).doc("Path of a kubeconfig file; empty: in-cluster."),
             ROW(accept_content_types).doc("Accepted and ignored: JSON is used."),
             ROW(content_type).doc("Accepted and ignored: JSON is used."), ROW(qps).doc("Requests a second."),
             ROW(burst).doc("Requests at once beyond that."));

void set_defaults(LeaderElectionSettings& election, std::string_view lease_namespace,
                  std::string_view lease_name) {
  const auto text = [](std::string& to, std::string_view value) {
    if (to.empty()) to = value;
  };
  const auto duration = [](api::Duration& to, std::chrono::seconds value) {
    if (to == api::Duration()) to = api::Duration(value);
  };
  text(election.resource_lock, "leases");
  text(election.resource_namespace, lease_namespace);
  text(election.resource_name, lease_name);
  if (!election.leader_elect) election.leader_elect = true;
  duration(election.lease_duration, std::chrono::seconds(15));
  duration(election.renew_deadline, std::chrono::seconds(10));
  duration(election.retry_period, std::chrono::seconds(2));
}

void set_defaults(ClientConnection& connection) {
  if (connection.content_type.empty()) connection.content_type = "application/vnd.kubernetes.protobuf";
  if (connection.qps == 0) connection.qps = 50;
  if (connection.burst == 0) connection.burst = 100;
}

void validate(const LeaderElectionSettings& election, std::string_view path, api::FieldErrors& errors) {
  if (!election.leader_elect.value_or(true)) return;
  const auto at = [&](std::string_view field) { return fmt::format("{}.{}", path, field); };
  const auto positive = [&](const api::Duration& duration, std::string_view field) {
    if (duration.value <= nanoseconds::zero())
      errors.invalid(at(field), quote(duration.to_string()), "must be greater than zero");
  };
  positive(election.lease_duration, "leaseDuration");
  positive(election.renew_deadline, "renewDeadline");
  positive(election.retry_period, "retryPeriod");
  if (election.lease_duration <= election.renew_deadline)
    errors.invalid(at("leaseDuration"), quote(election.renew_deadline.to_string()),
                   "must be greater than `RenewDeadline`");
  if (election.resource_lock.empty()) errors.required(at("resourceLock"));
  if (election.resource_namespace.empty()) errors.required(at("resourceNamespace"));
  if (election.resource_name.empty()) errors.required(at("resourceName"));
  if (election.resource_lock != "leases")
    errors.invalid(at("resourceLock"), quote(election.resource_lock),
                   "resourceLock value must be \"leases\"");
}

void validate(const ClientConnection& connection, std::string_view path, api::FieldErrors& errors) {
  if (connection.burst < 0)
    errors.invalid(fmt::format("{}.burst", path), fmt::format("{}", connection.burst),
                   "must be non-negative");
}

kube::LeaderElectionConfig election_config(const LeaderElectionSettings& election,
                                           std::string_view host_name) {
  kube::LeaderElectionConfig config;
  config.lease_namespace = election.resource_namespace;
  config.lease_name = election.resource_name;
  config.identity = kube::make_identity(host_name);
  config.lease_duration = election.lease_duration.value;
  config.renew_deadline = election.renew_deadline.value;
  config.retry_period = election.retry_period.value;
  return config;
}

ClientSettings client_settings(const ClientConnection& connection, const std::string& server) {
  ClientSettings settings;
  settings.kubeconfig = connection.kubeconfig;
  settings.server = server;
  settings.qps = connection.qps;
  settings.burst = connection.burst;
  return settings;
}

void apply_flags(const FlagValues& flags, LeaderElectionSettings& election) {
  if (flags.changed("leader-elect")) election.leader_elect = flags.get_bool("leader-elect");
  const auto duration = [&](std::string_view name, api::Duration& to) {
    if (flags.changed(name)) to = api::Duration(flags.get_duration(name));
  };
  duration("leader-elect-lease-duration", election.lease_duration);
  duration("leader-elect-renew-deadline", election.renew_deadline);
  duration("leader-elect-retry-period", election.retry_period);
  const auto text = [&](std::string_view name, std::string& to) {
    if (flags.changed(name)) to = flags.get(name);
  };
  text("leader-elect-resource-lock", election.resource_lock);
  text("leader-elect-resource-name", election.resource_name);
  text("leader-elect-resource-namespace", election.resource_namespace);
}

}  // namespace koord::runtime
