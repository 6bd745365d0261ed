// KubeClients: how the roles of a process talk to the API server.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "koord/kube/transport.hpp"
#include "koord/runtime/role.hpp"

namespace koord::runtime {

/// The clients of a process: one for each ClientSettings.
class KubeClients final : public ClientFactory {
 public:
  /// How to reach the server where the settings do not say (the process's --kubeconfig).
  using DefaultConfig = std::function<Result<kube::ClientConfig>(const std::string& kubeconfig)>;
  /// Requests are counted in `metrics`, which outlives it.
  KubeClients(asio::any_io_executor executor, Clock& clock, DefaultConfig config, std::string user_agent,
              metrics::Registry& metrics, net::PoolOptions transport = {});
  ~KubeClients() override;
  Result<kube::Client*> client(const ClientSettings& settings) override;
  Result<kube::ClientConfig> config(const ClientSettings& settings) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::runtime
