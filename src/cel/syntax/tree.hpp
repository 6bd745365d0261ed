// The tree of an expression: parsed, then checked and planned in place.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "koord/cel/value.hpp"

namespace koord::cel {

struct Function;
struct Overload;

/// Nodes refer to one another and lie in a Tree. A macro may use one node twice: the tree is a graph without
/// rings.
struct Node {
  enum class Op : std::uint8_t {
    constant,
    ident,
    select,  // child 0 . name; `has(...)` where test_only
    call,    // name(children)
    member,  // child 0 . name(other children)
    list,
    map,        // keys and values by turns
    structure,  // name{...}: there are none, but mistakes name them
    fold,
  };
  /// What a call is, known before it runs.
  enum class Plan : std::uint8_t {
    call,
    logical_and,
    logical_or,
    conditional,
    equal,
    not_equal,
    index,
    membership,
    optional_or,
    optional_or_value
  };

  Op op = Op::constant;
  Plan plan = Plan::call;
  bool test_only = false;
  bool optional = false;  // of a select or an index: `.?`, `[?`
  bool checked = false;
  std::uint8_t cost = 0;  // CostRule
  std::int64_t offset = -1;
  std::string name;
  Value constant;
  std::vector<Node*> children;
  std::vector<bool> optionals;  // of a list's elements and a map's entries; empty if none is

  // Of a fold: the children are the range, the accumulator's first value, the condition, the step, the
  // result.
  std::string iterator, iterator2, accumulator;

  // Found by checking.
  TypeRef type;
  const Function* function = nullptr;
  const Overload* overload = nullptr;  // where it is one alone
  std::int32_t slot = -1;              // of a variable: the environment's, or a fold's
  bool local = false;                  // of a fold: slots lie in its frame
};

struct Tree {
  std::deque<Node> nodes;
  Memory memory{std::size_t{16} * 1024 * 1024};  // of the constants
  Node* root = nullptr;

  Node* add(Node::Op op, std::int64_t offset) {
    Node& node = nodes.emplace_back();
    node.op = op;
    node.offset = offset;
    return &node;
  }
};

}  // namespace koord::cel
