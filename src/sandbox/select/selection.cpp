// Parsing and matching of selectors.
#include "sandbox/select/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "sandbox/admission/metadata.hpp"

namespace koord::sandbox {
namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

// Splits at commas that stand outside of parentheses.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    parts.push_back(trim(text.substr(start, i - start)));
    start = i + 1;
  }
  return parts;
}

std::optional<std::int64_t> to_int(std::string_view text) {
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Failure bad_selector(std::string_view text, std::string_view why) {
  return bad_request(fmt::format("unable to parse requirement: {}: {}", text, why));
}

}  // namespace

Outcome<Selection> Selection::parse(std::string_view labels, std::string_view fields, const Kind& kind) {
  Selection selection;
  KOORD_PASS(selection.parse_labels(labels));
  KOORD_PASS(selection.parse_fields(fields, kind));
  return selection;
}

Outcome<void> Selection::parse_labels(std::string_view text) {
  if (trim(text).empty()) return {};
  for (std::string_view part : split(text)) {
    LabelRule rule;
    auto valid_key = [&](std::string_view key) -> Outcome<void> {
      if (std::string why = check_qualified_name(key); !why.empty())
        return bad_request(
            fmt::format("unable to parse requirement: <nil>: Invalid value: {}: {}", quote_json(key), why));
      rule.key = key;
      return {};
    };
    std::size_t open = part.find('(');
    if (open != part.npos) {
      if (part.back() != ')') return bad_selector(part, "expected ')'");
      std::string_view head = trim(part.substr(0, open));
      std::size_t space = head.find_last_of(" \t");
      if (space == head.npos) return bad_selector(part, "expected 'in' or 'notin'");
      std::string_view word = head.substr(space + 1);
      if (word != "in" && word != "notin")
        return bad_selector(part, fmt::format("found '{}', expected: 'in', 'notin'", word));
      rule.op = word == "in" ? Op::in : Op::not_in;
      KOORD_PASS(valid_key(trim(head.substr(0, space))));
      for (std::string_view value : split(part.substr(open + 1, part.size() - open - 2)))
        rule.values.emplace_back(value);
    } else if (std::size_t at = part.find("!="); at != part.npos) {
      rule.op = Op::not_in;
      KOORD_PASS(valid_key(trim(part.substr(0, at))));
      rule.values.emplace_back(trim(part.substr(at + 2)));
    } else if (at = part.find('='); at != part.npos) {
      rule.op = Op::in;
      KOORD_PASS(valid_key(trim(part.substr(0, at))));
      std::string_view value = part.substr(at + 1);
      if (!value.empty() && value.front() == '=') value.remove_prefix(1);
      rule.values.emplace_back(trim(value));
    } else if (at = part.find_first_of("<>"); at != part.npos) {
      rule.op = part[at] == '>' ? Op::greater : Op::less;
      KOORD_PASS(valid_key(trim(part.substr(0, at))));
      rule.values.emplace_back(trim(part.substr(at + 1)));
      if (!to_int(rule.values[0]))
        return bad_selector(part, "for 'Gt', 'Lt' operators, the value must be an integer");
    } else {
      bool absent = !part.empty() && part.front() == '!';
      rule.op = absent ? Op::absent : Op::exists;
      KOORD_PASS(valid_key(trim(absent ? part.substr(1) : part)));
    }
    for (const std::string& value : rule.values)
      if (std::string_view why = check_label_value(value); !why.empty())
        return bad_request(fmt::format("unable to parse requirement: values[0][{}]: Invalid value: {}: {}",
                                       rule.key, quote_json(value), why));
    labels_.push_back(std::move(rule));
  }
  return {};
}

Outcome<void> Selection::parse_fields(std::string_view text, const Kind& kind) {
  if (trim(text).empty()) return {};
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
  for (std::string_view part : split(text)) {
    if (part.empty()) continue;
    std::size_t at = part.find('=');
    if (at == part.npos || at == 0)
      return bad_request(fmt::format("invalid selector: '{}'; can't understand '{}'", text, part));
    FieldRule rule;
    rule.equal = part[at - 1] != '!';
    rule.name = trim(part.substr(0, rule.equal ? at : at - 1));
    std::string_view value = part.substr(at + 1);
    if (!value.empty() && value.front() == '=') value.remove_prefix(1);
    for (std::size_t i = 0; i < value.size(); ++i) {  // commas, equal signs and backslashes come escaped
      if (value[i] == '\\' && i + 1 < value.size()) ++i;
      rule.value += value[i];
    }
    if (!known(rule.name)) {
      if (kind.custom || kind.group.empty())
        return bad_request(fmt::format("field label not supported: {}", rule.name));
      return bad_request(fmt::format(
          "\"{}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", rule.name));
    }
    // Both groups of Event are stored with the older one's names.
    if (rule.name.starts_with("regarding.")) rule.name = "involvedObject." + rule.name.substr(10);
    if (rule.name == "reportingController") rule.name = "reportingComponent";
    fields_.push_back(std::move(rule));
  }
  return {};
}

Outcome<Selection> Selection::from_json(const Json* selector) {
  Selection selection;
  if (!selector || !selector->IsObject()) {
    selection.nothing_ = true;
    return selection;
  }
  if (const Json* labels = find(*selector, "matchLabels"); labels && labels->IsObject())
    for (const auto& label : labels->GetObject())
      if (label.value.IsString())
        selection.labels_.push_back(
            {std::string(view(label.name)), Op::in, {std::string(view(label.value))}});
  if (const Json* rules = find(*selector, "matchExpressions"); rules && rules->IsArray())
    for (const auto& expression : rules->GetArray()) {
      std::string_view op = text_at(expression, "operator");
      LabelRule rule{std::string(text_at(expression, "key")), Op::exists, {}};
      if (op == "In")
        rule.op = Op::in;
      else if (op == "NotIn")
        rule.op = Op::not_in;
      else if (op == "DoesNotExist")
        rule.op = Op::absent;
      else if (op != "Exists")
        return bad_request(fmt::format("\"{}\" is not a valid label selector operator", op));
      if (const Json* values = find(expression, "values"); values && values->IsArray())
        for (const auto& value : values->GetArray())
          if (value.IsString()) rule.values.emplace_back(view(value));
      selection.labels_.push_back(std::move(rule));
    }
  return selection;
}

bool Selection::matches_labels(const std::vector<std::pair<std::string, std::string>>& labels) const {
  if (nothing_) return false;
  for (const LabelRule& rule : labels_) {
    auto it = std::lower_bound(labels.begin(), labels.end(), rule.key,
                               [](const auto& entry, const std::string& key) { return entry.first < key; });
    const std::string* value = it != labels.end() && it->first == rule.key ? &it->second : nullptr;
    auto listed = [&] {
      return std::find(rule.values.begin(), rule.values.end(), *value) != rule.values.end();
    };
    bool good = false;
    switch (rule.op) {
      case Op::in: good = value && listed(); break;
      case Op::not_in: good = !value || !listed(); break;
      case Op::exists: good = value; break;
      case Op::absent: good = !value; break;
      case Op::greater:
      case Op::less: {
        auto number = value ? to_int(*value) : std::nullopt;
        auto limit = to_int(rule.values[0]);
        good = number && limit && (rule.op == Op::greater ? *number > *limit : *number < *limit);
        break;
      }
    }
    if (!good) return false;
  }
  return true;
}

bool Selection::matches(const Object& object) const {
  if (!matches_labels(object.labels)) return false;
  for (const FieldRule& rule : fields_) {
    std::string_view value;
    if (rule.name == "metadata.name")
      value = object.name;
    else if (rule.name == "metadata.namespace")
      value = object.ns;
    else
      for (const auto& [name, text] : object.fields)
        if (name == rule.name) value = text;
    if ((value == rule.value) != rule.equal) return false;
  }
  return true;
}

}  // namespace koord::sandbox
