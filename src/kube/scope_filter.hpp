// ScopeFilter: the part of a wide collection that a narrower scope asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "koord/api/rules/selector.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/kube/informer.hpp"

namespace koord::kube {

class ScopeFilter {
 public:
  /// What `narrow` adds to `wide`; empty if `wide` does not contain it or the difference cannot be told
  /// from the decoded objects (two selectors that differ, fields that the schema does not describe).
  static std::optional<ScopeFilter> between(const ObjectType& type, const Scope& wide, const Scope& narrow);

  bool everything() const { return ns_.empty() && fields_.empty() && labels_.is_everything(); }
  bool matches(const void* object) const;

 private:
  struct Requirement {
    std::vector<const api::Field*> path;
    std::string value;
    bool equal = true;
  };
  static std::optional<Requirement> compile(const ObjectType& type, const api::FieldSelector::Term& term);

  const ObjectType* type_ = nullptr;
  std::string ns_;
  std::vector<Requirement> fields_;
  api::Selector labels_;
};

/// Throws std::invalid_argument, naming what is wrong.
void validate(const Scope& scope);

}  // namespace koord::kube
