// Keys of maps: hashing and sameness, which for numbers goes by value.
#pragma once

#include <cstddef>

#include "koord/cel/value.hpp"

namespace koord::cel {

std::size_t hash(Value key);
/// Equal scalars; other kinds are no keys.
bool same_key(Value a, Value b);
/// Numbers of any kind; -1, 0, 1. Not for NaN.
int compare_numbers(Value a, Value b);
inline bool is_number(Value value) {
  return value.kind() == Kind::integer || value.kind() == Kind::unsigned_integer ||
         value.kind() == Kind::real;
}

}  // namespace koord::cel
