#include "cel/check/unify.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace koord::cel {
namespace {

bool takes_null(const Type& type) {
  switch (type.kind) {
    case TypeKind::opaque:
    case TypeKind::optional:
    case TypeKind::structure:
    case TypeKind::duration:
    case TypeKind::timestamp:
    case TypeKind::null: return true;
    default: return false;
  }
}

bool less_specific(const Type& a, const Type& b) {
  if (is_dyn(a) || a.kind == TypeKind::parameter) return true;
  if (is_dyn(b) || b.kind == TypeKind::parameter) return false;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case TypeKind::opaque:
    case TypeKind::optional:
    case TypeKind::list:
    case TypeKind::map:
      return a.name == b.name &&
             std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(), b.parameters.end(),
                        [](const TypeRef& x, const TypeRef& y) { return less_specific(*x, *y); });
    case TypeKind::type: return true;
    default: return same_type(a, b);
  }
}

}  // namespace

bool is_dyn(const Type& type) { return type.kind == TypeKind::dyn; }
bool is_dyn_or_error(const Type& type) { return is_dyn(type) || type.kind == TypeKind::error; }

TypeRef Unifier::fresh() {
  auto type = std::make_shared<Type>();
  type->kind = TypeKind::parameter;
  type->name = fmt::format("_var{}", bindings_.size());
  bindings_.emplace_back();
  type->variable = bindings_.size();
  return type;
}

const TypeRef* Unifier::bound(const TypeRef& variable) const {
  if (variable->kind != TypeKind::parameter || variable->variable == 0) return nullptr;
  const TypeRef& type = bindings_[variable->variable - 1];
  return type ? &type : nullptr;
}

void Unifier::bind(const TypeRef& variable, TypeRef type) {
  if (variable->variable == 0) return;
  TypeRef& slot = bindings_[variable->variable - 1];
  undo_.emplace_back(variable->variable - 1, slot);
  slot = std::move(type);
}

bool Unifier::assignable(const TypeRef& from, const TypeRef& to) {
  return assignable(std::span(&from, 1), std::span(&to, 1));
}

bool Unifier::assignable(std::span<const TypeRef> from, std::span<const TypeRef> to) {
  undo_.clear();
  if (agree_all(from, to)) return true;
  for (; !undo_.empty(); undo_.pop_back()) bindings_[undo_.back().first] = std::move(undo_.back().second);
  return false;
}

bool Unifier::agree_all(std::span<const TypeRef> from, std::span<const TypeRef> to) {
  if (from.size() != to.size()) return false;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (!agree(from[i], to[i])) return false;
  return true;
}

std::pair<bool, bool> Unifier::substitutes(const TypeRef& type, const TypeRef& variable) {
  if (same_type(*type, *variable)) return {true, true};
  if (const TypeRef* known = bound(variable)) {
    const TypeRef before = *known;
    if (same_type(*type, *before)) return {true, true};
    if (!agree(type, before)) return {false, true};
    TypeRef general = most_general(type, before);
    if (absent_from(variable, general)) bind(variable, std::move(general));
    return {true, true};
  }
  if (!absent_from(variable, type)) return {false, false};
  bind(variable, type);
  return {true, false};
}

bool Unifier::agree(const TypeRef& from, const TypeRef& to) {
  if (to->kind == TypeKind::parameter) {
    const auto [valid, known] = substitutes(from, to);
    if (valid) return true;
    if (known) return false;
  }
  if (from->kind == TypeKind::parameter) return substitutes(to, from).first;
  if (is_dyn_or_error(*from) || is_dyn_or_error(*to)) return true;
  if (from->kind == TypeKind::null) return takes_null(*to);
  if (to->kind == TypeKind::null) return takes_null(*from);
  if (from->kind != to->kind) return false;
  if (from->kind == TypeKind::type) return true;
  return from->name == to->name && agree_all(from->parameters, to->parameters);
}

bool Unifier::absent_from(const TypeRef& variable, const TypeRef& within) const {
  if (same_type(*variable, *within)) return false;
  if (within->kind == TypeKind::parameter) {
    const TypeRef* known = bound(within);
    return !known || absent_from(variable, *known);
  }
  return std::all_of(within->parameters.begin(), within->parameters.end(),
                     [&](const TypeRef& parameter) { return absent_from(variable, parameter); });
}

TypeRef Unifier::resolve(const TypeRef& type, bool unknown_to_dyn) const {
  if (const TypeRef* known = bound(type)) return resolve(*known, unknown_to_dyn);
  if (type->kind == TypeKind::parameter) return unknown_to_dyn ? simple_type(TypeKind::dyn) : type;
  if (type->parameters.empty()) return type;
  std::vector<TypeRef> parameters;
  bool changed = false;
  for (const TypeRef& parameter : type->parameters) {
    parameters.push_back(resolve(parameter, unknown_to_dyn));
    changed |= parameters.back() != parameter;
  }
  if (!changed) return type;
  auto made = std::make_shared<Type>(*type);
  made->parameters = std::move(parameters);
  made->weight = 1;
  for (const TypeRef& parameter : made->parameters) made->weight += parameter->weight;
  return made;
}

TypeRef Unifier::most_general(const TypeRef& a, const TypeRef& b) { return less_specific(*a, *b) ? a : b; }

}  // namespace koord::cel
