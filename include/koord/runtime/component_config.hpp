// What the configuration files and flags of all Kubernetes components share (k8s.io/component-base/config):
// leader election and the connection to the API server, with their defaults, flags and validation.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "koord/api/rules/field_errors.hpp"
#include "koord/api/schema/schema.hpp"
#include "koord/api/values/time.hpp"
#include "koord/runtime/flags.hpp"

namespace koord::kube {
struct LeaderElectionConfig;
}

namespace koord::runtime {

struct ClientSettings;

/// LeaderElectionConfiguration.
struct LeaderElectionSettings {
  std::optional<bool> leader_elect;
  api::Duration lease_duration, renew_deadline, retry_period;
  std::string resource_lock, resource_name, resource_namespace;
  KOORD_STRUCT(LeaderElectionSettings);
};

/// ClientConnectionConfiguration.
struct ClientConnection {
  std::string kubeconfig, accept_content_types, content_type;
  double qps = 0;
  std::int32_t burst = 0;
  KOORD_STRUCT(ClientConnection);
};

/// Fills in what is absent, as upstream does: an election with 15 s, 10 s, 2 s on a lease of that name.
void set_defaults(LeaderElectionSettings& election, std::string_view lease_namespace,
                  std::string_view lease_name);
/// 50 requests a second, 100 at once, protobuf (which koord does not speak).
void set_defaults(ClientConnection& connection);

/// What is wrong, in upstream's words; `path` is where it stands ("leaderElection").
void validate(const LeaderElectionSettings& election, std::string_view path, api::FieldErrors& errors);
void validate(const ClientConnection& connection, std::string_view path, api::FieldErrors& errors);

/// `host_name` becomes the first part of the holder's identity.
kube::LeaderElectionConfig election_config(const LeaderElectionSettings& election,
                                           std::string_view host_name);
/// `server` replaces the kubeconfig's (--master).
ClientSettings client_settings(const ClientConnection& connection, const std::string& server);

/// Upstream's flags of a leader election on the lease NAMESPACE/NAME.
constexpr std::array<Flag, 7> leader_election_flags(std::string_view lease_namespace,
                                                    std::string_view lease_name) {
  constexpr std::string_view kSection = "Leader election flags";
  return {{
      {"leader-elect", FlagType::boolean, "true", "Work only while holding the lease.", 0, kSection},
      {"leader-elect-lease-duration", FlagType::duration, "15s",
       "How long others wait before they take over.", 0, kSection},
      {"leader-elect-renew-deadline", FlagType::duration, "10s", "How long the holder tries to renew.", 0,
       kSection},
      {"leader-elect-retry-period", FlagType::duration, "2s", "The time between tries.", 0, kSection},
      {"leader-elect-resource-lock", FlagType::text, "leases", "\"leases\" is the only kind.", 0, kSection},
      {"leader-elect-resource-name", FlagType::text, lease_name, "The name of the Lease.", 0, kSection},
      {"leader-elect-resource-namespace", FlagType::text, lease_namespace, "The namespace of the Lease.", 0,
       kSection},
  }};
}
/// Those of them that are on the command line win over the file.
void apply_flags(const FlagValues& flags, LeaderElectionSettings& election);

}  // namespace koord::runtime
