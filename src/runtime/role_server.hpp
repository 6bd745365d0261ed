// RoleServer: a role's ports, from its flags.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster_auth.hpp"
#include "delegated_auth.hpp"
#include "koord/async/task_group.hpp"
#include "koord/net/certificate.hpp"
#include "koord/net/server.hpp"
#include "koord/runtime/role.hpp"

namespace koord::runtime {

/// Where a port flag's port is opened.
struct Endpoint {
  std::string address;     // numeric; empty: all interfaces
  std::uint16_t port = 0;  // 0: none
};
/// Code::invalid names the flag.
Result<Endpoint> endpoint_of(const PortFlag& port, const FlagValues& flags);

class RoleServer {
 public:
  explicit RoleServer(RoleContext& context);
  ~RoleServer();

  /// Opens every port of the role's flags that is not 0. Errors name the flag.
  Result<> open(const RoleDescriptor& role);
  Task<> stop();
  /// Of the ports, in the order of the descriptor's; 0 where none was opened.
  const std::vector<std::uint16_t>& ports() const { return ports_; }

  /// What a port answers, authentication aside.
  Task<net::Response> answer(net::Request request);

 private:
  Task<net::Response> answer_secure(net::Request request);
  Task<net::Admission> admit(const net::Request& request);
  net::Admission admit_plain(const net::Request& request) const;
  std::optional<net::Response> own(const net::Request& request) const;
  Result<std::shared_ptr<const net::TlsContext>> make_tls();
  Result<> open_secure(const PortFlag& port);
  Result<> read_certificate();
  Result<> read_own_auth();
  Task<> reload_certificate();
  Task<> follow_cluster_auth();
  Task<Result<>> look_up_cluster_auth();
  /// Serves with these settings from now on; the old ones stay if they are unusable. Logs the one or other.
  void renew_tls(net::TlsSettings settings, std::string_view done, std::string_view failed);

  RoleContext& context_;
  std::optional<KubeReviewer> reviewer_;
  std::optional<DelegatedAuth> auth_;
  std::optional<net::CertificateFiles> files_;
  net::TlsSettings tls_settings_;
  kube::Client* authentication_ = nullptr;
  bool own_client_ca_ = false, own_proxy_ca_ = false;  // from flags: the cluster's do not replace them
  std::optional<ClusterAuth> cluster_auth_;            // as it was last seen
  net::Server secure_, plain_;
  TaskGroup tasks_;
  std::vector<std::uint16_t> ports_;
};

}  // namespace koord::runtime
