#include "koord/api/rules/node_selector.hpp"

#include <algorithm>

#include "koord/api/rules/validation_names.hpp"
#include "koord/base/text.hpp"
#include "selector_check.hpp"

namespace koord::api {

namespace {

std::string not_supported(const std::string& path, std::string_view op, std::string_view supported) {
  return path + ".operator: Unsupported value: " + quote(op) +
         ": supported values: " + std::string(supported);
}

std::optional<SelectorOp> label_op(std::string_view name) {
  struct Named {
    std::string_view name;
    SelectorOp op;
  };
  constexpr Named kOps[] = {{"In", SelectorOp::in},           {"NotIn", SelectorOp::not_in},
                            {"Exists", SelectorOp::exists},   {"DoesNotExist", SelectorOp::does_not_exist},
                            {"Gt", SelectorOp::greater_than}, {"Lt", SelectorOp::less_than}};
  for (const Named& named : kOps)
    if (named.name == name) return named.op;
  return std::nullopt;
}

/// Several messages are one error, "[a, b]".
std::optional<Error> together(const std::vector<std::string>& errors) {
  if (errors.empty()) return std::nullopt;
  return Error(Code::invalid, aggregate(errors));
}

}  // namespace

CompiledNodeTerm::CompiledNodeTerm(const NodeSelectorTerm& term, const std::string& path)
    : empty_(term.match_expressions.empty() && term.match_fields.empty()) {
  std::vector<std::string> errors;
  const std::string dot = path.empty() ? "" : ".";
  std::vector<SelectorRequirement> requirements;
  for (std::size_t i = 0; i < term.match_expressions.size(); ++i) {
    const auto& expression = term.match_expressions[i];
    const std::string at = path + dot + "matchExpressions[" + std::to_string(i) + "]";
    const auto op = label_op(expression.operator_.view());
    if (!op) {
      errors.push_back(not_supported(at, expression.operator_.view(),
                                     "\"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\""));
      continue;
    }
    requirements.push_back(checked_requirement(expression.key, *op, expression.values, at, errors));
  }
  expressions_ = Selector::from_requirements(std::move(requirements));
  std::vector<FieldSelector::Term> fields;
  for (std::size_t i = 0; i < term.match_fields.size(); ++i) {
    const auto& field = term.match_fields[i];
    const std::string at = path + dot + "matchFields[" + std::to_string(i) + "]";
    if (field.operator_ != "In" && field.operator_ != "NotIn") {
      errors.push_back(not_supported(at, field.operator_.view(), "\"In\", \"NotIn\""));
    } else if (field.values.size() != 1) {
      errors.push_back(at + ".values: Invalid value: " + json_list(field.values) + ": must have one element");
    } else {
      fields.push_back({field.key.str(), field.values[0].str(), field.operator_ == "In"});
    }
  }
  fields_ = FieldSelector::of(std::move(fields));
  errors_ = std::move(errors);
}

bool CompiledNodeTerm::matches(const SymbolMap& labels, std::string_view node_name) const {
  if (empty_ || !errors_.empty() || !expressions_.matches(labels)) return false;
  // A node without a name has no fields, and then fields are not asked.
  return node_name.empty() || fields_.matches([node_name](std::string_view field) {
    return field == "metadata.name" ? node_name : std::string_view();
  });
}

CompiledNodeSelector::CompiledNodeSelector(const NodeSelector& selector, const std::string& path) {
  const std::string prefix = path.empty() ? "nodeSelectorTerms" : path + ".nodeSelectorTerms";
  for (std::size_t i = 0; i < selector.node_selector_terms.size(); ++i) {
    CompiledNodeTerm term(selector.node_selector_terms[i], prefix + "[" + std::to_string(i) + "]");
    if (!term.empty()) terms_.push_back(std::move(term));
  }
}

Result<bool> CompiledNodeSelector::matches(const SymbolMap& labels, std::string_view node_name) const {
  for (const CompiledNodeTerm& term : terms_)
    if (term.matches(labels, node_name)) return true;
  if (const auto wrong = error()) return *wrong;
  return false;
}

std::optional<Error> CompiledNodeSelector::error() const {
  std::vector<std::string> errors;
  for (const CompiledNodeTerm& term : terms_)
    errors.insert(errors.end(), term.errors().begin(), term.errors().end());
  return together(errors);
}

RequiredNodeAffinity::RequiredNodeAffinity(const PodSpec& spec)
    : labels_(Selector::from_labels(spec.node_selector)) {
  if (spec.affinity && spec.affinity->node_affinity && spec.affinity->node_affinity->required)
    affinity_.emplace(*spec.affinity->node_affinity->required);
}

bool RequiredNodeAffinity::matches(const SymbolMap& labels, std::string_view node_name) const {
  if (!labels_.matches(labels)) return false;
  if (!affinity_) return true;
  const auto matched = affinity_->matches(labels, node_name);
  return matched && *matched;
}

std::optional<std::vector<std::string>> RequiredNodeAffinity::pinned_nodes() const {
  if (!affinity_ || affinity_->terms().empty()) return std::nullopt;
  std::vector<std::string> out;
  for (const CompiledNodeTerm& term : affinity_->terms()) {
    std::optional<std::string_view> pinned;
    bool contradiction = false;
    for (const FieldSelector::Term& field : term.fields().terms()) {
      if (field.field != "metadata.name" || !field.equal) continue;
      contradiction = contradiction || (pinned && *pinned != field.value);
      pinned = field.value;
    }
    if (!pinned) return std::nullopt;
    if (!contradiction) out.emplace_back(*pinned);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Result<PreferredNodeAffinity> PreferredNodeAffinity::make(std::span<const PreferredSchedulingTerm> terms) {
  PreferredNodeAffinity out;
  std::vector<std::string> errors;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].weight == 0) continue;
    CompiledNodeTerm term(terms[i].preference, "[" + std::to_string(i) + "]");
    if (term.empty()) continue;
    if (!term.errors().empty()) {
      errors.insert(errors.end(), term.errors().begin(), term.errors().end());
    } else {
      out.terms_.push_back({terms[i].weight, std::move(term)});
    }
  }
  if (const auto wrong = together(errors)) return *wrong;
  return out;
}

std::int64_t PreferredNodeAffinity::score(const SymbolMap& labels, std::string_view node_name) const {
  std::int64_t total = 0;
  for (const Weighted& weighted : terms_)
    if (weighted.term.matches(labels, node_name)) total += weighted.weight;
  return total;
}

}  // namespace koord::api
