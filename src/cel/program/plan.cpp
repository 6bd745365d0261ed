// Planning: what can be known before an expression runs is known once.
#include <algorithm>
#include <array>

#include "cel/library/function.hpp"
#include "cel/library/regex.hpp"
#include "cel/program/compiled.hpp"
#include "cel/program/cost.hpp"
#include "cel/values/representation.hpp"

namespace koord::cel {
namespace {

bool is_conversion(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kNames = {
      "bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool is_constant(const Node* node) { return node->op == Node::Op::constant; }

class Planner {
 public:
  explicit Planner(Compiled& code) : code_(code) {}

  /// Children before parents; a node that two share is planned once.
  Result<void> run(Node& node) {
    if (!done_.emplace(&node, true).second) return {};
    for (Node* child : node.children) KOORD_CHECK(run(*child));
    switch (node.op) {
      case Node::Op::list:
      case Node::Op::map:
        if (std::all_of(node.children.begin(), node.children.end(), is_constant))
          return fold_to(node, literal(node));
        return {};
      case Node::Op::call:
      case Node::Op::member: return call(node);
      default: return {};
    }
  }

 private:
  Result<void> fold_to(Node& node, Value value) {
    if (value.is_error()) return Error(koord::Code::invalid, std::string(value.fault().message));
    node.op = Node::Op::constant;
    node.constant = value;
    return {};
  }

  Value literal(const Node& node) {
    const bool is_list = node.op == Node::Op::list;
    Memory& memory = code_.tree.memory;
    Value made = is_list ? empty_list() : empty_map();
    for (std::size_t i = 0; i < node.children.size() && !made.is_error(); i += is_list ? 1 : 2) {
      Value item = node.children[is_list ? i : i + 1]->constant;
      if (!node.optionals.empty() && node.optionals[is_list ? i : i / 2]) {
        if (item.kind() != Kind::optional)
          return fail(memory, "cannot initialize optional entry from non-optional value");
        if (!has_value(item)) continue;
        item = optional_value(item);
      }
      made = is_list ? append(made, item, memory) : put(made, node.children[i]->constant, item, memory);
    }
    return made;
  }

  Result<void> call(Node& node) {
    const std::string_view name = node.function->name;
    const std::string_view overload =
        node.overload ? std::string_view(node.overload->id) : std::string_view{};
    node.cost = static_cast<std::uint8_t>(cost_rule(name, overload));
    node.plan = plan_of(name);
    if (node.plan == Node::Plan::index) node.optional = name == "_[?_]";
    if (node.op == Node::Op::call && node.children.size() == 1 && is_conversion(name) &&
        is_constant(node.children[0]) && node.overload) {
      const Value arg = node.children[0]->constant;
      if (!node.function->single && !accepts(*node.overload->parameters[0], arg)) return {};
      return fold_to(node, node.overload->run(std::span(&arg, 1), code_.tree.memory));
    }
    if (overload == "in_list" && is_constant(node.children[1])) return membership(node);
    if ((name == "matches" || name == "find" || name == "findAll") && is_constant(node.children[1]) &&
        node.children[1]->constant.kind() == Kind::string) {
      KOORD_TRY(pattern, Pattern::compile(node.children[1]->constant.text(), kPatternMemory));
      code_.patterns.emplace(&node, std::move(pattern));
    }
    return {};
  }

  static Node::Plan plan_of(std::string_view name) {
    if (name == "_&&_") return Node::Plan::logical_and;
    if (name == "_||_") return Node::Plan::logical_or;
    if (name == "_?_:_") return Node::Plan::conditional;
    if (name == "_==_") return Node::Plan::equal;
    if (name == "_!=_") return Node::Plan::not_equal;
    if (name == "_[_]" || name == "_[?_]") return Node::Plan::index;
    if (name == "or") return Node::Plan::optional_or;
    if (name == "orValue") return Node::Plan::optional_or_value;
    return Node::Plan::call;
  }

  Result<void> membership(Node& node) {
    const Value list = node.children[1]->constant;
    Memory& memory = code_.tree.memory;
    if (list.count() == 0) return fold_to(node, Value::boolean(false));
    Value set = empty_map();
    for (std::uint32_t i = 0; i < list.count() && !set.is_error(); ++i) {
      const Value item = element(list, i, memory);
      switch (item.kind()) {
        case Kind::boolean:
        case Kind::integer:
        case Kind::unsigned_integer:
        case Kind::real:
        case Kind::string: set = put(set, item, Value::boolean(true), memory); break;
        default: return {};
      }
    }
    if (set.is_error()) return Error(koord::Code::invalid, std::string(set.fault().message));
    node.plan = Node::Plan::membership;
    code_.memberships.emplace(&node, set);
    return {};
  }

  Compiled& code_;
  std::unordered_map<const Node*, bool> done_;
};

}  // namespace

Result<void> plan(Compiled& code) { return Planner(code).run(*code.tree.root); }

}  // namespace koord::cel
