// Webhook configurations as the API has them: see manifests.hpp.
#include "manifests.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "admission/handlers.hpp"
#include "koord/api/rules/selector.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/admissionregistration_v1/webhook_configuration.hpp"
#include "koord/json/value.hpp"
#include "koord/json/yaml.hpp"
#include "koord/runtime/rights.hpp"

namespace koord::manager {

namespace {

/// The server answers within them whatever happens; an API server waits no longer for one that is gone.
constexpr int kTimeoutSeconds = 10;
constexpr std::string_view kNamespaceName = "kubernetes.io/metadata.name";

std::string_view to_string(api::SelectorOp op) {
  switch (op) {
    case api::SelectorOp::equals:
    case api::SelectorOp::in: return "In";
    case api::SelectorOp::not_in: return "NotIn";
    case api::SelectorOp::exists: return "Exists";
    case api::SelectorOp::does_not_exist: return "DoesNotExist";
    default: throw std::logic_error("a webhook's selector that labels cannot say");
  }
}

void add_selector(api::Box<api::LabelSelector>& to, std::string_view text) {
  if (text.empty()) return;
  if (!to) to.emplace();
  const auto parsed = api::Selector::parse(text);
  for (const api::SelectorRequirement& requirement : parsed.value().requirements()) {
    api::LabelSelectorRequirement& row = to->match_expressions.emplace_back();
    row.key = requirement.key;
    row.operator_ = Symbol(to_string(requirement.op));
    for (const Symbol& value : requirement.values) row.values.push_back(value);
  }
}

api::Webhook webhook(const HandlerRow& handler, const WebhookEntry& entry) {
  api::Webhook hook;
  hook.name = entry.name;
  api::WebhookService& service = hook.client_config.service.emplace();
  service.namespace_ = runtime::kOwnNamespace;
  service.name = "koordinator-webhook-service";
  service.path = handler.path;
  api::WebhookRule& rule = hook.rules.emplace_back();
  for (const Operation operation : entry.operations) rule.operations.emplace_back(to_string(operation));
  rule.api_groups.emplace_back(entry.group);
  rule.api_versions.emplace_back(entry.version);
  rule.resources.emplace_back(entry.resource);
  hook.failure_policy = entry.fail ? "Fail" : "Ignore";
  add_selector(hook.namespace_selector, entry.namespace_selector);
  if (entry.resource == "pods" || entry.resource.starts_with("pods/"))
    add_selector(hook.namespace_selector,
                 fmt::format("{} notin ({})", kNamespaceName, runtime::kOwnNamespace));
  add_selector(hook.object_selector, entry.object_selector);
  hook.side_effects = "None";
  hook.timeout_seconds = kTimeoutSeconds;
  hook.admission_review_versions = {"v1", "v1beta1"};
  return hook;
}

template <class Configuration>
std::string manifest(WebhookType type, std::string_view name) {
  Configuration configuration;
  configuration.metadata.name = name;
  // What the manager keeps the entries as they were in; with new manifests it begins anew.
  configuration.metadata.annotations["template"] = "";
  for (const HandlerRow& handler : handlers())
    if (handler.type == type)
      for (const WebhookEntry& entry : handler.entries)
        configuration.webhooks.push_back(webhook(handler, entry));
  return json::to_yaml(*json::parse(api::encode(configuration)));
}

}  // namespace

std::string webhook_manifests() {
  return fmt::format("{}---\n{}",
                     manifest<api::MutatingWebhookConfiguration>(
                         WebhookType::mutate, "koordinator-mutating-webhook-configuration"),
                     manifest<api::ValidatingWebhookConfiguration>(
                         WebhookType::validate, "koordinator-validating-webhook-configuration"));
}

}  // namespace koord::manager
