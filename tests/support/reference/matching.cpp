// Selectors, tolerations and names of resources: see matching.hpp.
#include "support/reference/matching.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace koord::reference {

namespace {

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool holds(std::string_view op, const api::List<Symbol>& values, const Symbol* value) {
  const bool among = value != nullptr && std::find(values.begin(), values.end(), *value) != values.end();
  if (op == "In") return among;
  if (op == "NotIn") return !among;
  if (op == "Exists") return value != nullptr;
  if (op == "DoesNotExist") return value == nullptr;
  if (value == nullptr || values.size() != 1) return false;
  const auto is = number(value->view()), bound = number(values[0].view());
  if (!is || !bound) return false;
  return op == "Gt" ? *is > *bound : *is < *bound;
}

}  // namespace

Selector Selector::of(const api::LabelSelector* selector) {
  Selector out;
  out.nothing_ = selector == nullptr;
  if (out.nothing_) return out;
  out = of(selector->match_labels);
  for (const auto& r : selector->match_expressions) out.requirements_.push_back(r);
  return out;
}

Selector Selector::of(const api::SymbolMap& labels) {
  Selector out;
  for (const auto& [key, value] : labels) out.requirements_.push_back({key, "In", {value}});
  return out;
}

void Selector::add(const Selector& other) {
  if (nothing_) return;
  requirements_.insert(requirements_.end(), other.requirements_.begin(), other.requirements_.end());
}

bool Selector::matches(const api::SymbolMap& labels) const {
  return !nothing_ && std::all_of(requirements_.begin(), requirements_.end(), [&](const auto& r) {
    return holds(r.operator_, r.values, labels.find(r.key.view()));
  });
}

bool has(const api::SymbolMap& labels, const Symbol& key) { return labels.find(key.view()) != nullptr; }

bool matches(const api::NodeSelectorTerm& term, const api::Node& node) {
  const Symbol name = node.metadata.name;
  for (const auto& r : term.match_expressions)
    if (!holds(r.operator_, r.values, node.metadata.labels.find(r.key.view()))) return false;
  for (const auto& r : term.match_fields)
    if (!holds(r.operator_, r.values, &name)) return false;
  return !term.match_expressions.empty() || !term.match_fields.empty();
}

bool matches(const api::NodeSelector& selector, const api::Node& node) {
  const auto& terms = selector.node_selector_terms;
  return std::any_of(terms.begin(), terms.end(), [&](const auto& term) { return matches(term, node); });
}

bool may_go(const api::Pod& pod, const api::Node& node) {
  if (!Selector::of(pod.spec.node_selector).matches(node.metadata.labels)) return false;
  const auto& affinity = pod.spec.affinity;
  return !affinity || !affinity->node_affinity || !affinity->node_affinity->required ||
         matches(*affinity->node_affinity->required, node);
}

std::int64_t preference(const api::List<api::PreferredSchedulingTerm>& terms, const api::Node& node) {
  std::int64_t sum = 0;
  for (const auto& term : terms)
    if (matches(term.preference, node)) sum += term.weight;
  return sum;
}

bool tolerates(const api::Pod& pod, const api::Taint& taint) {
  const auto& all = pod.spec.tolerations;
  return std::any_of(all.begin(), all.end(), [&](const api::Toleration& t) {
    if (!t.effect.empty() && t.effect != taint.effect) return false;
    if (!t.key.empty() && t.key != taint.key) return false;
    if (t.operator_ == "Exists") return true;
    return (t.operator_.empty() || t.operator_ == "Equal") && t.value == taint.value;
  });
}

bool is_tainted(const api::Pod& pod, const api::Node& node) {
  const auto& taints = node.spec.taints;
  return std::any_of(taints.begin(), taints.end(), [&](const api::Taint& t) {
    return (t.effect == "NoSchedule" || t.effect == "NoExecute") && !tolerates(pod, t);
  });
}

std::int32_t priority(const api::Pod& pod) { return pod.spec.priority.value_or(0); }

std::string key_of(const api::Pod& pod) {
  return fmt::format("{}/{}", pod.metadata.namespace_.view(), pod.metadata.name);
}

}  // namespace koord::reference
