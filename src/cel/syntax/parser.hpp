// From text to a tree, macros expanded.
#pragma once

#include <string_view>

#include "cel/syntax/source.hpp"
#include "cel/syntax/tree.hpp"

namespace koord::cel {

struct SyntaxOptions {
  bool bind = false;
  std::uint32_t max_length = 100'000;
};

/// Recursion of one rule of the grammar, as cel-go bounds it.
inline constexpr int kMaxNesting = 250;

/// Fills the tree; its root is not to be used if there is a mistake.
void parse(std::string_view source, const SyntaxOptions& options, Tree& tree, Mistakes& mistakes);

}  // namespace koord::cel
