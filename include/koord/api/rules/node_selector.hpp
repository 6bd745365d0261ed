// Node selectors and node affinity: which nodes a pod asks for, and which it prefers.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "koord/api/rules/selector.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::api {

/// One term, read once: every expression and every field must match. An empty term matches nothing.
class CompiledNodeTerm {
 public:
  /// Never fails; what is wrong with the term is kept, and matches() is false. `path` is for the message.
  CompiledNodeTerm(const NodeSelectorTerm& term, const std::string& path);
  bool empty() const { return empty_; }
  const std::vector<std::string>& errors() const { return errors_; }
  bool matches(const SymbolMap& labels, std::string_view node_name) const;
  const Selector& expressions() const { return expressions_; }
  const FieldSelector& fields() const { return fields_; }

 private:
  Selector expressions_;
  FieldSelector fields_;
  std::vector<std::string> errors_;
  bool empty_ = false;
};

/// The terms of a NodeSelector are alternatives; none at all match nothing.
class CompiledNodeSelector {
 public:
  explicit CompiledNodeSelector(const NodeSelector& selector, const std::string& path = {});
  /// Terms with errors are told only if no other term matches.
  Result<bool> matches(const SymbolMap& labels, std::string_view node_name) const;
  /// All errors of all terms, for what must be valid as a whole.
  std::optional<Error> error() const;
  std::span<const CompiledNodeTerm> terms() const { return terms_; }

 private:
  std::vector<CompiledNodeTerm> terms_;  // the empty ones left out
};

/// spec.nodeSelector and the required node affinity together.
class RequiredNodeAffinity {
 public:
  explicit RequiredNodeAffinity(const PodSpec& spec);
  bool unconstrained() const { return labels_.is_everything() && !affinity_; }
  /// False on an error too, as in the scheduler.
  bool matches(const SymbolMap& labels, std::string_view node_name) const;
  bool matches(const Node& node) const { return matches(node.metadata.labels, node.metadata.name); }
  const Selector& labels() const { return labels_; }
  const std::optional<CompiledNodeSelector>& affinity() const { return affinity_; }
  /// The only nodes that can match if every term pins metadata.name; nothing if some term does not.
  std::optional<std::vector<std::string>> pinned_nodes() const;

 private:
  Selector labels_;
  std::optional<CompiledNodeSelector> affinity_;
};

/// The preferred terms with their weights. Terms of weight 0 and empty ones are left out.
class PreferredNodeAffinity {
 public:
  PreferredNodeAffinity() = default;
  static Result<PreferredNodeAffinity> make(std::span<const PreferredSchedulingTerm> terms);
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
