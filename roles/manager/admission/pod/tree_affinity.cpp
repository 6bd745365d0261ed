// Pods of quota trees: see tree_affinity.hpp.
#include "admission/pod/tree_affinity.hpp"

namespace koord::manager {
namespace {

void add_requirement(json::Value& to, std::string_view key, std::string_view op,
                     const api::List<Symbol>& values, json::Arena& arena) {
  json::Value requirement = json::Value::object();
  json::set_text(requirement, "key", key, arena);
  json::set_text(requirement, "operator", op, arena);
  if (!values.empty()) {
    json::Value& list = json::array_at(requirement, "values", arena);
    for (const Symbol& value : values) list.push_back(json::make_text(value, arena), arena);
  }
  to.push_back(std::move(requirement), arena);
}

void add_requirements(json::Value& term, const api::LabelSelector& nodes, json::Arena& arena) {
  json::Value& list = json::array_at(term, "matchExpressions", arena);
  for (const auto& [key, value] : nodes.match_labels) {
    api::List<Symbol> one;
    one.push_back(value);
    add_requirement(list, key, "In", one, arena);
  }
  for (const api::LabelSelectorRequirement& asked : nodes.match_expressions)
    add_requirement(list, asked.key, asked.operator_, asked.values, arena);
}

}  // namespace

void require_nodes(json::Value& pod, const api::LabelSelector& nodes, json::Arena& arena) {
  if (nodes.match_labels.empty() && nodes.match_expressions.empty()) return;
  json::Value* at = &pod;
  for (const char* member :
       {"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"})
    at = &json::object_at(*at, member, arena);
  json::Value& terms = json::array_at(*at, "nodeSelectorTerms", arena);
  if (terms.empty()) terms.push_back(json::Value::object(), arena);
  for (json::Value& term : terms.elements()) add_requirements(term, nodes, arena);
}

}  // namespace koord::manager
