// PEM bundles, and lists of names as JSON.
#include "cluster_auth.hpp"

#include <fmt/format.h>

#include "koord/api/types/core_v1/config_map.hpp"
#include "koord/json/value.hpp"

namespace koord::runtime {

namespace {

Result<std::vector<std::string>> read_list(const api::ConfigMap& map, std::string_view key) {
  const std::string_view text = api::value_or(map.data, key);
  std::vector<std::string> list;
  if (text.empty()) return list;
  auto bad = [&](std::string_view why) {
    return Error(Code::parse,
                 fmt::format("configmap {}/{}: {}: {}", kClusterAuthNamespace, kClusterAuthName, key, why));
  };
  const auto document = json::parse(text);
  if (!document) return bad(document.error().message());
  if (!document->is_array()) return bad("is not a list");
  for (const json::Value& name : document->elements()) {
    if (!name.is_string()) return bad("is not a list of texts");
    list.emplace_back(name.text());
  }
  return list;
}

}  // namespace

Result<ClusterAuth> read_cluster_auth(const api::ConfigMap& map) {
  ClusterAuth out;
  out.client_ca_pem = api::value_or(map.data, "client-ca-file");
  out.proxy_ca_pem = api::value_or(map.data, "requestheader-client-ca-file");
  const std::pair<const char*, std::vector<std::string>*> lists[] = {
      {"requestheader-allowed-names", &out.headers.allowed_names},
      {"requestheader-username-headers", &out.headers.username_headers},
      {"requestheader-uid-headers", &out.headers.uid_headers},
      {"requestheader-group-headers", &out.headers.group_headers},
      {"requestheader-extra-headers-prefix", &out.headers.extra_prefixes},
  };
  for (const auto& [key, list] : lists) {
    KOORD_TRY(read, read_list(map, key));
    *list = std::move(read);
  }
  return out;
}

}  // namespace koord::runtime
