// Inference: which types agree, and what type variables stand for.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "koord/cel/type.hpp"

namespace koord::cel {

bool is_dyn(const Type& type);
bool is_dyn_or_error(const Type& type);

class Unifier {
 public:
  TypeRef fresh();
  /// Whether a value of `from` may be one of `to`; learns what variables stand for, unless it may not.
  bool assignable(const TypeRef& from, const TypeRef& to);
  bool assignable(std::span<const TypeRef> from, std::span<const TypeRef> to);
  /// `type` with its variables replaced; unknown ones stay, or become dyn.
  TypeRef resolve(const TypeRef& type, bool unknown_to_dyn) const;
  /// The less specific of two that agree.
  static TypeRef most_general(const TypeRef& a, const TypeRef& b);

 private:
  bool agree(const TypeRef& from, const TypeRef& to);
  bool agree_all(std::span<const TypeRef> from, std::span<const TypeRef> to);
  std::pair<bool, bool> substitutes(const TypeRef& type, const TypeRef& variable);
  bool absent_from(const TypeRef& variable, const TypeRef& within) const;
  const TypeRef* bound(const TypeRef& variable) const;
  void bind(const TypeRef& variable, TypeRef type);

  std::vector<TypeRef> bindings_;                      // by variable - 1
  std::vector<std::pair<std::size_t, TypeRef>> undo_;  // what bindings were before
};

}  // namespace koord::cel
