// The cluster's own answer to who may be believed: kube-system/extension-apiserver-authentication.
#pragma once

#include <string>

#include "delegated_auth.hpp"
#include "koord/base/result.hpp"

namespace koord::api {
struct ConfigMap;
}

namespace koord::runtime {

inline constexpr std::string_view kClusterAuthNamespace = "kube-system";
inline constexpr std::string_view kClusterAuthName = "extension-apiserver-authentication";

/// What kube-apiserver publishes there; empty where it says nothing.
struct ClusterAuth {
  std::string client_ca_pem;
  std::string proxy_ca_pem;
  RequestHeaders headers;

  friend bool operator==(const ClusterAuth&, const ClusterAuth&) = default;
};

/// Errors name the key.
Result<ClusterAuth> read_cluster_auth(const api::ConfigMap& map);

}  // namespace koord::runtime
