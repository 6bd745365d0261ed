// What fields may be selected, and where a stored object has them.
#include "sandbox/select/selection.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/schema/codec.hpp"

namespace koord::sandbox {

Outcome<Selection> Selection::parse(std::string_view labels, std::string_view fields, const Kind& kind) {
  Selection selection;
  auto parsed = api::Selector::parse(labels);
  if (!parsed) return bad_request(parsed.error().message());
  selection.labels_ = std::move(*parsed);
  KOORD_PASS(selection.parse_fields(fields, kind));
  return selection;
}

Outcome<void> Selection::parse_fields(std::string_view text, const Kind& kind) {
  const auto parsed = api::FieldSelector::parse(text);
  if (!parsed) return bad_request(parsed.error().message());
  static constexpr std::string_view kPod[] = {
      "spec.nodeName",    "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
      "spec.hostNetwork", "status.phase",       "status.podIP",       "status.nominatedNodeName"};
  static constexpr std::string_view kEvent[] = {"involvedObject.kind",
                                                "involvedObject.namespace",
                                                "involvedObject.name",
                                                "involvedObject.uid",
                                                "involvedObject.apiVersion",
                                                "involvedObject.resourceVersion",
                                                "involvedObject.fieldPath",
                                                "reason",
                                                "reportingComponent",
                                                "source",
                                                "type",
                                                "regarding.kind",
                                                "regarding.namespace",
                                                "regarding.name",
                                                "regarding.uid",
                                                "regarding.apiVersion",
                                                "regarding.resourceVersion",
                                                "regarding.fieldPath",
                                                "reportingController"};
  auto known = [&](std::string_view name) {
    if (name == "metadata.name" || (name == "metadata.namespace" && kind.namespaced)) return true;
    auto has = [&](const auto& list) {
      return std::find(std::begin(list), std::end(list), name) != std::end(list);
    };
    if (kind.custom) return false;
    if (kind.resource == "pods") return has(kPod);
    if (kind.resource == "events") return has(kEvent);
    if (kind.resource == "nodes") return name == "spec.unschedulable";
    if (kind.resource == "namespaces") return name == "status.phase";
    if (kind.resource == "secrets") return name == "type";
    if (kind.resource == "jobs") return name == "status.successful";
    if (kind.resource == "replicasets" || kind.resource == "replicationcontrollers")
      return name == "status.replicas";
    return false;
  };
  std::vector<api::FieldSelector::Term> terms(parsed->terms().begin(), parsed->terms().end());
  for (api::FieldSelector::Term& term : terms) {
    std::string& name = term.field;
    if (!known(name)) {
      if (kind.custom || kind.group.empty())
        return bad_request(fmt::format("field label not supported: {}", name));
      return bad_request(fmt::format(
          "\"{}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", name));
    }
    // Both groups of Event are stored with the older one's names.
    if (name.starts_with("regarding.")) name = "involvedObject." + name.substr(10);
    if (name == "reportingController") name = "reportingComponent";
  }
  fields_ = api::FieldSelector::of(std::move(terms));
  return {};
}

Outcome<Selection> Selection::from_json(const Json* selector) {
  Selection selection;
  selection.labels_ = api::Selector::nothing();
  if (!selector || !selector->IsObject()) return selection;
  const auto decoded = api::decode<api::LabelSelector>(write_json(*selector));
  if (!decoded) return bad_request(decoded.error().message());
  auto parsed = api::Selector::from(&*decoded);
  if (!parsed) return bad_request(parsed.error().message());
  selection.labels_ = std::move(*parsed);
  return selection;
}

bool Selection::matches_labels(const std::vector<std::pair<std::string, std::string>>& labels) const {
  if (labels_.is_nothing()) return false;
  const auto requirements = labels_.requirements();
  return std::all_of(requirements.begin(), requirements.end(), [&](const api::SelectorRequirement& rule) {
    const auto it =
        std::lower_bound(labels.begin(), labels.end(), rule.key.view(),
                         [](const auto& entry, std::string_view key) { return entry.first < key; });
    const bool found = it != labels.end() && it->first == rule.key.view();
    return rule.matches_value(found ? std::optional<std::string_view>(it->second) : std::nullopt);
  });
}

bool Selection::matches(const Object& object) const {
  if (!matches_labels(object.labels)) return false;
  return fields_.matches([&](std::string_view field) -> std::string_view {
    if (field == "metadata.name") return object.name;
    if (field == "metadata.namespace") return object.ns;
    for (const auto& [name, text] : object.fields)
      if (name == field) return text;
    return {};
  });
}

}  // namespace koord::sandbox
