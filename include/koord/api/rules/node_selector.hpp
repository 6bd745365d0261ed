// Node selectors and node affinity: which nodes a pod asks for, and which it prefers.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "koord/api/rules/error_texts.hpp"
#include "koord/api/rules/selector.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::api {

/// One term, read once: every expression and every field must match. An empty term matches nothing, and so
/// does one with errors. Who wants these in words gives `errors`, and `place` for them; else none are made.
class CompiledNodeTerm {
 public:
  explicit CompiledNodeTerm(const NodeSelectorTerm& term, const ListPlace& place = {},
                            ErrorTexts* errors = nullptr);
  bool empty() const { return empty_; }
  bool valid() const { return valid_; }
  bool matches(const SymbolMap& labels, std::string_view node_name) const;

 private:
  Selector expressions_;
  FieldSelector fields_;
  bool empty_ = false;
  bool valid_ = true;
};

/// The terms of a NodeSelector are alternatives; none at all match nothing, nor does one with errors.
class CompiledNodeSelector {
 public:
  explicit CompiledNodeSelector(const NodeSelector& selector, std::string_view path = {},
                                ErrorTexts* errors = nullptr);
  bool matches(const SymbolMap& labels, std::string_view node_name) const;

 private:
  std::vector<CompiledNodeTerm> terms_;  // the empty ones and those with errors left out
};

/// spec.nodeSelector and the required node affinity together.
class RequiredNodeAffinity {
 public:
  explicit RequiredNodeAffinity(const PodSpec& spec);
  bool matches(const SymbolMap& labels, std::string_view node_name) const;
  bool matches(const Node& node) const { return matches(node.metadata.labels, node.metadata.name); }

 private:
  Selector labels_;
  std::optional<CompiledNodeSelector> affinity_;
};

/// The preferred terms with their weights. Terms of weight 0 and empty ones are left out.
class PreferredNodeAffinity {
 public:
  PreferredNodeAffinity() = default;
  /// Nothing is preferred where a term has errors.
  explicit PreferredNodeAffinity(std::span<const PreferredSchedulingTerm> terms,
                                 ErrorTexts* errors = nullptr);
  bool empty() const { return terms_.empty(); }
  /// The sum of the weights of the terms that match.
  std::int64_t score(const SymbolMap& labels, std::string_view node_name) const;

 private:
  struct Weighted {
    std::int64_t weight;
    CompiledNodeTerm term;
  };
  std::vector<Weighted> terms_;
};

}  // namespace koord::api
