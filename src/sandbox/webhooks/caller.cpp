// Webhooks over the network.
#include "sandbox/webhooks/caller.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/async/timer.hpp"
#include "koord/base/text.hpp"

namespace koord::sandbox {
namespace {

constexpr std::size_t kMostPools = 64;
constexpr unsigned kMostCalls = 128;                        // at once, of one webhook's server
constexpr std::size_t kMostAnswer = std::size_t{16} << 20;  // bytes
constexpr std::chrono::seconds kIdle{90};

// What went wrong on the way, as Go's client says it where it has words for it.
std::string go_words(const Error& error, const HookAddress& address) {
  if (error.code() == Code::timeout || error.code() == Code::cancelled) return "context deadline exceeded";
  const std::string& text = error.message();
  if (text.starts_with("connecting to ")) {
    const std::size_t end = text.find(": ", std::string_view("connecting to ").size());
    std::string why = end == std::string::npos ? text : text.substr(end + 2);
    if (!why.empty())
      why[0] = static_cast<char>(why[0] >= 'A' && why[0] <= 'Z' ? why[0] - 'A' + 'a' : why[0]);
    return fmt::format("dial tcp {}:{}: connect: {}", address.url.host, address.url.port, why);
  }
  if (text.find("self-signed certificate") != std::string::npos ||
      text.find("unable to get local issuer") != std::string::npos ||
      text.find("unable to verify the first certificate") != std::string::npos)
    return "tls: failed to verify certificate: x509: certificate signed by unknown authority";
  if (text.find("expired") != std::string::npos)
    return fmt::format(
        "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: {}", text);
  if (text.find("ended") != std::string::npos) return "EOF";
  return text;
}

}  // namespace

Result<HookAddress> resolve_hook(const HookClient& client, const Collection& services,
                                 std::chrono::seconds timeout) {
  HookAddress address;
  const std::string query = fmt::format("?timeout={}s", timeout.count());
  if (!client.url.empty()) {
    KOORD_TRY(url, net::parse_url(client.url));
    address.shown = fmt::format("{}{}", client.url, query);
    address.target = fmt::format("{}{}", url.prefix.empty() ? "/" : url.prefix, query);
    address.server_name = url.host;
    address.url = std::move(url);
    address.url.prefix.clear();
    return address;
  }
  address.server_name = fmt::format("{}.{}.svc", client.service, client.service_ns);
  const std::string path = client.path.empty() ? "/" : client.path;
  address.target = fmt::format("{}{}", path, query);
  address.url = {true, "127.0.0.1", fmt::format("{}:{}", address.server_name, client.port), "", 0};
  address.shown = fmt::format("https://{}{}", address.url.authority, address.target);
  const ObjectPtr service = services.get(client.service_ns, client.service);
  if (!service)
    return Error(Code::not_found,
                 fmt::format("Post {}: service {} not found", quote(address.shown), quote(client.service)));
  json::Document doc;
  load(*service, doc);
  if (const json::Value* ports = find(doc, "spec", "ports"))
    for (const json::Value& port : ports->elements())
      if (int_at(port, "port") == client.port) {
        const std::int64_t target = int_at(port, "targetPort").value_or(client.port);
        address.url.port = static_cast<std::uint16_t>(std::clamp<std::int64_t>(target, 1, UINT16_MAX));
      }
  if (address.url.port == 0)
    return Error(Code::not_found, fmt::format("Post {}: no service port {} found for service {}",
                                              quote(address.shown), client.port, quote(client.service)));
  return address;
}

PoolCaller::PoolCaller(asio::any_io_executor executor, Clock& clock, const Collection& services)
    : executor_(std::move(executor)), clock_(clock), services_(services) {}
PoolCaller::~PoolCaller() = default;

Result<std::shared_ptr<net::Pool>> PoolCaller::pool(const HookAddress& address, const std::string& ca_pem) {
  const std::string key =
      fmt::format("{}:{} {} {}", address.url.host, address.url.port, address.server_name, ca_pem);
  const auto known = std::ranges::find(pools_, key, &decltype(pools_)::value_type::first);
  if (known != pools_.end()) {
    pools_.splice(pools_.begin(), pools_, known);
    return known->second;
  }
  KOORD_TRY(tls, net::TlsContext::make_client({.server_name = address.server_name, .ca_pem = ca_pem}));
  net::PoolOptions options;
  options.max_connections = kMostCalls;
  options.max_body = kMostAnswer;
  options.idle_timeout = kIdle;
  auto fresh = std::make_shared<net::Pool>(executor_, clock_, address.url, tls, options);
  pools_.emplace_front(key, fresh);
  if (pools_.size() > kMostPools) pools_.pop_back();  // who still calls holds it
  return fresh;
}

Task<Result<net::Response>> PoolCaller::post(HookPtr hook, std::string body, std::chrono::seconds timeout) {
  KOORD_CO_TRY(address, resolve_hook(hook->client, services_, timeout));
  auto connections = pool(address, hook->client.ca_pem);
  if (!connections)
    co_return Error(Code::invalid,
                    fmt::format("unable to load root certificates: {}", connections.error().message()));
  const std::shared_ptr<net::Pool> held = *connections;
  net::Request request;
  request.method = "POST";
  request.target = address.target;
  request.headers.add("Content-Type", "application/json");
  request.headers.add("Accept", "application/json, */*");
  request.headers.add("User-Agent", "kube-apiserver-admission");
  request.body = std::move(body);
  request.timeout = timeout;
  request.idempotent = true;  // a review changes nothing: it may be asked twice
  auto response = co_await with_timeout(clock_, timeout, held->send(request));
  if (response) co_return std::move(*response);
  co_return Error(response.error().code(),
                  fmt::format("Post {}: {}", quote(address.shown), go_words(response.error(), address)));
}

}  // namespace koord::sandbox
