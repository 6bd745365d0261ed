// What fields may be selected, and where a stored object has them.
#include "sandbox/select/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "koord/api/schema/codec.hpp"
#include "koord/json/value.hpp"

namespace koord::sandbox {

Outcome<Selection> Selection::parse(std::string_view labels, std::string_view fields, const Kind& kind) {
  Selection selection;
  auto parsed = api::Selector::parse(labels);
  if (!parsed) return bad_request(parsed.error().message());
  selection.set_labels(*std::move(parsed));
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
    if (kind.resource == "resourceslices") return name == "spec.nodeName" || name == "spec.driver";
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
    if (name.starts_with("regarding.")) name = fmt::format("involvedObject.{}", name.substr(10));
    if (name == "reportingController") name = "reportingComponent";
    FieldRule& rule = fields_[name];
    if (!term.equal)
      rule.unequal.insert(std::move(term.value));
    else if (rule.equal && *rule.equal != term.value)
      rule.never = true;
    else
      rule.equal = std::move(term.value);
  }
  return {};
}

Outcome<Selection> Selection::from_json(const json::Value* selector) {
  Selection selection;
  selection.labels_ = api::Selector::nothing();
  if (!selector || !selector->is_object()) return selection;
  const auto decoded = api::decode<api::LabelSelector>(*selector);
  if (!decoded) return bad_request(decoded.error().message());
  auto parsed = api::Selector::from(&*decoded);
  if (!parsed) return bad_request(parsed.error().message());
  selection.set_labels(*std::move(parsed));
  return selection;
}

void Selection::set_labels(api::Selector labels) {
  labels_ = std::move(labels);
  for (const api::SelectorRequirement& requirement : labels_.requirements()) {  // by key
    if (rules_.empty() || rules_.back().key != requirement.key.view())
      rules_.emplace_back().key = requirement.key.view();
    rules_.back().add(requirement);
  }
  for (LabelRule& rule : rules_) {
    std::sort(rule.denied.begin(), rule.denied.end());
    present_ += rule.present;
  }
}

void Selection::LabelRule::add(const api::SelectorRequirement& requirement) {
  using enum api::SelectorOp;
  std::vector<std::string_view> values;
  for (const Symbol& value : requirement.values) values.push_back(value.view());
  std::sort(values.begin(), values.end());
  const api::SelectorOp op = requirement.op;
  present = present || (op != not_equals && op != not_in && op != does_not_exist);
  switch (op) {
    case equals:
    case double_equals:
    case in:
      if (allowed) {
        std::vector<std::string_view> both;
        std::set_intersection(allowed->begin(), allowed->end(), values.begin(), values.end(),
                              std::back_inserter(both));
        allowed = std::move(both);
      } else {
        allowed = std::move(values);
      }
      break;
    case not_equals:
    case not_in: denied.insert(denied.end(), values.begin(), values.end()); break;
    case exists: break;
    case does_not_exist: absent = true; break;
    case greater_than: above = std::max(above.value_or(requirement.number), requirement.number); break;
    case less_than: below = std::min(below.value_or(requirement.number), requirement.number); break;
  }
}

bool Selection::LabelRule::fits(std::string_view value) const {
  if (absent || std::binary_search(denied.begin(), denied.end(), value)) return false;
  if (allowed && !std::binary_search(allowed->begin(), allowed->end(), value)) return false;
  if (!above && !below) return true;
  api::SelectorRequirement bound;  // how a number is read is its affair
  const auto within = [&](api::SelectorOp op, const std::optional<std::int64_t>& number) {
    bound.op = op;
    bound.number = number.value_or(0);
    return !number || bound.matches_value(value);
  };
  return within(api::SelectorOp::greater_than, above) && within(api::SelectorOp::less_than, below);
}

bool Selection::matches_labels(const std::vector<std::pair<std::string, std::string>>& labels) const {
  if (labels_.is_nothing() || present_ > labels.size()) return false;
  std::size_t found = 0;
  for (const auto& [key, value] : labels) {
    if (rules_.empty()) break;
    const auto rule =
        std::lower_bound(rules_.begin(), rules_.end(), key,
                         [](const LabelRule& each, const std::string& k) { return each.key < k; });
    if (rule == rules_.end() || rule->key != key) continue;
    if (!rule->fits(value)) return false;
    found += rule->present;
  }
  return found == present_;
}

bool Selection::matches(const Object& object) const {
  if (!matches_labels(object.labels)) return false;
  const auto value_of = [&](std::string_view field) -> std::string_view {
    if (field == "metadata.name") return object.name;
    if (field == "metadata.namespace") return object.ns;
    return object.field(field);
  };
  return std::all_of(fields_.begin(), fields_.end(), [&](const auto& field) {
    const auto& [name, rule] = field;
    const std::string_view value = value_of(name);
    return !rule.never && (!rule.equal || *rule.equal == value) && !rule.unequal.contains(value);
  });
}

}  // namespace koord::sandbox
