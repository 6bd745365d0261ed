#include "cel/syntax/macros.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace koord::cel {
namespace {

using Args = std::vector<Node*>;

/// Makes nodes at the macro's place.
class Builder {
 public:
  Builder(Tree& tree, Mistakes& mistakes, std::int64_t offset)
      : tree_(tree), mistakes_(mistakes), offset_(offset) {}

  Node* constant(Value value) {
    Node* node = tree_.add(Node::Op::constant, offset_);
    node->constant = value;
    return node;
  }
  Node* ident(std::string_view name) {
    Node* node = tree_.add(Node::Op::ident, offset_);
    node->name = name;
    return node;
  }
  Node* accumulator() { return ident(kAccumulator); }
  Node* call(std::string_view name, Args args) { return with(Node::Op::call, name, std::move(args)); }
  Node* member(std::string_view name, Args args) { return with(Node::Op::member, name, std::move(args)); }
  Node* list(Args elements) { return with(Node::Op::list, {}, std::move(elements)); }
  Node* map() { return tree_.add(Node::Op::map, offset_); }

  struct Names {
    std::string_view iterator, iterator2, accumulator = kAccumulator;
  };
  Node* fold(Node* range, Names names, Node* start, Node* condition, Node* step, Node* result) {
    Node* node = with(Node::Op::fold, {}, {range, start, condition, step, result});
    node->iterator = names.iterator;
    node->iterator2 = names.iterator2;
    node->accumulator = names.accumulator;
    return node;
  }
  /// `name` is `value` in `result`.
  Node* bind(std::string_view name, Node* value, Node* result) {
    return fold(list({}), {kUnused, {}, name}, value, constant(Value::boolean(false)), ident(name), result);
  }
  Node* mistake(const Node* at, std::string message) {
    mistakes_.add(at->offset, std::move(message));
    return constant(Value::null());
  }

 private:
  Node* with(Node::Op op, std::string_view name, Args children) {
    Node* node = tree_.add(op, offset_);
    node->name = name;
    node->children = std::move(children);
    return node;
  }
  Tree& tree_;
  Mistakes& mistakes_;
  std::int64_t offset_;
};

/// The names of one or two iteration variables; empty if there is a mistake, which is told.
struct Iterators {
  std::string_view first, second;
  Node* mistake = nullptr;
};

Iterators iterators(Builder& make, const Args& args, bool two, std::string_view complaint) {
  Iterators names;
  for (std::size_t i = 0; i < (two ? 2u : 1u); ++i) {
    if (args[i]->op != Node::Op::ident) {
      names.mistake = make.mistake(args[i], std::string(complaint));
      return names;
    }
    if (args[i]->name == "__result__") {
      names.mistake = make.mistake(args[i], "iteration variable overwrites accumulator variable");
      return names;
    }
  }
  names.first = args[0]->name;
  if (!two) return names;
  names.second = args[1]->name;
  if (names.first == names.second)
    names.mistake = make.mistake(args[1], fmt::format("duplicate variable name: {}", names.first));
  return names;
}

constexpr std::string_view kSimpleName = "argument must be a simple name";
constexpr std::string_view kNoIdentifier = "argument is not an identifier";

Node* quantifier(std::string_view name, Node* target, const Args& args, Builder& make) {
  const bool two = args.size() == 3;
  const Iterators names = iterators(make, args, two, kSimpleName);
  if (names.mistake) return names.mistake;
  Node* predicate = args.back();
  const Builder::Names fold{names.first, names.second};
  const auto not_false = [&](Node* node) { return make.call("@not_strictly_false", {node}); };
  if (name == "all")
    return make.fold(target, fold, make.constant(Value::boolean(true)), not_false(make.accumulator()),
                     make.call("_&&_", {make.accumulator(), predicate}), make.accumulator());
  if (name == "exists")
    return make.fold(target, fold, make.constant(Value::boolean(false)),
                     not_false(make.call("!_", {make.accumulator()})),
                     make.call("_||_", {make.accumulator(), predicate}), make.accumulator());
  Node* more = make.call("_+_", {make.accumulator(), make.constant(Value::integer(1))});
  return make.fold(target, fold, make.constant(Value::integer(0)), make.constant(Value::boolean(true)),
                   make.call("_?_:_", {predicate, more, make.accumulator()}),
                   make.call("_==_", {make.accumulator(), make.constant(Value::integer(1))}));
}

/// A fold that makes a list or a map: `step`, if `filter` (may be nullptr) is true.
Node* transformed(Node* target, Builder::Names names, Node* start, Node* filter, Node* step, Builder& make) {
  if (filter) step = make.call("_?_:_", {filter, step, make.accumulator()});
  return make.fold(target, names, start, make.constant(Value::boolean(true)), step, make.accumulator());
}

Node* map_macro(Node* target, const Args& args, Builder& make) {
  const Iterators names = iterators(make, args, false, kNoIdentifier);
  if (names.mistake) return names.mistake;
  Node* step = make.call("_+_", {make.accumulator(), make.list({args.back()})});
  return transformed(target, {names.first, {}}, make.list({}), args.size() == 3 ? args[1] : nullptr, step,
                     make);
}

Node* filter_macro(Node* target, const Args& args, Builder& make) {
  const Iterators names = iterators(make, args, false, kNoIdentifier);
  if (names.mistake) return names.mistake;
  Node* step = make.call("_+_", {make.accumulator(), make.list({args[0]})});
  return transformed(target, {names.first, {}}, make.list({}), args[1], step, make);
}

Node* transform_macro(std::string_view name, Node* target, const Args& args, Builder& make) {
  const Iterators names = iterators(make, args, true, kSimpleName);
  if (names.mistake) return names.mistake;
  Node* filter = args.size() == 4 ? args[2] : nullptr;
  const Builder::Names fold{names.first, names.second};
  if (name == "transformList") {
    Node* step = make.call("_+_", {make.accumulator(), make.list({args.back()})});
    return transformed(target, fold, make.list({}), filter, step, make);
  }
  Args inserted{make.accumulator()};
  if (name == "transformMap") inserted.push_back(make.ident(names.first));
  inserted.push_back(args.back());
  return transformed(target, fold, make.map(), filter, make.call("cel.@mapInsert", inserted), make);
}

Node* optional_macro(std::string_view name, Node* target, const Args& args, Builder& make) {
  if (args[0]->op != Node::Op::ident)
    return make.mistake(args[0], fmt::format("{}() variable name must be a simple identifier", name));
  Node* result = make.bind(args[0]->name, make.member("value", {target}), args[1]);
  if (name == "optMap") result = make.call("optional.of", {result});
  return make.call("_?_:_", {make.member("hasValue", {target}), result, make.call("optional.none", {})});
}

Node* sort_by(Node* target, const Args& args, Builder& make) {
  static constexpr std::string_view kInput = "@__sortBy_input__";
  if (target->op == Node::Op::constant || target->op == Node::Op::map || target->op == Node::Op::structure)
    return make.mistake(
        target, "sortBy can only be applied to a list, identifier, comprehension, call or select expression");
  Node* keys = map_macro(make.ident(kInput), args, make);
  return make.bind(kInput, target, make.member("@sortByAssociatedKeys", {make.ident(kInput), keys}));
}

}  // namespace

Node* expand(std::string_view name, Node* target, const std::vector<Node*>& args, std::int64_t offset,
             bool bind, Tree& tree, Mistakes& mistakes) {
  Builder make(tree, mistakes, offset);
  const std::size_t count = args.size();
  if (!target) {
    if (name != "has" || count != 1) return nullptr;
    if (args[0]->op != Node::Op::select || args[0]->test_only)
      return make.mistake(args[0], "invalid argument to has() macro");
    Node* test = tree.add(Node::Op::select, offset);
    test->name = args[0]->name;
    test->children = args[0]->children;
    test->test_only = true;
    return test;
  }
  // existsOne with one variable is no macro in Kubernetes, with two it is.
  const bool quantifies =
      name == "all" || name == "exists" || name == "exists_one" || (name == "existsOne" && count == 3);
  if (quantifies && (count == 2 || count == 3)) return quantifier(name, target, args, make);
  if (name == "map" && (count == 2 || count == 3)) return map_macro(target, args, make);
  if (name == "filter" && count == 2) return filter_macro(target, args, make);
  if ((name == "transformList" || name == "transformMap" || name == "transformMapEntry") &&
      (count == 3 || count == 4))
    return transform_macro(name, target, args, make);
  if ((name == "optMap" || name == "optFlatMap") && count == 2)
    return optional_macro(name, target, args, make);
  if (name == "sortBy" && count == 2) return sort_by(target, args, make);
  if (bind && name == "bind" && count == 3 && target->op == Node::Op::ident && target->name == "cel") {
    if (args[0]->op != Node::Op::ident)
      return make.mistake(args[0], "cel.bind() variable names must be simple identifiers");
    return make.bind(args[0]->name, args[1], args[2]);
  }
  return nullptr;
}

}  // namespace koord::cel
