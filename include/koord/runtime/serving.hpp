// Serving: what a role shows to others: health, metrics, configuration and its own API, on its own ports.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/base/metrics.hpp"
#include "koord/net/message.hpp"
#include "koord/runtime/flags.hpp"

namespace koord::runtime {

/// Named checks behind /healthz, /livez and /readyz. Used on the event loop's thread.
class HealthChecks {
 public:
  /// `told` beside probes: callers see the error's message too, which holds nothing secret.
  enum Probe : unsigned { healthz = 1, livez = 2, readyz = 4, all = 7, told = 8 };
  /// Ok while it is well; of an error callers see only that the check failed, unless it is `told`.
  using Check = std::function<Result<>()>;

  void add(std::string name, Check check, unsigned probes = all);
  /// Answers /healthz, /healthz/NAME, ?verbose and ?exclude=NAME as kube-apiserver's generic server does; the
  /// path is already stripped of the probe's own name. Status 200, 404 or 500.
  net::Response answer(Probe probe, const net::Request& request, std::string_view name) const;

 private:
  struct Entry {
    std::string name;
    Check check;
    unsigned probes;
  };
  std::vector<Entry> entries_;
};

/// What a role serves beside the health checks and metrics that every role has.
class Routes {
 public:
  using Handler = std::function<Task<net::Response>(net::Request)>;

  struct Options {
    /// Never anonymous, whatever --authorization-always-allow-paths says, and never on a plain port.
    bool debug = false;
    /// The most bytes of a request's body; 0: it takes none, and one that comes is refused unread.
    std::size_t max_body = 0;
  };

  /// `path` ending in '/' answers everything below it, the longest match wins. Plain ports serve GET and
  /// HEAD.
  void add(std::string path, Handler handler) { add(std::move(path), std::move(handler), Options{}); }
  void add(std::string path, Handler handler, Options options);
  /// Metrics in Prometheus' text format, at a path of their own; `text` is asked for each answer.
  void add_metrics(std::string path, std::function<std::string()> text);
  /// A configuration file says where the plain port of the flag `port` is opened, instead of the flag: at
  /// "IP:PORT", each time at one more; port 0: nowhere.
  void open_at(std::string port, std::string address) {
    places_.emplace_back(std::move(port), std::move(address));
  }
  /// The JSON under `name` in /configz: the configuration in effect, without secrets.
  void set_configz(std::string name, std::string json);

  struct Route {
    std::string path;
    Handler handler;
    bool debug;
    std::size_t max_body;
  };
  const Route* find(std::string_view path) const;
  std::string configz() const;
  const std::vector<std::pair<std::string, std::string>>& places() const { return places_; }

 private:
  std::vector<Route> routes_;
  std::vector<std::pair<std::string, std::string>> configz_, places_;
};

/// Of a role's ports, and of servers that a role opens itself (see net::ServerOptions::dropped).
extern const metrics::Metric kDroppedConnections;
extern const metrics::Table kServingMetrics;

/// 200 with what metrics::Registry::exposition() says.
net::Response metrics_response(std::string exposition);

/// Upstream's flags of a secure port with delegated authentication and authorization. `port` is the default
/// of
/// --secure-port, as text ("10259"; "0" serves nothing).
constexpr std::array<Flag, 22> secure_serving_flags(std::string_view port) {
  constexpr std::string_view kServing = "Secure serving flags";
  constexpr std::string_view kAuthn = "Authentication flags";
  constexpr std::string_view kAuthz = "Authorization flags";
  return {{
      {"secure-port", FlagType::integer, port,
       "The port of HTTPS with authentication and authorization; 0 serves no HTTPS.", 0, kServing},
      {"bind-address", FlagType::text, "0.0.0.0",
       "The address that --secure-port listens on; 0.0.0.0 and :: are all interfaces.", 0, kServing},
      {"tls-cert-file", FlagType::text, "",
       "The certificate (with its chain) for HTTPS; read again when it changes. Without it and "
       "--tls-private-key-file a self-signed one is made in --cert-dir.",
       0, kServing},
      {"tls-private-key-file", FlagType::text, "", "The key of --tls-cert-file.", 0, kServing},
      {"cert-dir", FlagType::text, "",
       "Where a self-signed certificate is kept, as koord-ROLE.crt and koord-ROLE.key; empty: in memory.", 0,
       kServing},
      {"tls-min-version", FlagType::text, "", "VersionTLS12 or VersionTLS13.", 0, kServing},
      {"tls-cipher-suites", FlagType::list, "",
       "Cipher suites of TLS 1.2 by their IANA names; empty is the library's choice.", 0, kServing},
      {"client-ca-file", FlagType::text, "",
       "The CAs that client certificates are checked against: CN is the user, O are the groups.", 0, kAuthn},
      {"requestheader-client-ca-file", FlagType::text, "",
       "CAs of proxies whose headers name the user; empty: what the cluster says.", 0, kAuthn},
      {"requestheader-allowed-names", FlagType::list, "",
       "Common names of those proxies' certificates; empty: any that the CA has signed.", 0, kAuthn},
      {"requestheader-username-headers", FlagType::list, "x-remote-user",
       "Where such a proxy names the user; the first that is there counts.", 0, kAuthn},
      {"requestheader-uid-headers", FlagType::list, "", "Where it gives the user's uid.", 0, kAuthn},
      {"requestheader-group-headers", FlagType::list, "x-remote-group", "Where it names the user's groups.",
       0, kAuthn},
      {"requestheader-extra-headers-prefix", FlagType::list, "x-remote-extra-",
       "What headers with more about the user begin with.", 0, kAuthn},
      {"authentication-kubeconfig", FlagType::text, "",
       "A kubeconfig that may create tokenreviews; empty: the role's own credentials.", 0, kAuthn},
      {"authentication-skip-lookup", FlagType::boolean, "false",
       "Do not look up the CAs of the cluster's clients and proxies in "
       "kube-system/extension-apiserver-authentication.",
       0, kAuthn},
      {"authentication-token-webhook-cache-ttl", FlagType::duration, "10s",
       "How long the answer to a TokenReview is kept.", 0, kAuthn},
      {"authentication-tolerate-lookup-failure", FlagType::boolean, "true",
       "If that look-up fails, serve without it and try again; else end.", 0, kAuthn},
      {"authorization-kubeconfig", FlagType::text, "",
       "A kubeconfig that may create subjectaccessreviews; empty: the role's own credentials.", 0, kAuthz},
      {"authorization-always-allow-paths", FlagType::list, "/healthz,/readyz,/livez",
       "Paths that anybody may read, a trailing * matches what follows. Debug paths never are.", 0, kAuthz},
      {"authorization-webhook-cache-authorized-ttl", FlagType::duration, "10s",
       "How long an 'allowed' of a SubjectAccessReview is kept.", 0, kAuthz},
      {"authorization-webhook-cache-unauthorized-ttl", FlagType::duration, "10s",
       "How long a 'denied' of a SubjectAccessReview is kept.", 0, kAuthz},
  }};
}

}  // namespace koord::runtime
