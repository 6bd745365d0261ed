// Checking: names are declared, types agree, overloads are found.
#pragma once

#include <span>
#include <string_view>

#include "cel/syntax/source.hpp"
#include "cel/syntax/tree.hpp"
#include "koord/cel/environment.hpp"

namespace koord::cel {

/// Fills in what nodes learn; returns how many slots the frame of the folds has.
std::size_t check(Tree& tree, std::span<const Variable> variables, std::string_view authorizer,
                  Mistakes& mistakes);

/// What is wrong with literals although their types are right: times, patterns, formats. Asked once all is
/// checked.
void check_literals(const Tree& tree, Mistakes& mistakes);

}  // namespace koord::cel
