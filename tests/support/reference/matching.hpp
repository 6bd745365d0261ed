// Selectors, tolerations and names of resources for the scheduler's oracle, as Kubernetes' API describes
// them.
#pragma once

#include <string_view>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::reference {

/// A label selector: everything, nothing, or requirements that must all hold.
class Selector {
 public:
  /// Absent selects nothing, empty everything.
  static Selector of(const api::LabelSelector* selector);
  static Selector of(const api::SymbolMap& labels);
  /// Of nothing nothing is left to add to.
  void add(const Selector& other);
  bool matches(const api::SymbolMap& labels) const;
  bool is_everything() const { return !nothing_ && requirements_.empty(); }

 private:
  bool nothing_ = false;
  std::vector<api::LabelSelectorRequirement> requirements_;
};

bool has(const api::SymbolMap& labels, const Symbol& key);
bool matches(const api::NodeSelectorTerm& term, const api::Node& node);
bool matches(const api::NodeSelector& selector, const api::Node& node);
/// spec.nodeSelector and the required node affinity.
bool may_go(const api::Pod& pod, const api::Node& node);
/// The sum of the weights of the terms that match.
std::int64_t preference(const api::List<api::PreferredSchedulingTerm>& terms, const api::Node& node);

bool tolerates(const api::Pod& pod, const api::Taint& taint);
/// A taint keeps the pod away.
bool is_tainted(const api::Pod& pod, const api::Node& node);

std::int32_t priority(const api::Pod& pod);
/// namespace/name
std::string key_of(const api::Pod& pod);

}  // namespace koord::reference
