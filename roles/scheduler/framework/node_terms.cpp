// Node selector terms: see node_terms.hpp.
#include "framework/node_terms.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace koord::scheduler {

namespace {

/// As Go's strconv.ParseInt in base 10.
std::optional<std::int64_t> integer(std::string_view text) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

/// Empty if it is well-formed, else what is wrong with the operator or with the values.
std::string_view fault(const api::NodeSelectorRequirement& r) {
  if (r.operator_ == "In" || r.operator_ == "NotIn")
    return r.values.empty() ? "for 'in', 'notin' operators, values set can't be empty" : "";
  if (r.operator_ == "Exists" || r.operator_ == "DoesNotExist")
    return r.values.empty() ? "" : "values set must be empty for exists and does not exist";
  if (r.operator_ == "Gt" || r.operator_ == "Lt") {
    if (r.values.size() != 1) return "for 'Gt', 'Lt' operators, exactly one value is required";
    return integer(r.values[0]) ? "" : "for 'Gt', 'Lt' operators, the value must be an integer";
  }
  return "operator";
}

bool matches(const api::NodeSelectorRequirement& r, const std::string* label) {
  auto listed = [&] {
    return std::any_of(r.values.begin(), r.values.end(), [&](const Symbol& v) { return v == *label; });
  };
  if (r.operator_ == "In") return label != nullptr && listed();
  if (r.operator_ == "NotIn") return label == nullptr || !listed();
  if (r.operator_ == "Exists") return label != nullptr;
  if (r.operator_ == "DoesNotExist") return label == nullptr;
  if (label == nullptr) return false;
  std::optional<std::int64_t> there = integer(*label), limit = integer(r.values[0]);
  if (!there || !limit) return false;
  return r.operator_ == "Gt" ? *there > *limit : *there < *limit;
}

bool field_ok(const api::NodeSelectorRequirement& r) {
  return (r.operator_ == "In" || r.operator_ == "NotIn") && r.values.size() == 1;
}

bool field_matches(const api::NodeSelectorRequirement& r, const api::Node& node) {
  bool equal = r.key == "metadata.name" ? r.values[0] == node.metadata.name : r.values[0].empty();
  return equal == (r.operator_ == "In");
}

}  // namespace

bool term_matches(const api::NodeSelectorTerm& term, const api::Node& node) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  for (const auto& r : term.match_expressions)
    if (!fault(r).empty() || !matches(r, node.metadata.labels.find(r.key.view()))) return false;
  for (const auto& r : term.match_fields)
    if (!field_ok(r) || !field_matches(r, node)) return false;
  return true;
}

bool any_term_matches(const api::NodeSelector& selector, const api::Node& node) {
  return std::any_of(selector.node_selector_terms.begin(), selector.node_selector_terms.end(),
                     [&](const api::NodeSelectorTerm& t) { return term_matches(t, node); });
}

void validate_term(const api::NodeSelectorTerm& term, const std::string& path, FieldErrors& errors) {
  for (std::size_t i = 0; i < term.match_expressions.size(); ++i) {
    const auto& r = term.match_expressions[i];
    std::string at = path + ".matchExpressions[" + std::to_string(i) + "]";
    std::string_view why = fault(r);
    if (why == "operator") {
      errors.not_supported(at + ".operator", r.operator_.str(),
                           {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"});
    } else if (!why.empty()) {
      errors.invalid(at + ".values", std::to_string(r.values.size()) + " values", why);
    }
  }
  for (std::size_t i = 0; i < term.match_fields.size(); ++i) {
    const auto& r = term.match_fields[i];
    std::string at = path + ".matchFields[" + std::to_string(i) + "]";
    if (r.operator_ != "In" && r.operator_ != "NotIn") {
      errors.not_supported(at + ".operator", r.operator_.str(), {"In", "NotIn"});
    } else if (r.values.size() != 1) {
      errors.invalid(at + ".values", std::to_string(r.values.size()) + " values", "must have one element");
    }
  }
}

void validate_terms(const api::NodeSelector& selector, const std::string& path, FieldErrors& errors) {
  for (std::size_t i = 0; i < selector.node_selector_terms.size(); ++i)
    validate_term(selector.node_selector_terms[i], path + "[" + std::to_string(i) + "]", errors);
}

void sign_term(const api::NodeSelectorTerm& term, Signature& signature) {
  for (const auto* list : {&term.match_expressions, &term.match_fields}) {
    signature.add(static_cast<std::int64_t>(list->size()));
    for (const auto& r : *list) {
      signature.add(r.key.view());
      signature.add(r.operator_.view());
      signature.add(static_cast<std::int64_t>(r.values.size()));
      for (const Symbol& v : r.values) signature.add(v.view());
    }
  }
}

}  // namespace koord::scheduler
