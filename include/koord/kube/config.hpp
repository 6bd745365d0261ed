// ClientConfig: how to reach an API server, and as whom; from a kubeconfig or from inside a pod.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"

namespace koord::kube {

struct ClientConfig {
  std::string server;           // "https://10.0.0.1:6443", optionally with a path prefix
  std::string ca_pem;           // empty: the system's certificates
  std::string ca_file;          // where ca_pem came from, to be read again; empty: nowhere
  std::string tls_server_name;  // empty: the host of `server`
  std::string pinned_cert_pem;  // this very certificate is accepted, whoever signed it and for whatever name
  bool insecure_skip_tls_verify = false;
  std::string client_cert_pem, client_key_pem;    // both or neither
  std::string client_cert_file, client_key_file;  // where they came from, to be read again; empty: nowhere
  std::string token;
  std::string token_file;  // wins over token; read again as it rotates
  std::string username, password;
  std::string default_namespace = "default";
  std::string user_agent = "koord";  // koord-<role>/<version>
  /// Client-side limit: requests a second and bucket size; qps 0 is none.
  double qps = 0;
  int burst = 0;
  /// Where all that comes from, for messages: a kubeconfig's path, "the pod's service account"; empty: nobody
  /// said.
  std::string source;
  /// What a person should be told, e.g. that verification is off.
  std::vector<std::string> warnings;
};

/// Reads one kubeconfig. `context` empty: its current-context. Relative file names in it are relative to it.
/// Errors name the file, the line and the field: Code::io, parse, invalid, not_found (a context), unsupported
/// (exec and auth-provider plugins, proxy-url).
Result<ClientConfig> load_kubeconfig(const std::string& path, std::string_view context = {});
/// The same from text; `path` is for messages and relative names.
Result<ClientConfig> parse_kubeconfig(std::string_view text, const std::string& path,
                                      std::string_view context = {});

using GetEnv = std::function<std::optional<std::string>(const char*)>;

/// The service account of the pod that we run in: KUBERNETES_SERVICE_HOST and _PORT, token, ca.crt and
/// namespace below `root` + /var/run/secrets/kubernetes.io/serviceaccount. Code::not_found when not in a pod.
Result<ClientConfig> in_cluster_config(const GetEnv& env, const std::string& root = "");

/// What the flags say: `kubeconfig` if given, else the file named by KUBECONFIG (one file; a list is an
/// error), else in-cluster, else HOME/.kube/config. The error lists what was tried.
Result<ClientConfig> find_config(const std::string& kubeconfig, std::string_view context, const GetEnv& env);

}  // namespace koord::kube
