// Functions and operators: how they are declared and found.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/cel/type.hpp"
#include "koord/cel/value.hpp"

namespace koord::cel {

/// `args` are no errors; of a member the target is the first.
using Implementation = Value (*)(std::span<const Value> args, Memory& memory);

/// One row of a library's table.
struct Declaration {
  std::string_view function, id;
  /// "(int, int) -> bool", "string.(int) -> string"; capital letters are type variables.
  std::string_view signature;
  Implementation run;
};

struct Overload {
  std::string id;
  std::vector<TypeRef> parameters;
  TypeRef result;
  bool member = false;
  Implementation run = nullptr;
};

struct Function {
  std::string name;
  std::deque<Overload> overloads;
  /// One implementation for all, which looks at the kinds itself: operators.
  bool single = false;
};

/// Of the base environment; nullptr if there is none.
const Function* find_function(std::string_view name);
/// The type that a name denotes (int, net.IP), or nullptr.
TypeRef find_type(std::string_view name);
/// The type of a signature's word: "list(A)".
TypeRef type_of(std::string_view text);
/// Whether a value of this kind may stand where the type does, at run time.
bool accepts(const Type& type, Value value);

}  // namespace koord::cel
