// What a manager would make of a cluster's configuration, for who asks without running one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/core_v1/config_map.hpp"

namespace koord::manager {

/// One key of slo-controller-config, by the manager's own reader and its webhook's own rules.
struct JudgedKey {
  std::string key;
  bool known = false;                 // the manager reads it
  bool unread = false;                // as a whole: what it said before is in effect, or the defaults
  std::vector<std::string> problems;  // each names the part; empty: all of it is in effect
};

/// The keys of the ConfigMap, in its order. Untrusted text; nothing is stored.
std::vector<JudgedKey> judge_slo_config(const api::ConfigMap& map);

/// The gate that a path of the webhook server is behind; empty: no handler serves it.
std::string_view gate_of_webhook(std::string_view path);

}  // namespace koord::manager
