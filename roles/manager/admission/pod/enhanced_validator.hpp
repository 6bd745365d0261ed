// The enhanced validator: labels that pods must have, as a ConfigMap says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/core_v1/config_map.hpp"
#include "koord/base/result.hpp"
#include "koord/json/value.hpp"

namespace koord::manager {

struct ValidationRule {
  std::string name;
  std::vector<std::string> required_labels;
  std::vector<std::string> namespace_whitelist;  // rules do not hold there
  KOORD_STRUCT(ValidationRule);
};

/// What the ConfigMap says: off, until one is read.
class EnhancedValidator {
 public:
  /// nullptr: there is none, so it is off. One that cannot be read leaves everything as it was.
  Result<> set(const api::ConfigMap* map);

  /// What the pod lacks by the first rule that it breaks; empty if nothing. `ns` is where the pod is.
  std::string check(const json::Value& pod, std::string_view ns) const;

 private:
  bool enabled_ = false;
  std::vector<ValidationRule> rules_;
};

}  // namespace koord::manager
