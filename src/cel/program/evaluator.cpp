// The evaluator: walks the planned tree, and counts what that costs as cel-go does.
//
// A chain of names and indexes (a.b[c].d) costs one for each of its qualifiers and one for itself; as a
// branch of a condition, or as an index, it does not cost for itself.
#include <fmt/format.h>

#include <array>
#include <vector>

#include "cel/library/function.hpp"
#include "cel/library/regex.hpp"
#include "cel/program/compiled.hpp"
#include "cel/program/cost.hpp"
#include "cel/values/compare.hpp"
#include "cel/values/representation.hpp"

namespace koord::cel {
namespace {

bool is_index(const Node& node) {
  return (node.op == Node::Op::call || node.op == Node::Op::member) && node.plan == Node::Plan::index;
}
bool is_conditional(const Node& node) {
  return node.op == Node::Op::call && node.plan == Node::Plan::conditional;
}
bool is_attribute(const Node& node) {
  return node.op == Node::Op::ident || node.op == Node::Op::select || is_index(node) || is_conditional(node);
}

class Evaluation {
 public:
  Evaluation(const Compiled& code, std::span<const Value> variables, Memory& memory, Meter& meter)
      : code_(code),
        variables_(variables),
        memory_(memory),
        meter_(meter),
        frame_(code.slots),
        set_(code.slots) {}

  Value run() {
    Value value = eval(*code_.tree.root);
    if (over_) return out_of_budget();
    return memory_.exhausted() ? out_of_memory() : value;
  }

 private:
  void charge(std::uint64_t cost) {
    if (__builtin_add_overflow(meter_.used, cost, &meter_.used)) meter_.used = UINT64_MAX;
    if (meter_.used > meter_.limit) over_ = true;
  }
  /// Nothing more is computed: what is returned does not matter.
  bool stopped() const { return over_ || memory_.exhausted(); }

  Value eval(const Node& node) {
    if (stopped()) return out_of_budget();
    switch (node.op) {
      case Node::Op::constant: return node.constant;
      case Node::Op::ident:
      case Node::Op::select: return attribute(node);
      case Node::Op::list: return list(node);
      case Node::Op::map: return map(node);
      case Node::Op::fold: return fold(node);
      case Node::Op::call:
      case Node::Op::member: return call(node);
      case Node::Op::structure: break;
    }
    return no_such_overload();
  }

  Value attribute(const Node& node) {
    const Value value = resolve(node);
    if (!root_is_conditional(node)) charge(1);
    if (node.op == Node::Op::select && node.test_only) {
      meter_.used -= root_is_conditional(node) ? 0 : 1;
      if (value.kind() == Kind::optional) return Value::boolean(has_value(value));
    }
    return value;
  }

  static bool root_is_conditional(const Node& node) {
    const Node* at = &node;
    while (at->op == Node::Op::select || is_index(*at)) at = at->children[0];
    return is_conditional(*at);
  }

  /// The value of a chain, without what it costs itself.
  Value resolve(const Node& node) {
    if (stopped()) return out_of_budget();
    if (node.op == Node::Op::ident) return variable(node);
    if (is_conditional(node)) {
      const Value condition = eval(*node.children[0]);
      if (condition.is_error()) return condition;
      if (condition.kind() != Kind::boolean) return no_such_overload();
      return branch(*node.children[condition.as_bool() ? 1 : 2]);
    }
    const Node& target = *node.children[0];
    Value object = is_attribute(target) ? resolve(target) : eval(target);
    if (object.is_error()) return object;
    bool optional = object.kind() == Kind::optional;
    if (optional) {
      if (!has_value(object)) return object;
      object = optional_value(object);
    }
    optional |= node.optional;
    Value key;
    if (node.op == Node::Op::select) {
      key = Value::string(node.name);
    } else {
      const Node& index = *node.children[1];
      key = is_attribute(index) ? resolve(index) : eval(index);
    }
    if (key.is_error()) {
      if (!optional) charge(1);
      return key;
    }
    return qualified(node, object, key, optional);
  }

  Value branch(const Node& node) { return is_attribute(node) ? resolve(node) : eval(node); }

  Value qualified(const Node& node, Value object, Value key, bool optional) {
    if (key.kind() == Kind::list || key.kind() == Kind::map) {
      if (!optional) charge(1);
      return fail(memory_, key.kind() == Kind::list ? "invalid qualifier type: []interface {}"
                                                    : "invalid qualifier type: map[string]interface {}");
    }
    std::optional<Value> found;
    switch (object.kind()) {
      case Kind::map: found = find(object, key, memory_); break;
      case Kind::list: {
        std::int64_t index = -1;
        if (const Value wrong = index_of(key, index); wrong.is_error()) {
          if (!optional) charge(1);
          return wrong;
        }
        if (index >= 0 && index < std::int64_t{object.count()})
          found = element(object, static_cast<std::uint32_t>(index), memory_);
        break;
      }
      default: break;
    }
    if (found && found->is_error()) {
      if (!optional) charge(1);
      return *found;
    }
    if (node.test_only) {
      charge(1);
      return Value::boolean(found.has_value());
    }
    if (optional) {
      if (!found) return no_optional();
      charge(1);
      return make_optional(*found, memory_);
    }
    charge(1);
    if (found) return *found;
    const std::string shown = to_string(key, memory_);
    return fail(memory_, (object.kind() == Kind::list ? "index out of bounds: " : "no such key: ") + shown);
  }

  Value index_of(Value key, std::int64_t& index) {
    switch (key.kind()) {
      case Kind::integer: index = key.as_int(); return Value::null();
      case Kind::unsigned_integer:
      case Kind::real: {
        const Value whole =
            Value::integer(key.kind() == Kind::real && key.as_real() > -0x1p63 && key.as_real() < 0x1p63
                               ? static_cast<std::int64_t>(key.as_real())
                               : key.as_int());
        if (!equal(whole, key, memory_))
          return fail(memory_, fmt::format("unsupported index value {} in list", to_string(key, memory_)));
        index = whole.as_int();
        return Value::null();
      }
      default:
        return fail(memory_, fmt::format("unsupported index type '{}' in list", name_of(runtime_type(key))));
    }
  }

  Value variable(const Node& node) {
    const auto slot = static_cast<std::size_t>(node.slot);
    if (!node.local) return slot < variables_.size() ? variables_[slot] : no_such_overload();
    if (const Node* start = set_[slot]) {
      // An accumulator has its first value once somebody asks: `cel.bind` may bind what would fail. What it
      // runs may use the slots behind this one, which the fold then sets anew.
      set_[slot] = nullptr;
      const Value value = eval(*start);
      set_[slot] = nullptr;
      frame_[slot] = value;
    }
    return frame_[slot];
  }

  Value list(const Node& node) {
    Value made = list_with_room(node.children.size(), memory_);
    for (std::size_t i = 0; i < node.children.size() && !made.is_error(); ++i) {
      Value item = eval(*node.children[i]);
      if (!item.is_error() && !node.optionals.empty() && node.optionals[i]) {
        if (item.kind() != Kind::optional) {
          item =
              fail(memory_, fmt::format("cannot initialize optional list element from non-optional value {}",
                                        to_string(item, memory_)));
        } else {
          if (!has_value(item)) continue;
          item = optional_value(item);
        }
      }
      made = item.is_error() ? item : append(made, item, memory_);
    }
    charge(kListCost);
    return made;
  }

  Value map(const Node& node) {
    Value made = empty_map();
    for (std::size_t i = 0; i < node.children.size() && !made.is_error(); i += 2) {
      const Value key = eval(*node.children[i]);
      Value item = key.is_error() ? key : eval(*node.children[i + 1]);
      if (!item.is_error() && !node.optionals.empty() && node.optionals[i / 2]) {
        if (item.kind() != Kind::optional) {
          item = fail(memory_, fmt::format("cannot initialize optional entry '{}' from non-optional value {}",
                                           to_string(key, memory_), to_string(item, memory_)));
        } else {
          if (!has_value(item)) continue;
          item = optional_value(item);
        }
      }
      made = item.is_error() ? item : put(made, key, item, memory_);
    }
    charge(kMapCost);
    return made;
  }

  Value logical(const Node& node, bool any) {
    Value failure;
    for (const Node* child : node.children) {
      const Value value = eval(*child);
      if (stopped()) return out_of_budget();
      if (value.kind() == Kind::boolean) {
        if (value.as_bool() == any) return value;
      } else if (!failure.is_error()) {
        failure = value.is_error() ? value : no_such_overload();
      }
    }
    return failure.is_error() ? failure : Value::boolean(!any);
  }

  Value compare(const Node& node, bool wanted) {
    const std::array<Value, 2> args = {eval(*node.children[0]), eval(*node.children[1])};
    Value result = args[0].is_error() ? args[0] : args[1];
    if (!args[0].is_error() && !args[1].is_error())
      result = Value::boolean(equal(args[0], args[1], memory_) == wanted);
    charge_call(node, args, result);
    return result;
  }

  Value optional_or(const Node& node, bool value) {
    const Value first = eval(*node.children[0]);
    if (first.kind() != Kind::optional) return first;
    if (!has_value(first)) return eval(*node.children[1]);
    return value ? optional_value(first) : first;
  }

  Value membership(const Node& node) {
    const Value value = eval(*node.children[0]);
    if (value.is_error()) return value;
    const Value set = code_.memberships.find(&node)->second;
    return Value::boolean(find(set, value, memory_).has_value());
  }

  void charge_call(const Node& node, std::span<const Value> args, Value result) {
    if (!stopped()) charge(cost(static_cast<CostRule>(node.cost), args, result, memory_));
  }

  Value call(const Node& node) {
    switch (node.plan) {
      case Node::Plan::logical_and: return logical(node, false);
      case Node::Plan::logical_or: return logical(node, true);
      case Node::Plan::conditional:
      case Node::Plan::index: return attribute(node);
      case Node::Plan::equal: return compare(node, true);
      case Node::Plan::not_equal: return compare(node, false);
      case Node::Plan::membership: return membership(node);
      case Node::Plan::optional_or: return optional_or(node, false);
      case Node::Plan::optional_or_value: return optional_or(node, true);
      case Node::Plan::call: break;
    }
    if (node.function->name == "@not_strictly_false") {
      const Value arg = eval(*node.children[0]);
      charge(1);
      return arg.kind() == Kind::boolean ? arg : Value::boolean(true);
    }
    std::array<Value, 4> kept;
    const std::size_t count = node.children.size();
    Value failure;
    for (std::size_t i = 0; i < count; ++i) {
      kept[i] = eval(*node.children[i]);
      if (!kept[i].is_error()) continue;
      // Of many arguments those behind the error are not looked at, and the call costs nothing.
      if (count > 2 && i + 1 < count) return kept[i];
      if (!failure.is_error()) failure = kept[i];
    }
    const std::span<const Value> args(kept.data(), count);
    // What it costs is paid before it is done, where that is known: one match of a long pattern, which is
    // beyond any budget, would take seconds.
    if (!failure.is_error() && !needs_result(static_cast<CostRule>(node.cost))) {
      charge_call(node, args, {});
      return apply(node, args);
    }
    const Value result = failure.is_error() ? failure : apply(node, args);
    charge_call(node, args, result);
    return result;
  }

  Value apply(const Node& node, std::span<const Value> args) {
    if (stopped()) return out_of_budget();
    if (const auto found = code_.patterns.find(&node);
        found != code_.patterns.end() && args[0].kind() == Kind::string) {
      if (node.function->name == "matches") return Value::boolean(found->second.found_in(args[0].text()));
      if (node.function->name == "find") return find_first(found->second, args[0].text());
      if (args.size() == 2 || args[2].kind() == Kind::integer)
        return find_all(found->second, args[0].text(), args.size() == 3 ? args[2].as_int() : -1, memory_);
    }
    const Function& function = *node.function;
    if (function.single) return single(function, args);
    if (node.overload)
      return fits(*node.overload, args) ? node.overload->run(args, memory_) : unmatched(function, args);
    for (const Overload& overload : function.overloads)
      if (overload.member == (node.op == Node::Op::member) && fits(overload, args))
        return overload.run(args, memory_);
    return unmatched(function, args);
  }

  Value single(const Function& function, std::span<const Value> args) {
    if (has_operands(function, args[0])) return function.overloads.front().run(args, memory_);
    return no_operator(function, args[0]);
  }

  Value no_operator(const Function& function, Value value) {
    const Kind kind = value.kind();
    if (kind == Kind::string || kind == Kind::duration || kind == Kind::timestamp) return no_such_overload();
    return fail(memory_, fmt::format("no such overload: {}", function.name));
  }

  /// Whether values of this kind have the operator at all.
  static bool has_operands(const Function& function, Value value) {
    const std::string_view name = function.name;
    const Kind kind = value.kind();
    const bool number = is_number(value);
    if (name == "_+_")
      return number || kind == Kind::string || kind == Kind::bytes || kind == Kind::list ||
             kind == Kind::duration || kind == Kind::timestamp;
    if (name == "_-_") return number || kind == Kind::duration || kind == Kind::timestamp;
    if (name == "_*_" || name == "_/_") return number;
    if (name == "_%_") return number && kind != Kind::real;
    if (name == "-_") return number || kind == Kind::duration;
    if (name == "size")
      return kind == Kind::string || kind == Kind::bytes || kind == Kind::list || kind == Kind::map;
    if (name == "matches") return kind == Kind::string;
    if (name == "_<_" || name == "_<=_" || name == "_>_" || name == "_>=_")
      return number || kind == Kind::boolean || kind == Kind::string || kind == Kind::bytes ||
             kind == Kind::duration || kind == Kind::timestamp;
    return true;
  }

  static bool fits(const Overload& overload, std::span<const Value> args) {
    if (overload.parameters.size() != args.size()) return false;
    for (std::size_t i = 0; i < args.size(); ++i)
      if (!accepts(*overload.parameters[i], args[i])) return false;
    return true;
  }

  Value unmatched(const Function& function, std::span<const Value> args) {
    // One implementation upstream, which asks its first argument for a list.
    if (function.name == "sort" || function.name == "@sortByAssociatedKeys")
      return no_operator(function, args[0]);
    std::string text = fmt::format("no such overload: {}(", function.name);
    for (std::size_t i = 0; i < args.size(); ++i)
      text += fmt::format("{}{}", i != 0 ? ", " : "", name_of(runtime_type(args[i])));
    return fail(memory_, text + ')');
  }

  Value fold(const Node& node) {
    const Value range = eval(*node.children[0]);
    if (range.is_error()) return range;
    const bool is_map = range.kind() == Kind::map;
    if (!is_map && range.kind() != Kind::list)
      return fail(memory_, node.iterator2.empty()
                               ? fmt::format("got '{}', expected iterable type", name_of(runtime_type(range)))
                               : fmt::format("unsupported comprehension range type: {}",
                                             name_of(runtime_type(range))));
    const auto slot = static_cast<std::size_t>(node.slot);
    set_[slot] = node.children[1];
    for (std::uint32_t i = 0; i < range.count() && !stopped(); ++i) {
      if (!memory_.step()) break;
      std::pair<Value, Value> both{Value::integer(i), Value::null()};
      if (is_map) {
        const auto pair = entry(range, i, memory_);
        if (!pair) continue;
        both = *pair;
      } else {
        both.second = element(range, i, memory_);
        if (node.iterator2.empty()) both.first = both.second;
      }
      place(slot + 1, both.first);
      if (!node.iterator2.empty()) place(slot + 2, both.second);
      const Value condition = eval(*node.children[2]);
      if (condition.is_false()) break;
      const Value step = eval(*node.children[3]);
      place(slot, step);
    }
    if (stopped()) return out_of_budget();
    return eval(*node.children[4]);
  }

  void place(std::size_t slot, Value value) {
    set_[slot] = nullptr;
    frame_[slot] = value;
  }

  const Compiled& code_;
  std::span<const Value> variables_;
  Memory& memory_;
  Meter& meter_;
  std::vector<Value> frame_;
  std::vector<const Node*> set_;  // what an accumulator begins with, until it has begun
  bool over_ = false;
};

}  // namespace

Value evaluate(const Compiled& code, std::span<const Value> variables, Memory& memory, Meter& meter) {
  return Evaluation(code, variables, memory, meter).run();
}

}  // namespace koord::cel
