#include "cel/check/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "cel/check/unify.hpp"
#include "cel/library/function.hpp"

namespace koord::cel {
namespace {

/// Maps of maps double their type with each level: what prints longer than this means harm.
constexpr std::uint64_t kHeaviest = 10'000;

/// "a.b.c" of a chain of names, or empty.
std::string qualified_name(const Node& node) {
  if (node.op == Node::Op::ident) return node.name;
  if (node.op != Node::Op::select || node.test_only || node.optional) return {};
  const std::string prefix = qualified_name(*node.children[0]);
  return prefix.empty() ? prefix : fmt::format("{}.{}", prefix, node.name);
}

/// Functions of Kubernetes' authorizer, which there is none of here.
bool asks_authorizer(std::string_view name) {
  static constexpr std::array<std::string_view, 15> kNames = {
      "path",      "group", "serviceAccount", "resource",      "subresource",
      "namespace", "name",  "check",          "allowed",       "reason",
      "errored",   "error", "fieldSelector",  "labelSelector", "requestResource"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

class Checker {
 public:
  Checker(std::span<const Variable> variables, std::string_view authorizer, Mistakes& mistakes)
      : variables_(variables), authorizer_(authorizer), mistakes_(mistakes) {}

  void run(Tree& tree) {
    check(*tree.root);
    for (Node& node : tree.nodes)
      if (node.type) node.type = types_.resolve(node.type, true);
  }
  std::size_t slots() const { return slots_; }

 private:
  struct Local {
    std::string_view name;
    TypeRef type;
  };

  void check(Node& node) {
    if (node.checked) return;
    node.checked = true;
    check_kind(node);
    if (node.type->weight <= kHeaviest) return;
    mistakes_.add(node.offset, "the type of this expression is too large");
    node.type = simple_type(TypeKind::error);
  }

  void check_kind(Node& node) {
    switch (node.op) {
      case Node::Op::constant: node.type = constant_type(node.constant); return;
      case Node::Op::ident: return check_ident(node);
      case Node::Op::select: return check_select(node);
      case Node::Op::call:
      case Node::Op::member: return check_call(node);
      case Node::Op::list: return check_list(node);
      case Node::Op::map: return check_map(node);
      case Node::Op::structure: return check_structure(node);
      case Node::Op::fold: return check_fold(node);
    }
  }

  static TypeRef constant_type(Value value) {
    switch (value.kind()) {
      case Kind::boolean: return simple_type(TypeKind::boolean);
      case Kind::integer: return simple_type(TypeKind::integer);
      case Kind::unsigned_integer: return simple_type(TypeKind::unsigned_integer);
      case Kind::real: return simple_type(TypeKind::real);
      case Kind::string: return simple_type(TypeKind::string);
      case Kind::bytes: return simple_type(TypeKind::bytes);
      default: return simple_type(TypeKind::null);
    }
  }

  std::string shown(const TypeRef& type) const { return to_string(*type); }
  void mismatch(std::int64_t offset, const TypeRef& expected, const TypeRef& found) {
    mistakes_.add(offset, fmt::format("expected type '{}' but found '{}'", shown(expected), shown(found)));
  }
  void undeclared(Node& node, std::string_view name) {
    if (name == "authorizer" && !authorizer_.empty())
      mistakes_.add(node.offset, std::string(authorizer_));
    else
      mistakes_.add(node.offset, fmt::format("undeclared reference to '{}' (in container '')", name));
    node.type = simple_type(TypeKind::error);
  }

  /// Makes the node a variable or a type if the name is one.
  bool find_name(Node& node, std::string_view name) {
    const bool rooted = name.starts_with('.');
    if (rooted) name.remove_prefix(1);
    for (std::size_t i = locals_.size(); i-- > 0 && !rooted;)
      if (locals_[i].name == name) {
        node.local = true;
        node.slot = static_cast<std::int32_t>(i);
        node.type = locals_[i].type;
        return true;
      }
    for (std::size_t i = 0; i < variables_.size(); ++i)
      if (variables_[i].name == name) {
        node.slot = static_cast<std::int32_t>(i);
        node.type = variables_[i].type;
        return true;
      }
    if (TypeRef type = find_type(name)) {
      node.type = type_type(type);
      node.constant = Value::type(*type);
      return true;
    }
    return false;
  }

  /// Whether a chain of names begins with a fold's variable.
  bool is_local(std::string_view chain) const {
    const std::string_view root = chain.substr(0, chain.find('.'));
    return std::any_of(locals_.begin(), locals_.end(),
                       [&](const Local& local) { return local.name == root; });
  }

  void check_ident(Node& node) {
    if (!find_name(node, node.name)) return undeclared(node, node.name);
    if (node.slot < 0) node.op = Node::Op::constant;
  }

  void check_select(Node& node) {
    if (const std::string name = qualified_name(node);
        !name.empty() && !is_local(name) && find_name(node, name)) {
      node.op = node.slot < 0 ? Node::Op::constant : Node::Op::ident;
      node.name = name;
      node.children.clear();
      return;
    }
    Node& target = *node.children[0];
    check(target);
    TypeRef type = field_type(node, types_.resolve(target.type, false));
    if (node.test_only) type = simple_type(TypeKind::boolean);
    node.type = types_.resolve(type, false);
  }

  TypeRef field_type(const Node& node, TypeRef target) {
    const bool wraps = node.optional || target->kind == TypeKind::optional;
    if (target->kind == TypeKind::optional) target = target->parameters[0];
    TypeRef type = simple_type(TypeKind::dyn);
    switch (target->kind) {
      case TypeKind::map: type = target->parameters[1]; break;
      case TypeKind::structure: {
        const auto& fields = target->fields;
        const auto at = std::lower_bound(
            fields.begin(), fields.end(), node.name,
            [](const Type::Field& field, const std::string& key) { return field.name < key; });
        if (at != fields.end() && at->name == node.name) {
          type = at->type;
        } else {
          mistakes_.add(node.offset, fmt::format("undefined field '{}'", node.name));
          type = simple_type(TypeKind::error);
        }
        break;
      }
      case TypeKind::parameter: types_.assignable(simple_type(TypeKind::dyn), target); break;
      default:
        if (!is_dyn_or_error(*target))
          mistakes_.add(node.offset,
                        fmt::format("type '{}' does not support field selection", shown(target)));
    }
    return wraps ? optional_type(type) : type;
  }

  void check_call(Node& node) {
    const std::size_t first = node.op == Node::Op::member ? 1 : 0;
    for (std::size_t i = first; i < node.children.size(); ++i) check(*node.children[i]);
    if (first == 1) {
      // `math.max(...)` is a function of that name, not a member of a variable.
      if (const std::string prefix = qualified_name(*node.children[0]); !prefix.empty()) {
        const std::string name = fmt::format("{}.{}", prefix, node.name);
        if (const Function* function = find_function(name)) {
          node.op = Node::Op::call;
          node.name = name;
          node.children.erase(node.children.begin());
          return resolve(node, *function);
        }
      }
      check(*node.children[0]);
    } else if (node.name.starts_with('.')) {
      node.name.erase(0, 1);
    }
    const Function* function = find_function(node.name);
    if (!function && first == 1 && node.children[0]->type->kind == TypeKind::error &&
        asks_authorizer(node.name)) {
      node.type = simple_type(TypeKind::error);  // of what is not there: that was told
      return;
    }
    if (!function) return undeclared(node, node.name);
    resolve(node, *function);
  }

  void check_logical(Node& node) {
    bool fits = true;
    for (Node* child : node.children)
      if (!types_.assignable(child->type, simple_type(TypeKind::boolean))) {
        mismatch(child->offset, simple_type(TypeKind::boolean), child->type);
        fits = false;
      }
    node.type = simple_type(fits ? TypeKind::boolean : TypeKind::error);
  }

  void resolve(Node& node, const Function& function) {
    node.function = &function;
    if (function.name == "_&&_" || function.name == "_||_") return check_logical(node);
    std::vector<TypeRef> args;
    args.reserve(node.children.size());
    for (const Node* child : node.children) args.push_back(child->type);
    TypeRef result;
    std::size_t matches = 0;
    for (const Overload& overload : function.overloads) {
      if (overload.member != (node.op == Node::Op::member)) continue;
      std::vector<std::pair<std::string_view, TypeRef>> variables;
      std::vector<TypeRef> parameters;
      parameters.reserve(overload.parameters.size());
      for (const TypeRef& parameter : overload.parameters)
        parameters.push_back(instance(parameter, variables));
      const TypeRef type = instance(overload.result, variables);
      if (!types_.assignable(args, parameters)) continue;
      node.overload = ++matches == 1 ? &overload : nullptr;
      TypeRef resolved = types_.resolve(type, false);
      if (!result)
        result = std::move(resolved);
      else if (!is_dyn(*result) && !same_type(*resolved, *result))
        result = simple_type(TypeKind::dyn);
    }
    if (!result) {
      std::string text;
      for (std::size_t i = 0; i < args.size(); ++i) {
        const bool target = i == 0 && node.op == Node::Op::member;
        const std::size_t first = node.op == Node::Op::member ? 1 : 0;
        if (i == first) text += '(';
        text += fmt::format("{}{}", i > first ? ", " : "", shown(types_.resolve(args[i], true)));
        if (target) text += args.size() == 1 ? ".(" : ".";
      }
      if (args.empty()) text = "(";
      mistakes_.add(node.offset,
                    fmt::format("found no matching overload for '{}' applied to '{})'", function.name, text));
      node.type = simple_type(TypeKind::error);
      return;
    }
    node.type = std::move(result);
  }

  /// A signature's type with variables of its own.
  TypeRef instance(const TypeRef& type, std::vector<std::pair<std::string_view, TypeRef>>& variables) {
    if (type->kind == TypeKind::parameter) {
      for (const auto& [name, variable] : variables)
        if (name == type->name) return variable;
      return variables.emplace_back(type->name, types_.fresh()).second;
    }
    if (type->parameters.empty()) return type;
    auto made = std::make_shared<Type>(*type);
    for (TypeRef& parameter : made->parameters) parameter = instance(parameter, variables);
    return made;
  }

  /// Of elements that differ it is dyn; check_literals() refuses those, but for arguments of format().
  TypeRef join(const TypeRef& before, const TypeRef& type) {
    if (!before) return type;
    if (types_.assignable(before, type)) return Unifier::most_general(before, type);
    return simple_type(TypeKind::dyn);
  }

  TypeRef unwrapped(const Node& node) {
    if (node.type->kind == TypeKind::optional) return node.type->parameters[0];
    if (!is_dyn(*node.type)) mismatch(node.offset, optional_type(node.type), node.type);
    return node.type;
  }

  void check_list(Node& node) {
    TypeRef element;
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      Node& child = *node.children[i];
      check(child);
      element = join(element, !node.optionals.empty() && node.optionals[i] ? unwrapped(child) : child.type);
    }
    node.type = list_type(element ? element : types_.fresh());
  }

  void check_map(Node& node) {
    TypeRef key, value;
    for (std::size_t i = 0; i < node.children.size(); i += 2) {
      Node &name = *node.children[i], &member = *node.children[i + 1];
      check(name);
      key = join(key, name.type);
      check(member);
      value = join(value, !node.optionals.empty() && node.optionals[i / 2] ? unwrapped(member) : member.type);
    }
    if (!key) {
      key = types_.fresh();
      value = types_.fresh();
    }
    node.type = map_type(key, value);
  }

  void check_structure(Node& node) {
    std::string_view name = node.name;
    if (name.starts_with('.')) name.remove_prefix(1);
    if (find_name(node, name)) {
      const Type& type = *node.type;
      mistakes_.add(node.offset, type.kind == TypeKind::type
                                     ? fmt::format("'{}' is not a message type", name_of(*type.parameters[0]))
                                     : fmt::format("'{}' is not a type", name_of(type)));
    } else {
      undeclared(node, node.name);
    }
    node.type = simple_type(TypeKind::error);
    for (Node* child : node.children) check(*child);
  }

  void check_fold(Node& node) {
    Node &range = *node.children[0], &start = *node.children[1];
    check(range);
    check(start);
    const TypeRef type = types_.resolve(range.type, false);
    const bool two = !node.iterator2.empty();
    TypeRef first = simple_type(TypeKind::dyn), second = first;
    switch (type->kind) {
      case TypeKind::list:
        first = two ? simple_type(TypeKind::integer) : type->parameters[0];
        second = type->parameters[0];
        break;
      case TypeKind::map:
        first = type->parameters[0];
        second = type->parameters[1];
        break;
      case TypeKind::dyn:
      case TypeKind::error:
      case TypeKind::parameter: types_.assignable(first, type); break;
      default:
        mistakes_.add(
            range.offset,
            fmt::format(
                "expression of type '{}' cannot be range of a comprehension (must be list, map, or dynamic)",
                shown(type)));
        first = second = simple_type(TypeKind::error);
    }
    const TypeRef accumulated = start.type;
    const std::size_t base = locals_.size();
    node.slot = static_cast<std::int32_t>(base);
    locals_.push_back({node.accumulator, accumulated});
    locals_.push_back({node.iterator, first});
    if (two) locals_.push_back({node.iterator2, second});
    slots_ = std::max(slots_, locals_.size() + 1);
    require(*node.children[2], simple_type(TypeKind::boolean));
    require(*node.children[3], accumulated);
    locals_.resize(base + 1);
    check(*node.children[4]);
    locals_.resize(base);
    node.type = types_.resolve(node.children[4]->type, false);
  }

  void require(Node& node, const TypeRef& type) {
    check(node);
    if (!types_.assignable(type, node.type)) mismatch(node.offset, type, node.type);
  }

  std::span<const Variable> variables_;
  std::string_view authorizer_;
  Mistakes& mistakes_;
  Unifier types_;
  std::vector<Local> locals_;
  std::size_t slots_ = 0;
};

}  // namespace

std::size_t check(Tree& tree, std::span<const Variable> variables, std::string_view authorizer,
                  Mistakes& mistakes) {
  Checker checker(variables, authorizer, mistakes);
  checker.run(tree);
  return checker.slots();
}

}  // namespace koord::cel
