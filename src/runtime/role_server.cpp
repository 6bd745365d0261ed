// RoleServer: certificates, authentication, and the paths that every role has.
#include "role_server.hpp"

#include <fmt/format.h>

#include <charconv>
#include <tuple>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/config_map.hpp"
#include "koord/async/offload.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/file.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/base/version.hpp"
#include "koord/kube/client.hpp"

namespace koord::runtime {
namespace {

constexpr auto kReloadPeriod = std::chrono::seconds{10};
constexpr auto kLookupPeriod = std::chrono::seconds{60};
constexpr auto kLookupRetry = std::chrono::seconds{5};

std::string lookup_failure(const Error& error) {
  return fmt::format(
      "looking up configmap {}/{}: {}; its reader is the role extension-apiserver-authentication-reader, and "
      "--authentication-skip-lookup does without it",
      kClusterAuthNamespace, kClusterAuthName, error.message());
}

/// As kube-apiserver's /version; what koord has no word for is empty.
std::string version_text() {
  const BuildInfo& info = build_info();
  return fmt::format(
      R"({{"major":"{}","minor":"{}","gitVersion":"{}","gitCommit":"","gitTreeState":"","buildDate":"",)"
      R"("goVersion":"","compiler":"{}","platform":"{}"}})",
      info.major, info.minor, info.version, info.compiler, info.platform);
}

AuthSettings auth_settings(const FlagValues& flags) {
  AuthSettings settings;
  settings.token_ttl = flags.get_duration("authentication-token-webhook-cache-ttl");
  settings.allowed_ttl = flags.get_duration("authorization-webhook-cache-authorized-ttl");
  settings.denied_ttl = flags.get_duration("authorization-webhook-cache-unauthorized-ttl");
  settings.always_allow_paths = flags.get_list("authorization-always-allow-paths");
  return settings;
}

net::ServerOptions server_options(RoleContext& context) {
  net::ServerOptions options;
  options.max_body_bytes = 1 << 20;
  options.body_budget = 8 << 20;
  options.max_connections = 256;
  options.log = context.log;
  options.dropped = context.metrics.counters(kDroppedConnections);
  return options;
}

bool is_debug(const Routes::Route* route, std::string_view path) {
  return path.starts_with("/debug/") || (route && route->debug);
}

}  // namespace

const metrics::Metric kDroppedConnections{
    .name = "koord_server_dropped_connections_total",
    .help =
        "Number of connections that the role's ports dropped, by the reason: 'evicted' (idle or unknown, to "
        "make room), 'refused' (no room could be made), 'silent' (no request in time) or 'bodies' (too "
        "many bytes at once).",
    .labels = {"reason"}};
const metrics::Table kServingMetrics = {&kDroppedConnections};

namespace {

/// "ADDRESS:PORT", or a port alone; port -1: it is none.
std::pair<std::string, std::int64_t> split_address(const std::string& text) {
  std::string address;
  std::int64_t number = -1;
  const auto colon = text.rfind(':');
  const std::string digits = colon == std::string::npos ? text : text.substr(colon + 1);
  if (colon != std::string::npos) address = text.substr(0, colon);
  if (address.size() > 1 && address.front() == '[' && address.back() == ']')
    address = address.substr(1, address.size() - 2);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size()) number = text.empty() ? 0 : -1;
  return {std::move(address), number};
}

Result<Endpoint> make_endpoint(std::string address, std::int64_t number, std::string_view flag,
                               std::string_view shown) {
  if (number < 0 || number > 65535)
    return Error(Code::invalid, fmt::format("--{}: {} is not a port, which is 0 to 65535", flag, shown));
  if (address == "0.0.0.0" || address == "::") address.clear();
  return Endpoint{std::move(address), static_cast<std::uint16_t>(number)};
}

}  // namespace

Result<Endpoint> endpoint_of(const PortFlag& port, const FlagValues& flags) {
  std::string shown, address;
  std::int64_t number = 0;
  if (port.address.empty()) {
    shown = flags.get(port.port);
    std::tie(address, number) = split_address(shown);
  } else {
    number = flags.get_int(port.port);
    shown = std::to_string(number);
    address = flags.get(port.address);
  }
  KOORD_TRY(endpoint, make_endpoint(std::move(address), number, port.port, shown));
  if (!port.closed_by.empty() && flags.get_bool(port.closed_by)) return Endpoint{};
  return endpoint;
}

RoleServer::RoleServer(RoleContext& context)
    : context_(context),
      secure_(context.executor, context.clock, server_options(context),
              {.handle = [this](net::Request request) { return answer_secure(std::move(request)); },
               .admit = [this](const net::Request& request) { return admit(request); }}),
      plain_(context.executor, context.clock, server_options(context),
             {.handle = [this](net::Request request) { return answer(std::move(request)); },
              .fast_admit = [this](const net::Request& request) { return admit_plain(request); }}),
      tasks_(context.executor, log_failures(context.log)) {}

RoleServer::~RoleServer() = default;

Result<> RoleServer::open(const RoleDescriptor& role) {
  for (const PortFlag& port : role.ports) {
    ports_.push_back(0);
    bool elsewhere = false;
    for (const auto& [flag, address] : context_.routes.places()) {
      if (flag != port.port) continue;
      elsewhere = true;
      auto [host, number] = split_address(address);
      KOORD_TRY(endpoint, make_endpoint(std::move(host), number, flag, address));
      if (endpoint.port == 0) continue;
      auto bound = plain_.listen(endpoint.address, endpoint.port);
      if (!bound) return std::move(bound).error().context(fmt::format("role {}, {}", role.name, address));
      if (ports_.back() == 0) ports_.back() = *bound;
    }
    if (elsewhere) continue;
    KOORD_TRY(endpoint, endpoint_of(port, context_.flags));
    if (endpoint.port == 0) continue;
    if (port.tls) KOORD_CHECK(open_secure(port));
    net::Server& server = port.tls ? secure_ : plain_;
    std::shared_ptr<const net::TlsContext> tls;
    if (port.tls) {
      KOORD_TRY(made, make_tls());
      tls = std::move(made);
    }
    auto bound = server.listen(endpoint.address, endpoint.port, std::move(tls));
    if (!bound) return std::move(bound).error().context(fmt::format("role {}, --{}", role.name, port.port));
    ports_.back() = *bound;
  }
  if (files_) tasks_.spawn("certificate", reload_certificate());
  return {};
}

Result<> RoleServer::open_secure(const PortFlag&) {
  const FlagValues& flags = context_.flags;
  auto client_for = [&](std::string_view flag) {
    ClientSettings settings;
    settings.kubeconfig = flags.get(flag);
    return context_.clients.client(settings);
  };
  KOORD_TRY(authentication, client_for("authentication-kubeconfig"));
  KOORD_TRY(authorization, client_for("authorization-kubeconfig"));
  authentication_ = authentication;
  reviewer_.emplace(*authentication, *authorization);
  auth_.emplace(context_.executor, *reviewer_, context_.clock, auth_settings(flags));
  KOORD_CHECK(read_certificate());
  KOORD_CHECK(read_own_auth());
  tls_settings_.min_version = flags.get("tls-min-version");
  tls_settings_.cipher_suites = flags.get_list("tls-cipher-suites");
  if (!flags.get_bool("authentication-skip-lookup") && !(own_client_ca_ && own_proxy_ca_))
    tasks_.spawn("cluster authentication", follow_cluster_auth());
  return {};
}

Result<> RoleServer::read_certificate() {
  const FlagValues& flags = context_.flags;
  const std::string& certificate = flags.get("tls-cert-file");
  const std::string& key = flags.get("tls-private-key-file");
  if (certificate.empty() != key.empty())
    return Error(Code::invalid,
                 "--tls-cert-file and --tls-private-key-file belong together: give both or neither");
  net::CertificateRequest request;
  request.common_name = fmt::format("koord-{}", context_.role);
  request.dns_names = {"localhost"};
  request.ip_addresses = {"127.0.0.1", "::1"};
  net::KeyPair pair;
  if (!certificate.empty()) {
    files_.emplace(certificate, key);
  } else if (const std::string& folder = flags.get("cert-dir"); !folder.empty()) {
    auto kept = net::kept_certificate(folder, request.common_name, request, context_.clock.now());
    if (!kept) return std::move(kept).error().context("--cert-dir");
    files_.emplace(std::move(*kept));
  } else {
    KOORD_TRY(made, net::make_self_signed(request, context_.clock.now()));
    pair = std::move(made);
  }
  if (files_) {
    KOORD_TRY(read, files_->load());
    pair = std::move(read);
  }
  tls_settings_.certificate_pem = std::move(pair.certificate_pem);
  tls_settings_.key_pem = std::move(pair.key_pem);
  return {};
}

/// What the flags say about clients' certificates.
Result<> RoleServer::read_own_auth() {
  const FlagValues& flags = context_.flags;
  if (const std::string& ca = flags.get("client-ca-file"); !ca.empty()) {
    auto pem = read_file(ca);
    if (!pem) return std::move(pem).error().context("--client-ca-file");
    tls_settings_.client_ca_pem = std::move(*pem);
    own_client_ca_ = true;
  }
  if (const std::string& ca = flags.get("requestheader-client-ca-file"); !ca.empty()) {
    auto pem = read_file(ca);
    if (!pem) return std::move(pem).error().context("--requestheader-client-ca-file");
    tls_settings_.proxy_ca_pem = std::move(*pem);
    own_proxy_ca_ = true;
    auth_->set_request_headers({.allowed_names = flags.get_list("requestheader-allowed-names"),
                                .username_headers = flags.get_list("requestheader-username-headers"),
                                .uid_headers = flags.get_list("requestheader-uid-headers"),
                                .group_headers = flags.get_list("requestheader-group-headers"),
                                .extra_prefixes = flags.get_list("requestheader-extra-headers-prefix")});
  }
  return {};
}

Task<Result<>> RoleServer::look_up_cluster_auth() {
  kube::ObjectKey key{std::string(kClusterAuthNamespace), std::string(kClusterAuthName)};
  KOORD_CO_TRY(text, co_await authentication_->get_raw(api::kind<api::ConfigMap>(), std::move(key)));
  KOORD_CO_TRY(map, api::decode<api::ConfigMap>(text));
  KOORD_CO_TRY(found, read_cluster_auth(map));
  if (cluster_auth_ == found) co_return Result<>();
  net::TlsSettings settings = tls_settings_;
  if (!own_client_ca_) settings.client_ca_pem = found.client_ca_pem;
  if (!own_proxy_ca_) settings.proxy_ca_pem = found.proxy_ca_pem;
  if (!own_proxy_ca_) auth_->set_request_headers(found.headers);
  cluster_auth_ = std::move(found);
  renew_tls(std::move(settings), "the cluster's CAs have been looked up",
            "the CAs in kube-system/extension-apiserver-authentication cannot be used: the earlier ones stay "
            "in effect");
  co_return Result<>();
}

/// The API server may be away, and what it says may change: asked again and again.
Task<> RoleServer::follow_cluster_auth() {
  const bool tolerant = context_.flags.get_bool("authentication-tolerate-lookup-failure");
  bool told = false;
  while (true) {
    const Result<> done = co_await look_up_cluster_auth();
    if (!done && done.error().code() == Code::cancelled) co_return;
    if (!done && !cluster_auth_ && !tolerant) {
      context_.shutdown(Error(done.error().code(), lookup_failure(done.error())));
      co_return;
    }
    if (!done && !told)
      context_.log.warn(
          "the CAs of the cluster's clients could not be looked up: client certificates are refused until "
          "they are",
          kv("error", lookup_failure(done.error())));
    told = !done;
    const Result<> slept = co_await sleep(context_.clock, done ? kLookupPeriod : kLookupRetry);
    if (!slept) co_return;
  }
}

void RoleServer::renew_tls(net::TlsSettings settings, std::string_view done, std::string_view failed) {
  const auto tls = net::TlsContext::make_server(settings);
  if (!tls) {
    context_.log.warn(failed, kv("error", tls.error()));
    return;
  }
  tls_settings_ = std::move(settings);
  secure_.set_tls(*tls);
  context_.log.info(done);
}

Result<std::shared_ptr<const net::TlsContext>> RoleServer::make_tls() {
  return net::TlsContext::make_server(tls_settings_);
}

Task<> RoleServer::reload_certificate() {
  while (true) {
    const Result<> slept = co_await sleep(context_.clock, kReloadPeriod);
    if (!slept) co_return;
    std::function<Result<std::optional<net::KeyPair>>()> read = [this] { return files_->reload(); };
    const Result<std::optional<net::KeyPair>> pair = co_await offload(context_.workers, std::move(read));
    if (!pair) {
      if (pair.error().code() == Code::cancelled) co_return;
      context_.log.warn("the certificate could not be read again, the old one stays",
                        kv("error", pair.error()));
      continue;
    }
    if (!*pair) continue;
    net::TlsSettings settings = tls_settings_;
    settings.certificate_pem = (*pair)->certificate_pem;
    settings.key_pem = (*pair)->key_pem;
    renew_tls(std::move(settings), "the certificate has been read again",
              "the new certificate is unusable, the old one stays");
  }
}

Task<> RoleServer::stop() {
  co_await tasks_.stop(context_.clock, std::chrono::milliseconds{100});
  co_await secure_.stop(std::chrono::seconds{1});
  co_await plain_.stop(std::chrono::seconds{1});
  if (auth_) co_await auth_->stop();
}

std::optional<net::Response> RoleServer::own(const net::Request& request) const {
  const std::string& path = request.path;
  for (const auto& [probe, prefix] : {std::pair{HealthChecks::healthz, std::string_view("/healthz")},
                                      std::pair{HealthChecks::livez, std::string_view("/livez")},
                                      std::pair{HealthChecks::readyz, std::string_view("/readyz")}}) {
    if (path == prefix) return context_.health.answer(probe, request, "");
    if (path.starts_with(prefix) && path[prefix.size()] == '/')
      return context_.health.answer(probe, request, std::string_view(path).substr(prefix.size() + 1));
  }
  if (path == "/metrics") {
    if (request.method == "DELETE") {
      context_.metrics.reset();
      return net::Response::text(200, "metrics reset\n");
    }
    return metrics_response(context_.metrics.exposition());
  }
  if (path == "/version") return net::Response::json(200, version_text());
  if (path == "/configz") return net::Response::json(200, context_.routes.configz());
  return std::nullopt;
}

Task<net::Response> RoleServer::answer(net::Request request) {
  const Routes::Route* route = context_.routes.find(request.path);
  if (!route || route->path != "/metrics")  // which a role may want to answer by itself
    if (std::optional<net::Response> response = own(request)) co_return std::move(*response);
  if (!route) co_return net::Response::text(404, "404 page not found\n");
  co_return co_await route->handler(std::move(request));
}

/// A secure port is there for more than what anybody gets.
Task<net::Response> RoleServer::answer_secure(net::Request request) {
  const bool anybody = auth_->always_allowed(request.path);
  net::Response response = co_await answer(std::move(request));
  response.proves = !anybody;
  co_return response;
}

Task<net::Admission> RoleServer::admit(const net::Request& request) {
  const Routes::Route* route = context_.routes.find(request.path);
  net::Admission admission;
  admission.max_body = route ? route->max_body : 0;
  admission.refusal = co_await auth_->refuse(request, is_debug(route, request.path));
  co_return admission;
}

/// Nobody is asked who they are there: it is for reading, and shows nothing of the inside.
net::Admission RoleServer::admit_plain(const net::Request& request) const {
  net::Admission admission;
  admission.max_body = 0;
  if (request.method != "GET" && request.method != "HEAD") {
    admission.refusal = net::Response::text(405, "this port is for reading\n");
    admission.refusal->headers.add("Allow", "GET, HEAD");
  } else if (is_debug(context_.routes.find(request.path), request.path)) {
    admission.refusal = net::Response::text(404, "404 page not found\n");
  }
  return admission;
}

}  // namespace koord::runtime
