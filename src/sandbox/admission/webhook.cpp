// Webhook configurations: defaults and validation.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "koord/base/base64.hpp"
#include "koord/json/writer.hpp"
#include "sandbox/admission/match_conditions.hpp"
#include "sandbox/admission/metadata.hpp"
#include "sandbox/admission/rules.hpp"

namespace koord::sandbox {
namespace {

constexpr std::string_view kForm = "; desired format: https://host[/path]";

void webhook_defaults(json::Value& webhook, bool mutating, json::Arena& arena) {
  if (!webhook.is_object()) return;
  default_text(webhook, "failurePolicy", "Fail", arena);
  default_text(webhook, "matchPolicy", "Equivalent", arena);
  set_default(webhook, "namespaceSelector", json::Value::object(), arena);
  set_default(webhook, "objectSelector", json::Value::object(), arena);
  default_int(webhook, "timeoutSeconds", 10, arena);
  if (mutating) default_text(webhook, "reinvocationPolicy", "Never", arena);
  if (json::Value* rules = find(webhook, "rules"))
    for (json::Value& rule : rules->elements())
      if (rule.is_object()) default_text(rule, "scope", "*", arena);
  if (json::Value* service = find(webhook, "clientConfig", "service"); service && service->is_object())
    default_int(*service, "port", 443, arena);
}

template <bool mutating>
void defaults(json::Value& object, json::Arena& arena) {
  if (json::Value* webhooks = find(object, "webhooks"))
    for (json::Value& webhook : webhooks->elements()) webhook_defaults(webhook, mutating, arena);
}

void one_of(const json::Value& object, const FieldPath& path, std::string_view field,
            const std::vector<std::string_view>& allowed, StatusCauses& errors) {
  const json::Value* value = find(object, field);
  if (value && !value->is_null() && std::ranges::find(allowed, value->text()) == allowed.end())
    errors.unsupported(path.field(field).text(), value->text(), allowed);
}

bool holds(const json::Value* list, std::string_view text) {
  return list && std::ranges::any_of(list->elements(), [&](const json::Value& each) {
           return each.is_string() && each.text() == text;
         });
}

// Of one list of a rule: something, and a wildcard alone.
const json::Value* check_list(const json::Value& rule, const FieldPath& path, std::string_view field,
                              std::string_view others, StatusCauses& errors) {
  const json::Value* list = find(rule, field);
  if (is_empty(list) || !list->is_array()) {
    errors.required(path.field(field).text());
    return nullptr;
  }
  if (list->size() > 1 && holds(list, "*"))
    errors.invalid_raw(path.field(field).text(), json::to_text(*list),
                       fmt::format("if '*' is present, must not specify other {}", others));
  return list;
}

void check_resources(const json::Value& rule, const FieldPath& path, StatusCauses& errors) {
  const FieldPath at = path.field("resources");
  const json::Value* list = find(rule, "resources");
  if (is_empty(list) || !list->is_array()) return errors.required(at.text());
  std::set<std::string_view> all_of, everywhere;  // x/* and */x
  bool plain = false;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string_view text = (*list)[i].text();
    if (text.empty()) {
      errors.required(at.at(i).text());
      continue;
    }
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) {
      plain = text != "*";  // as kube-apiserver has it: the last one counts
      continue;
    }
    const std::string_view resource = text.substr(0, slash), sub = text.substr(slash + 1);
    if (all_of.contains(resource))
      errors.invalid(at.at(i).text(), text,
                     fmt::format("if '{}/*' is present, must not specify {}", resource, text));
    if (everywhere.contains(sub))
      errors.invalid(at.at(i).text(), text,
                     fmt::format("if '*/{}' is present, must not specify {}", sub, text));
    if (sub == "*") all_of.insert(resource);
    if (resource == "*") everywhere.insert(sub);
  }
  if (list->size() > 1 && holds(list, "*/*"))
    errors.invalid_raw(at.text(), json::to_text(*list),
                       "if '*/*' is present, must not specify other resources");
  if (holds(list, "*") && plain)
    errors.invalid_raw(at.text(), json::to_text(*list),
                       "if '*' is present, must not specify other resources without subresources");
}

void check_rule(const json::Value& rule, const FieldPath& path, StatusCauses& errors) {
  const std::vector<std::string_view> operations = {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"};
  if (const json::Value* list = check_list(rule, path, "operations", "operations", errors))
    for (std::size_t i = 0; i < list->size(); ++i)
      if (std::ranges::find(operations, (*list)[i].text()) == operations.end())
        errors.unsupported(path.field("operations").at(i).text(), (*list)[i].text(), operations);
  check_list(rule, path, "apiGroups", "API groups", errors);
  if (const json::Value* list = check_list(rule, path, "apiVersions", "API versions", errors))
    for (std::size_t i = 0; i < list->size(); ++i)
      if ((*list)[i].text().empty()) errors.required(path.field("apiVersions").at(i).text());
  check_resources(rule, path, errors);
  one_of(rule, path, "scope", {"*", "Cluster", "Namespaced"}, errors);
}

void check_selector(const json::Value& webhook, const FieldPath& path, std::string_view field,
                    StatusCauses& errors) {
  const json::Value* selector = find(webhook, field);
  if (!selector || !selector->is_object()) return;
  const FieldPath here = path.field(field), labels = here.field("matchLabels"),
                  list = here.field("matchExpressions");
  validate_labels(find(*selector, "matchLabels"), labels.text(), errors);
  const json::Value* expressions = find(*selector, "matchExpressions");
  for (std::size_t i = 0; expressions && i < expressions->elements().size(); ++i) {
    const json::Value& expression = (*expressions)[i];
    const FieldPath at = list.at(i), values_at = at.field("values");
    const std::string_view op = text_at(expression, "operator"), key = text_at(expression, "key");
    const json::Value* values = find(expression, "values");
    const bool in = op == "In" || op == "NotIn", there = op == "Exists" || op == "DoesNotExist";
    if (in && is_empty(values))
      errors.required(values_at.text(), "must be specified when `operator` is 'In' or 'NotIn'");
    if (there && !is_empty(values))
      errors.forbidden(values_at.text(),
                       "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    if (!in && !there) errors.invalid(at.field("operator").text(), op, "not a valid selector operator");
    add_errors(api::check_qualified_name(key), at.field("key").text(), key, errors);
    for (std::size_t v = 0; values && v < values->elements().size(); ++v)
      add_errors(api::check_label_value((*values)[v].text()), values_at.at(v).text(), (*values)[v].text(),
                 errors);
  }
}

void check_url(std::string_view url, const std::string& path, StatusCauses& errors) {
  const std::size_t colon = url.find("://");
  std::string_view scheme = colon == std::string_view::npos ? std::string_view() : url.substr(0, colon);
  std::string_view rest = colon == std::string_view::npos ? std::string_view() : url.substr(colon + 3);
  const auto cut = [&](char mark) {
    const std::size_t at = rest.find(mark);
    std::string_view after = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
    rest = rest.substr(0, at);
    return after;
  };
  const std::string_view fragment = cut('#'), query = cut('?');
  rest = rest.substr(0, rest.find('/'));
  const std::size_t at = rest.rfind('@');
  const std::string_view user = at == std::string_view::npos ? std::string_view() : rest.substr(0, at);
  const std::string_view host = at == std::string_view::npos ? rest : rest.substr(at + 1);
  if (scheme != "https")
    errors.invalid(path, scheme, fmt::format("'https' is the only allowed URL scheme{}", kForm));
  if (host.empty()) errors.invalid(path, host, fmt::format("host must be specified{}", kForm));
  if (at != std::string_view::npos)
    errors.invalid(path, user, "user information is not permitted in the URL");
  if (!fragment.empty()) errors.invalid(path, fragment, "fragments are not permitted in the URL");
  if (!query.empty()) errors.invalid(path, query, "query parameters are not permitted in the URL");
}

void check_service(const json::Value& service, const FieldPath& path, StatusCauses& errors) {
  constexpr std::int64_t kMostPort = 65'535;
  // kube-apiserver mixes the two fields up.
  if (text_at(service, "namespace").empty()) errors.required(path.field("name").text());
  if (text_at(service, "name").empty()) errors.required(path.field("namespace").text());
  if (const auto port = int_at(service, "port").value_or(0); port < 1 || port > kMostPort)
    errors.invalid_raw(path.field("port").text(), fmt::to_string(port),
                       "port is not valid: must be between 1 and 65535, inclusive");
  const std::string_view url_path = text_at(service, "path");
  if (url_path.empty() || url_path == "/") return;
  const std::string at = path.field("path").text();
  if (url_path == "//") return errors.invalid(at, url_path, "segment[0] may not be empty");
  if (!url_path.starts_with('/')) errors.invalid(at, url_path, "must start with a '/'");
  std::string_view rest = url_path.substr(1);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  for (std::size_t i = 0;; ++i) {
    const std::size_t slash = rest.find('/');
    const std::string_view step = rest.substr(0, slash);
    if (step.empty())
      errors.invalid(at, url_path, fmt::format("segment[{}] may not be empty", i));
    else
      for (const std::string& why : api::check_dns1123_subdomain(step))
        errors.invalid(at, url_path, fmt::format("segment[{}]: {}", i, why));
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
}

void check_client(const json::Value& webhook, const FieldPath& path, StatusCauses& errors) {
  const FieldPath at = path.field("clientConfig");
  const auto given = [&](const char* field) {
    const json::Value* value = find(webhook, "clientConfig", field);
    return value && !value->is_null() ? value : nullptr;
  };
  const json::Value *url = given("url"), *service = given("service");
  if (!url == !service)
    errors.required(at.text(), "exactly one of url or service is required");
  else if (url)
    check_url(url->text(), at.field("url").text(), errors);
  else
    check_service(*service, at.field("service"), errors);
  // What the sandbox does not look at until it calls is refused when it is written, as a broken bundle is.
  if (const json::Value* bundle = given("caBundle");
      bundle && !bundle->text().empty() && !decode_base64(bundle->text()))
    errors.invalid(at.field("caBundle").text(), "", "must be base64");
}

void check_versions(const json::Value& webhook, const FieldPath& path, StatusCauses& errors) {
  const FieldPath at = path.field("admissionReviewVersions");
  const json::Value* versions = find(webhook, "admissionReviewVersions");
  if (is_empty(versions) || !versions->is_array())
    return errors.required(at.text(), "must specify one of v1, v1beta1");
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < versions->size(); ++i) {
    const std::string_view version = (*versions)[i].text();
    if (!seen.insert(version).second)
      errors.invalid(at.at(i).text(), version, "duplicate version");
    else
      add_errors(api::check_dns1035_label(version), at.at(i).text(), version, errors);
  }
  if (!seen.contains("v1") && !seen.contains("v1beta1"))
    errors.invalid_raw(at.text(), json::to_text(*versions), "must include at least one of v1, v1beta1");
}

void check_name(std::string_view name, const std::string& path, StatusCauses& errors) {
  constexpr int kLeastDots = 2;
  if (name.empty()) return errors.required(path);
  if (add_errors(api::check_dns1123_subdomain(name), path, name, errors)) return;
  if (std::ranges::count(name, '.') < kLeastDots)
    errors.invalid(path, name, "should be a domain with at least three segments separated by dots");
}

void check_webhook(const json::Value& webhook, const FieldPath& path, bool mutating, std::size_t& weight,
                   StatusCauses& errors) {
  constexpr std::int64_t kLongest = 30;
  check_name(text_at(webhook, "name"), path.field("name").text(), errors);
  const FieldPath rules_at = path.field("rules");
  if (const json::Value* rules = find(webhook, "rules"))
    for (std::size_t i = 0; i < rules->elements().size(); ++i)
      check_rule((*rules)[i], rules_at.at(i), errors);
  one_of(webhook, path, "failurePolicy", {"Fail", "Ignore"}, errors);
  one_of(webhook, path, "matchPolicy", {"Equivalent", "Exact"}, errors);
  if (const json::Value* effects = find(webhook, "sideEffects"); !effects || effects->is_null())
    errors.required(path.field("sideEffects").text(), "must specify one of None, NoneOnDryRun");
  one_of(webhook, path, "sideEffects", {"None", "NoneOnDryRun"}, errors);
  if (const auto seconds = int_at(webhook, "timeoutSeconds");
      seconds && (*seconds < 1 || *seconds > kLongest))
    errors.invalid_raw(path.field("timeoutSeconds").text(), fmt::to_string(*seconds),
                       "the timeout value must be between 1 and 30 seconds");
  check_selector(webhook, path, "namespaceSelector", errors);
  check_selector(webhook, path, "objectSelector", errors);
  if (mutating) one_of(webhook, path, "reinvocationPolicy", {"IfNeeded", "Never"}, errors);
  check_client(webhook, path, errors);
  validate_match_conditions(find(webhook, "matchConditions"), path.field("matchConditions"), weight, errors);
}

template <bool mutating>
void validate(const json::Value& object, const json::Value*, Admission&, StatusCauses& errors) {
  const json::Value* webhooks = find(object, "webhooks");
  if (!webhooks || webhooks->is_null()) return;
  if (!webhooks->is_array())
    return errors.wrong_type("webhooks", json::to_text(*webhooks), "must be a list of webhooks");
  const FieldPath list("webhooks");
  std::set<std::string_view> names;
  std::size_t weight = 0;  // of all conditions
  for (std::size_t i = 0; i < webhooks->size(); ++i) {
    const json::Value& webhook = (*webhooks)[i];
    const FieldPath at = list.at(i);
    check_webhook(webhook, at, mutating, weight, errors);
    check_versions(webhook, at, errors);
    const std::string_view name = text_at(webhook, "name");
    if (!name.empty() && !names.insert(name).second) errors.duplicate(at.field("name").text(), name);
  }
}

}  // namespace

KindRules webhook_rules(bool mutating) {
  if (mutating) return {nullptr, defaults<true>, nullptr, validate<true>, nullptr};
  return {nullptr, defaults<false>, nullptr, validate<false>, nullptr};
}

}  // namespace koord::sandbox
