// Compiling configurations, and the rules by which a request is a webhook's.
#include "sandbox/webhooks/hooks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/base/base64.hpp"
#include "koord/base/text.hpp"

namespace koord::sandbox {
namespace {

std::vector<std::string> texts(const json::Value& object, const char* field) {
  std::vector<std::string> list;
  if (const json::Value* values = find(object, field))
    for (const json::Value& value : values->elements())
      if (value.is_string()) list.emplace_back(value.text());
  return list;
}

bool has(const std::vector<std::string>& list, std::string_view wanted) {
  return std::ranges::any_of(list, [&](const std::string& each) { return each == "*" || each == wanted; });
}

using Labels = std::vector<std::pair<std::string, std::string>>;
Labels labels_of(const json::Value& object) {
  Labels labels;
  if (const json::Value* map = find(object, "metadata", "labels"))
    for (const json::Member& label : map->members())
      if (label.value.is_string()) labels.emplace_back(label.key(), label.value.text());
  std::ranges::sort(labels);
  return labels;
}

bool is_namespace(const Kind& kind) { return kind.group.empty() && kind.resource == "namespaces"; }

Selection selection_of(const json::Value* selector) {
  const json::Document everything = *json::parse("{}");
  auto selection = Selection::from_json(selector && selector->is_object() ? selector : &everything);
  // A selector that cannot be read was refused when it was written.
  return selection ? std::move(*selection) : *Selection::from_json(nullptr);
}

}  // namespace

Hook::Hook(const json::Value& webhook, std::string own_uid)
    : uid(std::move(own_uid)),
      name(text_at(webhook, "name")),
      namespaces_(selection_of(find(webhook, "namespaceSelector"))),
      objects_(selection_of(find(webhook, "objectSelector"))),
      conditions_(find(webhook, "matchConditions")) {
  ignores_failures = text_at(webhook, "failurePolicy") == "Ignore";
  reinvoked = text_at(webhook, "reinvocationPolicy") == "IfNeeded";
  equivalent_ = text_at(webhook, "matchPolicy") != "Exact";
  const std::string_view effects = text_at(webhook, "sideEffects");
  dry_run_safe = effects == "None" || effects == "NoneOnDryRun";
  timeout =
      std::chrono::seconds(std::clamp<std::int64_t>(int_at(webhook, "timeoutSeconds").value_or(10), 1, 30));
  for (const std::string& each : texts(webhook, "admissionReviewVersions"))
    if (version.empty() && (each == "v1" || each == "v1beta1")) version = each;
  client.url = text_at(webhook, "clientConfig", "url");
  client.service = text_at(webhook, "clientConfig", "service", "name");
  client.service_ns = text_at(webhook, "clientConfig", "service", "namespace");
  client.path = text_at(webhook, "clientConfig", "service", "path");
  client.port = int_at(webhook, "clientConfig", "service", "port").value_or(client.port);
  client.ca_pem = decode_base64(text_at(webhook, "clientConfig", "caBundle")).value_or("");
  if (const json::Value* rules = find(webhook, "rules"))
    for (const json::Value& rule : rules->elements())
      rules_.push_back({texts(rule, "operations"), texts(rule, "apiGroups"), texts(rule, "apiVersions"),
                        texts(rule, "resources"), std::string(text_at(rule, "scope"))});
}

bool Hook::Rule::matches(const Subject& subject, const Kind& form) const {
  const bool cluster = subject.request_ns().empty() || is_namespace(form);
  if ((scope == "Namespaced" && cluster) || (scope == "Cluster" && !cluster)) return false;
  if (!has(operations, operation_name(subject.operation)) || !has(groups, form.group) ||
      !has(versions, form.version))
    return false;
  return std::ranges::any_of(resources, [&](const std::string& each) {
    const std::string_view text = each;
    const std::size_t slash = std::min(text.find('/'), text.size());
    const std::string_view resource = text.substr(0, slash),
                           subresource = text.substr(std::min(slash + 1, text.size()));
    return (resource == "*" || resource == subject.resource) &&
           (subresource == "*" || subresource == subject.subresource);
  });
}

bool Hook::in_namespace(const Subject& subject, const Registry& registry) const {
  if (namespaces_.empty()) return true;
  const std::string& ns = subject.request_ns();
  const bool about_one = is_namespace(*subject.kind);
  if (ns.empty() && !about_one) return true;  // what lies in no namespace is never spared
  const bool coming = subject.operation == Operation::create || subject.operation == Operation::update;
  if (about_one && coming && subject.subresource.empty() && subject.has_object)
    return namespaces_.matches_labels(labels_of(subject.object));
  const ObjectPtr space = registry.get("", "namespaces").objects->get("", ns);
  return space && namespaces_.matches_labels(space->labels);
}

bool Hook::about_object(const Subject& subject) const {
  if (objects_.empty()) return true;
  const auto selected = [&](bool there, const json::Value& object) {
    return there && find(object, "metadata") && objects_.matches_labels(labels_of(object));
  };
  return selected(subject.has_object, subject.object) || selected(subject.has_old, subject.old);
}

Hook::KindPtr Hook::selects(const Subject& subject, const Registry& registry) const {
  KindPtr form = rules_take(subject, registry);
  return form && in_namespace(subject, registry) && about_object(subject) ? form : nullptr;
}

Hook::Taken Hook::takes(const Subject& subject, const Registry& registry) const {
  using End = MatchConditions::Judgement::End;
  KindPtr form = selects(subject, registry);
  if (!form || conditions_.empty()) return {std::move(form), {}};
  MatchConditions::Judgement said;
  // An object may be nested as deeply as a document can be: its review is not one then.
  if (const auto review = json::parse(review_text("v1", "", subject, *form)))
    said = conditions_.judge(*find(*review, "request"));
  else
    said = {End::failed, fmt::format("the request cannot be given to matchConditions of webhook {}: {}",
                                     quote(name), review.error().message())};
  if (said.end == End::mismatch || (said.end == End::failed && ignores_failures)) return {};
  return {std::move(form), std::move(said.failure)};
}

Hook::KindPtr Hook::rules_take(const Subject& subject, const Registry& registry) const {
  if (Hooks::is_exempt(*subject.kind)) return nullptr;
  const auto wants = [&](const Kind& form) {
    return std::ranges::any_of(rules_, [&](const Rule& rule) { return rule.matches(subject, form); });
  };
  if (wants(*subject.asked)) return subject.asked;
  if (!equivalent_ || !subject.kind->objects) return nullptr;
  for (const KindPtr& other : registry.all())
    if (other != subject.asked && other->objects == subject.kind->objects && wants(*other)) return other;
  return nullptr;
}

Hooks::Hooks(const Registry& registry)
    : mutating_{registry.get("admissionregistration.k8s.io", "mutatingwebhookconfigurations").objects},
      validating_{registry.get("admissionregistration.k8s.io", "validatingwebhookconfigurations").objects} {}

const std::vector<HookPtr>& Hooks::current(Family& family) {
  const Collection& configurations = *family.configurations;
  if (family.seen == configurations.end_change()) return family.hooks;
  family.seen = configurations.end_change();
  family.hooks.clear();
  for (const auto& [key, object] : configurations.objects()) {  // by name
    json::Document doc;
    load(*object, doc);
    const json::Value* webhooks = find(doc, "webhooks");
    if (!webhooks) continue;
    std::size_t number = 0;
    for (const json::Value& webhook : webhooks->elements())
      family.hooks.push_back(std::make_shared<const Hook>(
          webhook, fmt::format("{}/{}/{}", object->name, text_at(webhook, "name"), number++)));
  }
  return family.hooks;
}

}  // namespace koord::sandbox
