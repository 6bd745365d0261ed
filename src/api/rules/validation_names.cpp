#include "koord/api/rules/validation_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/base/text.hpp"

namespace koord::api {

namespace {

constexpr std::size_t kLabelMax = 63;
constexpr std::size_t kSubdomainMax = 253;

constexpr std::string_view kLabelPattern = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kSubdomainPattern =
    "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
constexpr std::string_view kNamePattern = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower_alnum(char c) { return is_lower(c) || is_digit(c); }
bool is_alnum(char c) { return is_lower_alnum(c) || (c >= 'A' && c <= 'Z'); }

bool matches_label(std::string_view s) {
  return !s.empty() && is_lower_alnum(s.front()) && is_lower_alnum(s.back()) &&
         std::all_of(s.begin(), s.end(), [](char c) { return is_lower_alnum(c) || c == '-'; });
}
bool matches_subdomain(std::string_view s) {
  for (;;) {
    const std::size_t dot = s.find('.');
    if (!matches_label(s.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    s.remove_prefix(dot + 1);
  }
}
bool matches_name(std::string_view s) {
  return !s.empty() && is_alnum(s.front()) && is_alnum(s.back()) &&
         std::all_of(s.begin(), s.end(),
                     [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

// The older functions of Kubernetes count "characters", those for labels "bytes".
std::string too_long(std::size_t max, std::string_view unit) {
  return fmt::format("must be no more than {} {}", max, unit);
}

std::string no_match(std::string_view message, std::string_view pattern,
                     std::initializer_list<std::string_view> examples) {
  std::string out = fmt::format("{} (e.g. ", message);
  for (const std::string_view example : examples)
    fmt::format_to(std::back_inserter(out), "{}'{}', ", example == *examples.begin() ? "" : " or ", example);
  fmt::format_to(std::back_inserter(out), "regex used for validation is '{}')", pattern);
  return out;
}

NameErrors subdomain_errors(std::string_view name, std::string_view unit) {
  NameErrors out;
  if (name.size() > kSubdomainMax) out.push_back(too_long(kSubdomainMax, unit));
  if (!matches_subdomain(name)) {
    out.push_back(
        no_match("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' "
                 "or '.', and must start and end with an alphanumeric character",
                 kSubdomainPattern, {"example.com"}));
  }
  return out;
}

}  // namespace

NameErrors check_dns1123_label(std::string_view name) {
  NameErrors out;
  if (name.size() > kLabelMax) out.push_back(too_long(kLabelMax, "characters"));
  if (!matches_label(name)) {
    if (matches_subdomain(name)) {
      out.emplace_back("must not contain dots");
    } else {
      out.push_back(
          no_match("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
                   "and must start and end with an alphanumeric character",
                   kLabelPattern, {"my-name", "123-abc"}));
    }
  }
  return out;
}

NameErrors check_dns1123_subdomain(std::string_view name) { return subdomain_errors(name, "characters"); }

NameErrors check_dns1035_label(std::string_view name) {
  NameErrors out;
  if (name.size() > kLabelMax) out.push_back(too_long(kLabelMax, "characters"));
  if (!matches_label(name) || !is_lower(name.front())) {
    out.push_back(
        no_match("a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with "
                 "an alphabetic character, and end with an alphanumeric character",
                 "[a-z]([-a-z0-9]*[a-z0-9])?", {"my-name", "abc-123"}));
  }
  return out;
}

NameErrors check_qualified_name(std::string_view name) {
  NameErrors out;
  const auto bad_name = [] {
    return no_match(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
        "alphanumeric character",
        kNamePattern, {"MyName", "my.name", "123-abc"});
  };
  const std::size_t slash = name.find('/');
  if (slash != std::string_view::npos) {
    const std::string_view prefix = name.substr(0, slash);
    name.remove_prefix(slash + 1);
    if (name.find('/') != std::string_view::npos)
      return {
          fmt::format("a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. "
                      "'example.com/MyName')",
                      bad_name())};
    if (prefix.empty()) {
      out.emplace_back("prefix part must be non-empty");
    } else {
      for (const std::string& error : subdomain_errors(prefix, "bytes"))
        out.push_back(fmt::format("prefix part {}", error));
    }
  }
  if (name.empty()) {
    out.emplace_back("name part must be non-empty");
  } else if (name.size() > kLabelMax) {
    out.push_back(fmt::format("name part {}", too_long(kLabelMax, "bytes")));
  }
  if (!matches_name(name)) out.push_back(fmt::format("name part {}", bad_name()));
  return out;
}

bool is_qualified_name(std::string_view name) {
  if (const std::size_t slash = name.find('/'); slash != std::string_view::npos) {
    const std::string_view prefix = name.substr(0, slash);
    if (prefix.size() > kSubdomainMax || !matches_subdomain(prefix)) return false;
    name.remove_prefix(slash + 1);
  }
  return name.size() <= kLabelMax && matches_name(name);
}

bool is_label_value(std::string_view value) {
  return value.empty() || (value.size() <= kLabelMax && matches_name(value));
}

NameErrors check_label_value(std::string_view value) {
  NameErrors out;
  if (value.size() > kLabelMax) out.push_back(too_long(kLabelMax, "bytes"));
  if (!value.empty() && !matches_name(value)) {
    out.push_back(
        no_match("a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
                 "'.', and must start and end with an alphanumeric character",
                 "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", {"MyValue", "my_value", "12345"}));
  }
  return out;
}

NameErrors check_path_segment(std::string_view name) {
  if (name == "." || name == "..") return {fmt::format("may not be '{}'", name)};
  NameErrors out;
  for (const char c : {'/', '%'})
    if (name.find(c) != std::string_view::npos) out.push_back(fmt::format("may not contain '{}'", c));
  return out;
}

std::string join(const NameErrors& errors, std::string_view separator) {
  return fmt::format("{}", fmt::join(errors, separator));
}

std::string invalid_value(std::string_view path, std::string_view value, std::string_view detail) {
  return fmt::format("{}: Invalid value: {}{}{}", path, quote(value), detail.empty() ? "" : ": ", detail);
}

}  // namespace koord::api
