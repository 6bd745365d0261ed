// A transport and a client for each way of talking to the API server.
#include "koord/runtime/kube_clients.hpp"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <tuple>

#include "koord/kube/client.hpp"
#include "koord/kube/client_metrics.hpp"
#include "koord/kube/config.hpp"

namespace koord::runtime {

class KubeClients::Impl {
 public:
  struct Entry {
    std::unique_ptr<kube::Transport> transport;
    std::unique_ptr<kube::Client> client;
  };
  using Key = std::tuple<std::string, std::string, std::string, double, int>;

  asio::any_io_executor executor;
  Clock& clock;
  DefaultConfig config;
  std::string user_agent;
  kube::ClientMetrics metrics;
  net::PoolOptions transport;
  std::map<Key, Entry> entries;
};

namespace {

/// The same for the same user of the same server, so that roles share informers. Holds no secret.
std::string credentials_of(const kube::ClientConfig& config) {
  const std::hash<std::string> hash;
  std::string text = config.server;
  for (const std::string* part : {&config.ca_pem, &config.client_cert_pem, &config.client_key_pem,
                                  &config.token, &config.token_file, &config.username, &config.password})
    text += fmt::format(" {}", part->empty() ? 0 : hash(*part));
  return text;
}

}  // namespace

KubeClients::KubeClients(asio::any_io_executor executor, Clock& clock, DefaultConfig config,
                         std::string user_agent, metrics::Registry& metrics, net::PoolOptions transport)
    : impl_(new Impl{std::move(executor),
                     clock,
                     std::move(config),
                     std::move(user_agent),
                     kube::ClientMetrics(metrics),
                     std::move(transport),
                     {}}) {}
KubeClients::~KubeClients() = default;

Result<kube::ClientConfig> KubeClients::config(const ClientSettings& settings) {
  KOORD_TRY(config, impl_->config(settings.kubeconfig));
  if (!settings.server.empty()) config.server = settings.server;
  config.user_agent = settings.user_agent.empty() ? impl_->user_agent : settings.user_agent;
  config.qps = settings.qps;
  config.burst = settings.burst;
  return std::move(config);
}

Result<kube::Client*> KubeClients::client(const ClientSettings& settings) {
  const Impl::Key key{settings.kubeconfig, settings.server, settings.user_agent, settings.qps,
                      settings.burst};
  Impl::Entry& entry = impl_->entries[key];
  if (entry.client) return entry.client.get();
  KOORD_TRY(config, this->config(settings));
  KOORD_TRY(transport, kube::make_transport(impl_->executor, impl_->clock, config, impl_->transport));
  kube::Client::Options options;
  options.default_namespace = config.default_namespace;
  options.credentials = credentials_of(config);
  options.qps = config.qps;
  options.burst = config.burst;
  options.metrics = &impl_->metrics;
  options.host = kube::host_of(config.server);
  entry.transport = std::move(transport);
  entry.client = std::make_unique<kube::Client>(*entry.transport, impl_->clock, options);
  return entry.client.get();
}

}  // namespace koord::runtime
