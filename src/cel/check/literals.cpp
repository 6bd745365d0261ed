// Literals that no run can accept: durations, times, patterns, formats with their arguments.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cel/check/checker.hpp"
#include "cel/library/function.hpp"
#include "cel/library/regex.hpp"
#include "cel/library/string_format.hpp"

namespace koord::cel {
namespace {

bool is_text(const Node& node) {
  return node.op == Node::Op::constant && node.constant.kind() == Kind::string;
}

/// Whether a clause takes values of a type.
bool takes(char verb, const Type& type) {
  switch (type.kind) {
    case TypeKind::dyn: return true;
    case TypeKind::integer:
    case TypeKind::unsigned_integer: return verb != 'f' && verb != 'e';
    case TypeKind::real: return verb == 's' || verb == 'f' || verb == 'e';
    case TypeKind::string: return verb == 's' || verb == 'f' || verb == 'e' || verb == 'x' || verb == 'X';
    case TypeKind::bytes: return verb == 's' || verb == 'x' || verb == 'X';
    case TypeKind::boolean: return verb == 's' || verb == 'b';
    case TypeKind::list:
    case TypeKind::map:
    case TypeKind::null:
    case TypeKind::type:
    case TypeKind::duration:
    case TypeKind::timestamp: return verb == 's';
    default: return false;
  }
}

/// The part of a literal that %s does not take, or nullptr.
const Node* unprintable(const Node& node) {
  if (!takes('s', *node.type)) return &node;
  if (node.op == Node::Op::list || node.op == Node::Op::map)
    for (const Node* child : node.children)
      if (const Node* found = unprintable(*child)) return found;
  return nullptr;
}

void check_format(const Node& call, Mistakes& mistakes) {
  std::string_view format = call.children[0]->constant.text();
  const auto& args = call.children[1]->children;
  std::size_t used = 0;
  while (!format.empty()) {
    if (format[0] == '%' && !format.starts_with("%%") && format.size() > 1 && used >= args.size()) {
      mistakes.add(call.offset, fmt::format("index {} out of range", used));
      return;
    }
    const auto part = next_part(format);
    if (!part) {
      mistakes.add(call.offset, part.error().message());
      return;
    }
    if (part->verb == 0) continue;
    const Node* wrong = args[used];
    if (part->verb == 's')
      wrong = unprintable(*wrong);
    else if (takes(part->verb, *wrong->type))
      wrong = nullptr;
    if (wrong) {
      mistakes.add(wrong->offset, fmt::format("error during formatting: {}, was given {}",
                                              clause_takes(part->verb), name_of(*wrong->type)));
      return;
    }
    ++used;
  }
  if (args.size() > used)
    mistakes.add(
        call.offset,
        fmt::format("too many arguments supplied to string.format (expected {}, got {})", used, args.size()));
}

bool takes_pattern(const Node& node) {
  const std::string_view name = node.function->name;
  return node.op == Node::Op::member && node.children.size() >= 2 &&
         (name == "matches" || name == "find" || name == "findAll");
}

/// Elements of one list, keys and values of one map are of one type each, but for what format() prints.
class Aggregates {
 public:
  explicit Aggregates(Mistakes& mistakes) : mistakes_(mistakes) {}

  void check(const Node& node, bool exempt) {
    if (!seen_.insert(&node).second) return;
    const bool formats = node.function && node.function->name == "format";
    for (const Node* child : node.children) check(*child, exempt || formats);
    if (exempt) return;
    if (node.op == Node::Op::list) alike(node, 0, 1, true);
    if (node.op != Node::Op::map) return;
    alike(node, 0, 2, false);
    alike(node, 1, 2, false);
  }

 private:
  void alike(const Node& node, std::size_t from, std::size_t step, bool first_only) {
    const Type* type = nullptr;
    for (std::size_t i = from; i < node.children.size(); i += step) {
      const Node& child = *node.children[i];
      const bool wrapped = !node.optionals.empty() && node.optionals[i / step] && (step == 1 || from == 1) &&
                           child.type->kind == TypeKind::optional;
      const Type* own = wrapped ? child.type->parameters[0].get() : child.type.get();
      if (!type) {
        type = own;
      } else if (!same_type(*type, *own)) {
        mistakes_.add(child.offset,
                      fmt::format("expected type '{}' but found '{}'", to_string(*type), to_string(*own)));
        if (first_only) return;
      }
    }
  }

  Mistakes& mistakes_;
  std::set<const Node*> seen_;
};

}  // namespace

void check_literals(const Tree& tree, Mistakes& mistakes) {
  Aggregates(mistakes).check(*tree.root, false);
  Memory memory(1'000'000);
  std::size_t instructions = 0;
  for (const Node& node : tree.nodes) {
    if (!node.function || (node.op != Node::Op::call && node.op != Node::Op::member)) continue;
    const std::string_view name = node.function->name;
    if ((name == "duration" || name == "timestamp") && node.children.size() == 1 &&
        node.children[0]->op == Node::Op::constant) {
      memory.clear(1'000'000);
      const Value arg = node.children[0]->constant;
      const auto& overloads = node.function->overloads;
      const bool good = std::any_of(overloads.begin(), overloads.end(), [&](const Overload& overload) {
        return accepts(*overload.parameters[0], arg) && !overload.run(std::span(&arg, 1), memory).is_error();
      });
      if (!good) mistakes.add(node.children[0]->offset, fmt::format("invalid {} argument", name));
    } else if (takes_pattern(node) && is_text(*node.children[1])) {
      const auto pattern = Pattern::compile(node.children[1]->constant.text(), kPatternMemory);
      instructions += pattern ? pattern->size() : 0;
      if (!pattern && name == "matches") mistakes.add(node.children[1]->offset, "invalid matches argument");
      if (instructions <= kMostInstructions) continue;
      return mistakes.add(node.children[1]->offset, "the patterns of this expression are too large");
    } else if (name == "format" && node.op == Node::Op::member && is_text(*node.children[0]) &&
               node.children[1]->op == Node::Op::list) {
      check_format(node, mistakes);
    }
  }
}

}  // namespace koord::cel
