// The transport over a pool: who we are, and what is read again.
#include "koord/kube/transport.hpp"

#include "koord/kube/config.hpp"
#include "tls_source.hpp"
#include "token_source.hpp"

namespace koord::kube {

namespace {

class PoolTransport final : public Transport {
 public:
  PoolTransport(asio::any_io_executor executor, Clock& clock, const ClientConfig& config, net::Url url,
                TlsSource tls, net::PoolOptions options)
      : tokens_(config, clock),
        tls_(std::move(tls)),
        pool_(std::move(executor), clock, std::move(url), tls_.context(), std::move(options)) {}

  Task<Result<net::Response>> send(const net::Request& request) override {
    for (bool renewed = false;; renewed = true) {
      KOORD_CO_CHECK(refresh());
      Result<net::Response> response = co_await pool_.send(request, tokens_.header());
      const bool in_vain = response ? response->status == 401 : is_tls_failure(response.error());
      if (!in_vain || renewed || !reload()) co_return response;
    }
  }

  Task<Result<std::unique_ptr<net::Stream>>> open_stream(net::Request request) override {
    for (bool renewed = false;; renewed = true) {
      KOORD_CO_CHECK(refresh());
      Result<std::unique_ptr<net::Stream>> stream = co_await pool_.open_stream(request, tokens_.header());
      const bool in_vain = stream ? (*stream)->head().status == 401 : is_tls_failure(stream.error());
      if (!in_vain || renewed || !reload()) co_return stream;
    }
  }

 private:
  // Of the handshake; in TLS 1.3 a server that does not take our certificate says so when we read.
  static bool is_tls_failure(const Error& error) {
    return error.code() == Code::unavailable && error.message().find("TLS: ") != std::string::npos;
  }
  Result<> refresh() {
    if (tls_.refresh()) pool_.set_tls(tls_.context());
    return tokens_.refresh();
  }
  bool reload() {
    const bool tls = tls_.reload();
    if (tls) pool_.set_tls(tls_.context());
    return tokens_.reload() || tls;
  }

  TokenSource tokens_;
  TlsSource tls_;
  net::Pool pool_;
};

}  // namespace

Result<std::unique_ptr<Transport>> make_transport(asio::any_io_executor executor, Clock& clock,
                                                  const ClientConfig& config, net::PoolOptions options) {
  auto url = net::parse_url(config.server);
  if (!url) return std::move(url).error().context("server");
  if (config.user_agent.find_first_of("\r\n") != std::string::npos)
    return Error(Code::invalid, "the user agent must be one line");
  TlsSource tls(config, url->host, clock);
  if (url->tls) KOORD_CHECK(tls.start());
  options.headers.add("User-Agent", config.user_agent);
  if (!options.headers.has("Accept")) options.headers.add("Accept", "application/json");
  if (options.max_connections == 0) options.max_connections = 1;
  return std::unique_ptr<Transport>(std::make_unique<PoolTransport>(
      std::move(executor), clock, config, std::move(*url), std::move(tls), std::move(options)));
}

}  // namespace koord::kube
