#include "koord/api/rules/node_selector.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/rules/validation_names.hpp"
#include "koord/base/text.hpp"
#include "selector_check.hpp"

namespace koord::api {

namespace {

std::string not_supported(const ListPlace& place, std::string_view op, std::string_view supported) {
  return fmt::format("{}: Unsupported value: {}: supported values: {}", place.text("operator"), quote(op),
                     supported);
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

Selector expressions_of(const NodeSelectorTerm& term, std::string_view path, ErrorTexts& errors) {
  std::vector<SelectorRequirement> requirements;
  for (std::size_t i = 0; i < term.match_expressions.size(); ++i) {
    const NodeSelectorRequirement& expression = term.match_expressions[i];
    const ListPlace place{path, "matchExpressions", i};
    if (const auto op = label_op(expression.operator_.view())) {
      requirements.push_back(checked_requirement(expression.key, *op, expression.values, place, errors));
    } else {
      errors.add([&] {
        return not_supported(place, expression.operator_.view(),
                             R"("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")");
      });
    }
  }
  return Selector::from_requirements(std::move(requirements));
}

FieldSelector fields_of(const NodeSelectorTerm& term, std::string_view path, ErrorTexts& errors) {
  std::vector<FieldSelector::Term> fields;
  for (std::size_t i = 0; i < term.match_fields.size(); ++i) {
    const NodeSelectorRequirement& field = term.match_fields[i];
    const ListPlace place{path, "matchFields", i};
    if (field.operator_ != "In" && field.operator_ != "NotIn") {
      errors.add([&] { return not_supported(place, field.operator_.view(), R"("In", "NotIn")"); });
    } else if (field.values.size() != 1) {
      errors.add([&] {
        return fmt::format("{}: Invalid value: {}: must have one element", place.text("values"),
                           json_list(field.values));
      });
    } else {
      fields.push_back({field.key.str(), field.values[0].str(), field.operator_ == "In"});
    }
  }
  return FieldSelector::of(std::move(fields));
}

}  // namespace

CompiledNodeTerm::CompiledNodeTerm(const NodeSelectorTerm& term, const ListPlace& place, ErrorTexts* errors)
    : empty_(term.match_expressions.empty() && term.match_fields.empty()) {
  ErrorTexts counted(0);
  ErrorTexts& found = errors != nullptr ? *errors : counted;
  const std::size_t before = found.count();
  const std::string path = errors != nullptr ? place.text() : std::string();
  expressions_ = expressions_of(term, path, found);
  fields_ = fields_of(term, path, found);
  valid_ = found.count() == before;
}

bool CompiledNodeTerm::matches(const SymbolMap& labels, std::string_view node_name) const {
  if (empty_ || !valid_ || !expressions_.matches(labels)) return false;
  // A node without a name has no fields, and then fields are not asked.
  return node_name.empty() || fields_.matches([node_name](std::string_view field) {
    return field == "metadata.name" ? node_name : std::string_view();
  });
}

CompiledNodeSelector::CompiledNodeSelector(const NodeSelector& selector, std::string_view path,
                                           ErrorTexts* errors) {
  const std::string list = ListPlace{path}.text("nodeSelectorTerms");
  for (std::size_t i = 0; i < selector.node_selector_terms.size(); ++i) {
    CompiledNodeTerm term(selector.node_selector_terms[i], {{}, list, i}, errors);
    if (!term.empty() && term.valid()) terms_.push_back(std::move(term));
  }
}

bool CompiledNodeSelector::matches(const SymbolMap& labels, std::string_view node_name) const {
  return std::ranges::any_of(terms_,
                             [&](const CompiledNodeTerm& term) { return term.matches(labels, node_name); });
}

RequiredNodeAffinity::RequiredNodeAffinity(const PodSpec& spec)
    : labels_(Selector::from_labels(spec.node_selector)) {
  if (spec.affinity && spec.affinity->node_affinity && spec.affinity->node_affinity->required)
    affinity_.emplace(*spec.affinity->node_affinity->required);
}

bool RequiredNodeAffinity::matches(const SymbolMap& labels, std::string_view node_name) const {
  return labels_.matches(labels) && (!affinity_ || affinity_->matches(labels, node_name));
}

PreferredNodeAffinity::PreferredNodeAffinity(std::span<const PreferredSchedulingTerm> terms,
                                             ErrorTexts* errors) {
  bool valid = true;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].weight == 0) continue;
    CompiledNodeTerm term(terms[i].preference, {{}, "", i}, errors);
    if (term.empty()) continue;
    valid = valid && term.valid();
    terms_.push_back({terms[i].weight, std::move(term)});
  }
  if (!valid) terms_.clear();
}

std::int64_t PreferredNodeAffinity::score(const SymbolMap& labels, std::string_view node_name) const {
  std::int64_t total = 0;
  for (const Weighted& weighted : terms_)
    if (weighted.term.matches(labels, node_name)) total += weighted.weight;
  return total;
}

}  // namespace koord::api
