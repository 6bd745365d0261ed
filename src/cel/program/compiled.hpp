// A compiled expression: its tree, planned, and what was made beforehand.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "cel/syntax/source.hpp"
#include "cel/syntax/tree.hpp"
#include "koord/base/result.hpp"
#include "koord/cel/environment.hpp"
#include "koord/cel/pattern.hpp"

namespace koord::cel {

struct Compiled {
  std::string text;
  Tree tree;
  std::vector<Variable> variables;                     // as declared; the types that nodes mention
  std::size_t slots = 0;                               // of the folds' frame
  std::unordered_map<const Node*, Pattern> patterns;   // of calls whose pattern is a literal
  std::unordered_map<const Node*, Value> memberships;  // maps of the elements of constant lists
};

/// Constants are computed, `in` of constants and patterns prepared. An error is what a constant makes:
/// int("a").
Result<void> plan(Compiled& code);

/// One evaluation.
Value evaluate(const Compiled& code, std::span<const Value> variables, Memory& memory, Meter& meter);

}  // namespace koord::cel
