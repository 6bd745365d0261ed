// The enhanced validator: see enhanced_validator.hpp.
#include "admission/pod/enhanced_validator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "admission/raw/raw_object.hpp"
#include "framework/config/go_json.hpp"
#include "koord/api/koordinator/admission.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/json/value.hpp"

namespace koord::manager {
namespace {

/// As Go's TrimSpace and ToLower have it.
bool says_true(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f", kTrue = "true";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return false;
  text = text.substr(first, text.find_last_not_of(kSpace) - first + 1);
  return std::ranges::equal(text, kTrue,
                            [](char a, char b) { return a == b || (a >= 'A' && a <= 'Z' && a + 32 == b); });
}

Result<std::vector<ValidationRule>> read_rules(std::string_view text) {
  KOORD_TRY(in, json::parse(text));
  std::vector<ValidationRule> rules;
  if (in.is_null()) return rules;
  if (!in.is_array()) return Error(Code::parse, "an array is expected");
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i].is_null()) {
      rules.emplace_back();
      continue;
    }
    auto said = read_like_go(in[i], api::schema<ValidationRule>(), in.arena());
    if (!said) return std::move(said).error().context(fmt::format("[{}]", i));
    KOORD_TRY(rule, api::decode<ValidationRule>(*said));
    std::ranges::sort(rule.namespace_whitelist);
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace

KOORD_SCHEMA(ValidationRule, ROW(name), ROW(required_labels), ROW(namespace_whitelist));

Result<> EnhancedValidator::set(const api::ConfigMap* map) {
  if (map == nullptr) {
    *this = {};
    return {};
  }
  std::vector<ValidationRule> rules;
  if (const std::string* text = map->data.find("rules")) {
    auto read = read_rules(*text);
    if (!read) return std::move(read).error().context("failed to unmarshal validation rules");
    rules = std::move(*read);
  }
  enabled_ = says_true(api::value_or(map->data, "enable"));
  rules_ = std::move(rules);
  return {};
}

std::string EnhancedValidator::check(const json::Value& pod, std::string_view ns) const {
  if (!enabled_ || rules_.empty() || label(pod, api::kSkipEnhancedValidationLabel) == "true") return {};
  const json::Members<const json::Value> labels = label_index(pod);
  for (const ValidationRule& rule : rules_) {
    if (!ns.empty() && std::ranges::binary_search(rule.namespace_whitelist, ns)) continue;
    std::vector<std::string_view> missing;
    for (const std::string& key : rule.required_labels)
      if (labels.find(key) == nullptr) missing.push_back(key);
    if (missing.size() == 1) return fmt::format("required label '{}' is missing", missing[0]);
    if (!missing.empty()) return fmt::format("required labels are missing: [{}]", fmt::join(missing, " "));
  }
  return {};
}

}  // namespace koord::manager
