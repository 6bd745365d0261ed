// Patterns of expressions: those that are literals are compiled with the program.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "koord/cel/pattern.hpp"
#include "koord/cel/value.hpp"

namespace koord::cel {

/// What one pattern of an expression may take, in bytes.
inline constexpr std::size_t kPatternMemory = std::size_t{1024} * 1024;
/// Instructions of all patterns that are literals of one expression: compiling them takes about half a
/// microsecond each.
inline constexpr std::size_t kMostInstructions = 50'000;

/// find, findAll (at most `most`, all if it is negative), matches.
Value find_first(const Pattern& pattern, std::string_view text);
Value find_all(const Pattern& pattern, std::string_view text, std::int64_t most, Memory& memory);

}  // namespace koord::cel
