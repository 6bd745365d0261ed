#include "sandbox/admission/devices/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace koord::sandbox {
namespace {

constexpr std::size_t kDriverLength = 63, kPoolLength = 253, kIdLength = 32, kMostBindings = 4;
constexpr std::string_view kIdentifier =
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
    "'[A-Za-z_][A-Za-z0-9_]*')";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

void check_identifier(std::string_view id, const FieldPath& path, StatusCauses& errors) {
  if (id.size() > kIdLength) errors.too_long(path.text(), kIdLength);
  const bool valid = !id.empty() && is_letter(id[0]) &&
                     std::ranges::all_of(id, [](char c) { return is_letter(c) || is_digit(c); });
  if (!valid) errors.invalid(path.text(), id, kIdentifier);
}

// google/uuid's complaint; empty if it reads the text.
std::string uuid_error(std::string_view text) {
  constexpr std::size_t kPlain = 36, kUrn = 45, kBraces = 38, kBare = 32;
  const auto hex = [](std::string_view part) {
    return std::ranges::all_of(
        part, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); });
  };
  constexpr const char* kWrong = "invalid UUID format";
  switch (text.size()) {
    case kBare: return hex(text) ? "" : kWrong;
    case kUrn:
      if (lower(text.substr(0, 9)) != "urn:uuid:")
        return fmt::format("invalid urn prefix: {}", json::quote(text.substr(0, 9)));
      text.remove_prefix(9);
      break;
    case kBraces:
      if (text.front() != '{' || text.back() != '}') return "invalid bracketed UUID format";
      text = text.substr(1, kPlain);
      break;
    case kPlain: break;
    default: return fmt::format("invalid UUID length: {}", text.size());
  }
  if (text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-') return kWrong;
  for (const auto& [from, count] : {std::pair(0, 8), {9, 4}, {14, 4}, {19, 4}, {24, 12}})
    if (!hex(text.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(count)))) return kWrong;
  return "";
}

void check_effect(const Symbol& effect, const FieldPath& path, StatusCauses& errors) {
  if (effect != "NoExecute" && effect != "NoSchedule" && effect != "None")
    errors.unsupported(path.text(), effect, {"NoExecute", "NoSchedule", "None"});
}

void check_expression(const api::NodeSelectorRequirement& rule, const FieldPath& path, StatusCauses& errors) {
  const Symbol& op = rule.operator_;
  const FieldPath values = path.field("values");
  if (op == "In" || op == "NotIn") {
    if (rule.values.empty())
      errors.required(values.text(), "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!rule.values.empty())
      errors.forbidden(values.text(), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  } else if (op == "Gt" || op == "Lt") {
    if (rule.values.size() != 1)
      errors.required(values.text(), "must be specified single value when `operator` is 'Lt' or 'Gt'");
  } else {
    errors.invalid(path.field("operator").text(), op, "not a valid selector operator");
  }
  check_label_name(rule.key, path.field("key"), errors);
  for (std::size_t i = 0; i < rule.values.size(); ++i)
    check_label_value(rule.values[i], values.at(i), errors);
}

void check_field(const api::NodeSelectorRequirement& rule, const FieldPath& path, StatusCauses& errors) {
  const FieldPath values = path.field("values");
  if (rule.operator_ != "In" && rule.operator_ != "NotIn")
    errors.invalid(path.field("operator").text(), rule.operator_, "not a valid selector operator");
  else if (rule.values.size() != 1)
    errors.required(values.text(),
                    "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
  if (rule.key != "metadata.name")
    return errors.invalid(path.field("key").text(), rule.key, "not a valid field selector key");
  for (std::size_t i = 0; i < rule.values.size(); ++i) check_subdomain(rule.values[i], values.at(i), errors);
}

}  // namespace

bool check_label(std::string_view name, const FieldPath& path, StatusCauses& errors) {
  return !add_errors(api::check_dns1123_label(name), path.text(), name, errors);
}

bool check_subdomain(std::string_view name, const FieldPath& path, StatusCauses& errors) {
  return !add_errors(api::check_dns1123_subdomain(name), path.text(), name, errors);
}

bool check_label_name(std::string_view name, const FieldPath& path, StatusCauses& errors) {
  return api::is_qualified_name(name) ||
         !add_errors(api::check_qualified_name(name), path.text(), name, errors);
}

bool check_label_value(std::string_view value, const FieldPath& path, StatusCauses& errors) {
  return api::is_label_value(value) || !add_errors(api::check_label_value(value), path.text(), value, errors);
}

void check_driver(std::string_view name, const FieldPath& path, StatusCauses& errors) {
  if (name.empty()) return errors.required(path.text());
  if (name.size() > kDriverLength) errors.too_long(path.text(), kDriverLength);
  add_errors(api::check_dns1123_subdomain(lower(name)), path.text(), name, errors);
}

void check_pool(std::string_view name, const FieldPath& path, StatusCauses& errors) {
  if (name.empty()) return errors.required(path.text());
  if (name.size() > kPoolLength) errors.too_long(path.text(), kPoolLength);
  for (std::size_t from = 0; from <= name.size() && !errors.full();) {
    const std::size_t slash = std::min(name.find('/', from), name.size());
    check_subdomain(name.substr(from, slash - from), path, errors);
    from = slash + 1;
  }
}

void check_uuid(std::string_view text, const FieldPath& path, StatusCauses& errors) {
  constexpr std::size_t kNormal = 36;
  if (const std::string why = uuid_error(text); !why.empty())
    errors.invalid(path.text(), text, fmt::format("error validating uid: {}", why));
  else if (text.size() != kNormal || lower(text) != text)
    errors.invalid(path.text(), text,
                   "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with "
                   "lowercase hexadecimal characters");
}

void check_qualified(std::string_view name, const FieldPath& path, StatusCauses& errors) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return check_identifier(name, path, errors);
  const std::string_view domain = name.substr(0, slash), id = name.substr(slash + 1);
  if (id.find('/') != std::string_view::npos) return;  // kube-apiserver takes it as it is
  if (domain.empty())
    errors.invalid(path.text(), "", "the domain must not be empty");
  else
    check_driver(domain, path, errors);
  if (id.empty())
    errors.invalid(path.text(), "", "the name must not be empty");
  else
    check_identifier(id, path, errors);
}

void check_fully_qualified(std::string_view name, const FieldPath& path, StatusCauses& errors) {
  check_qualified(name, path, errors);
  if (name.find('/') == std::string_view::npos)
    errors.invalid(path.text(), name,
                   "a fully qualified name must be a domain and a name separated by a slash");
}

bool check_count(std::size_t count, std::size_t most, const FieldPath& path, StatusCauses& errors) {
  if (count <= most) return true;
  errors.too_many(path.text(), count, most);
  return false;
}

void check_parameters(const api::RawJson& parameters, std::size_t most, const FieldPath& path,
                      StatusCauses& errors) {
  if (parameters.empty()) return errors.required(path.text());
  if (parameters.text.size() > most) return errors.too_long(path.text(), most);
  if (parameters.text.front() != '{')
    errors.invalid(path.text(), "<value omitted>", "must be a valid JSON object");
}

void check_configuration(const api::DeviceConfiguration& configuration, const FieldPath& path,
                         StatusCauses& errors) {
  const FieldPath opaque = path.field("opaque");
  if (!configuration.opaque) return errors.required(opaque.text());
  check_driver(configuration.opaque->driver, opaque.field("driver"), errors);
  check_parameters(configuration.opaque->parameters, kMostParameterBytes, opaque.field("parameters"), errors);
}

void check_toleration(const api::DeviceToleration& toleration, const FieldPath& path, StatusCauses& errors) {
  const Symbol& op = toleration.operator_;
  if (!toleration.key.empty()) check_label_name(toleration.key, path.field("key"), errors);
  if (op == "Exists") {
    if (!toleration.value.empty())
      errors.invalid(path.field("value").text(), toleration.value, "must be empty for operator `Exists`");
  } else if (op == "Equal") {
    check_label_value(toleration.value, path.field("value"), errors);
  } else if (op.empty()) {
    errors.required(path.field("operator").text());
  } else {
    errors.unsupported(path.field("operator").text(), op, {"Equal", "Exists"});
  }
  if (!toleration.effect.empty()) check_effect(toleration.effect, path.field("effect"), errors);
}

void check_taint(const api::DeviceTaint& taint, const FieldPath& path, StatusCauses& errors) {
  check_label_name(taint.key, path.field("key"), errors);
  if (!taint.value.empty()) check_label_value(taint.value, path.field("value"), errors);
  if (taint.effect.empty())
    errors.required(path.field("effect").text());
  else
    check_effect(taint.effect, path.field("effect"), errors);
}

void check_bindings(const api::List<Symbol>& conditions, const api::List<Symbol>& failures,
                    const FieldPath& path, StatusCauses& errors) {
  const FieldPath ready = path.field("bindingConditions"), failed = path.field("bindingFailureConditions");
  const auto name = [&](const Symbol& each, const FieldPath& at) { check_label_name(each, at, errors); };
  check_list(conditions, kMostBindings, ready, errors, name);
  check_list(failures, kMostBindings, failed, errors, name);
  std::set<std::string_view> all, others;
  for (std::size_t i = 0; i < conditions.size(); ++i)
    if (!all.insert(conditions[i]).second) errors.duplicate(ready.at(i).text(), conditions[i]);
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (!others.insert(failures[i]).second) errors.duplicate(failed.at(i).text(), failures[i]);
    if (all.contains(failures[i]))
      errors.invalid(failed.at(i).text(), failures[i],
                     "bindingFailureConditions must not overlap with bindingConditions");
  }
  if (conditions.empty() && !failures.empty())
    errors.invalid_raw(ready.text(), "null",
                       "bindingConditions are required to use bindingFailureConditions");
  if (failures.empty() && !conditions.empty())
    errors.invalid_raw(failed.text(), "null",
                       "bindingFailureConditions are required to use bindingConditions");
}

void check_node_selector(const api::NodeSelector& selector, const FieldPath& path, StatusCauses& errors) {
  const FieldPath terms = path.field("nodeSelectorTerms");
  if (selector.node_selector_terms.empty())
    return errors.required(terms.text(), "must have at least one node selector term");
  for (std::size_t i = 0; i < selector.node_selector_terms.size(); ++i) {
    const api::NodeSelectorTerm& term = selector.node_selector_terms[i];
    const FieldPath at = terms.at(i), expressions = at.field("matchExpressions"),
                    fields = at.field("matchFields");
    for (std::size_t j = 0; j < term.match_expressions.size(); ++j)
      check_expression(term.match_expressions[j], expressions.at(j), errors);
    for (std::size_t j = 0; j < term.match_fields.size(); ++j)
      check_field(term.match_fields[j], fields.at(j), errors);
  }
}

Failure malformed(const Kind& kind, const Error& why) {
  return bad_request(fmt::format("{} in version \"{}\" cannot be handled as a {}: {}", kind.kind,
                                 kind.version, kind.kind, why.message()));
}

}  // namespace koord::sandbox
