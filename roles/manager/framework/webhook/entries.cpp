// Entries of webhook configurations: see entries.hpp.
#include "framework/webhook/entries.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "koord/api/rules/selector.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/admissionregistration_v1/webhook_configuration.hpp"

namespace koord::manager {

namespace {

/// What becomes of what an API server wants to ask about while nobody answers. Bindings are the scheduler's,
/// not users': who may bind is no reason to stop all of them.
std::string_view failure_policy(std::string_view resource, const WebhookSettings& settings) {
  if (resource == "pods" || (resource.starts_with("pods/") && resource != "pods/binding"))
    return settings.pods_policy;
  if (resource == "elasticquotas") return settings.quotas_policy;
  if (resource == "reservations") return settings.reservations_policy;
  return "Ignore";
}

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

api::Webhook webhook(const HandlerRow& handler, const WebhookEntry& entry, const WebhookSettings& settings) {
  api::Webhook hook;
  hook.name = entry.name;
  api::WebhookService& service = hook.client_config.service.emplace();
  service.namespace_ = settings.ns;
  service.name = settings.service;
  service.path = handler.path;
  api::WebhookRule& rule = hook.rules.emplace_back();
  for (const Operation operation : entry.operations) rule.operations.emplace_back(to_string(operation));
  rule.api_groups.emplace_back(entry.group);
  rule.api_versions.emplace_back(entry.version);
  rule.resources.emplace_back(entry.resource);
  const bool of_pods = entry.resource == "pods" || entry.resource.starts_with("pods/");
  hook.failure_policy = failure_policy(entry.resource, settings);
  add_selector(hook.namespace_selector, entry.namespace_selector);
  if (of_pods)
    add_selector(hook.namespace_selector,
                 fmt::format("kubernetes.io/metadata.name notin (kube-system,{})", settings.ns));
  add_selector(hook.object_selector, entry.object_selector);
  if (!entry.condition.empty())
    hook.match_conditions.push_back(
        {.name = std::string(entry.name), .expression = std::string(entry.condition)});
  hook.side_effects = "None";
  hook.timeout_seconds = settings.timeout_seconds;
  hook.admission_review_versions = {"v1", "v1beta1"};
  return hook;
}

}  // namespace

json::Document webhook_entries(std::span<const HandlerRow> rows, WebhookType type,
                               const WebhookSettings& settings) {
  api::MutatingWebhookConfiguration configuration;  // the entries of both kinds are the same
  for (const HandlerRow& handler : rows)
    if (handler.type == type)
      for (const WebhookEntry& entry : handler.entries)
        configuration.webhooks.push_back(webhook(handler, entry, settings));
  json::Document whole;
  whole = api::encode(configuration, whole.arena());
  return json::clone(json::array_at(whole, "webhooks", whole.arena()));
}

}  // namespace koord::manager
