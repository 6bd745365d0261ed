// A cluster's configuration as the manager reads it: see judged.hpp.
#include "judged.hpp"

#include <algorithm>

#include "admission/configmap/config_check.hpp"
#include "admission/handlers.hpp"
#include "framework/config/slo_config.hpp"

namespace koord::manager {

std::vector<JudgedKey> judge_slo_config(const api::ConfigMap& map) {
  const auto layouts = config_keys();
  std::vector<JudgedKey> keys;
  for (const auto& entry : map.data) {
    JudgedKey key{.key = std::string(entry.key)};
    key.known = std::ranges::any_of(layouts, [&](const KeyLayout& layout) { return layout.key == key.key; });
    if (key.known) {
      api::ConfigMap alone;
      alone.data[entry.key] = entry.value;
      SloConfig config;
      for (const ConfigProblem& problem : config.set(alone).problems) {
        key.unread |= !problem.unread_key.empty();
        key.problems.push_back(problem.message);
      }
    }
    keys.push_back(std::move(key));
  }
  for (const CheckedKey& checked : checked_keys(map, nullptr)) {
    const auto found = std::ranges::find(keys, checked.key(), &JudgedKey::key);
    if (found == keys.end() || found->unread) continue;
    const std::string wrong = checked.defect().empty() ? checked.check(true) : checked.defect();
    if (!wrong.empty()) found->problems.push_back(wrong);
  }
  return keys;
}

std::string_view gate_of_webhook(std::string_view path) {
  const auto rows = handlers();
  const auto found = std::ranges::find(rows, path, &HandlerRow::path);
  return found == rows.end() ? std::string_view() : found->gate;
}

}  // namespace koord::manager
