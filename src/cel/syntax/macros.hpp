// Macros: calls that the parser replaces by what they mean.
#pragma once

#include <string_view>
#include <vector>

#include "cel/syntax/source.hpp"
#include "cel/syntax/tree.hpp"

namespace koord::cel {

/// Names that no expression can write.
inline constexpr std::string_view kAccumulator = "@result";
inline constexpr std::string_view kUnused = "#unused";

/// What `name(args)` (target is nullptr) or `target.name(args)` stands for, or nullptr if it is no macro. A
/// wrong use is a mistake and gives a node all the same.
Node* expand(std::string_view name, Node* target, const std::vector<Node*>& args, std::int64_t offset,
             bool bind, Tree& tree, Mistakes& mistakes);

}  // namespace koord::cel
