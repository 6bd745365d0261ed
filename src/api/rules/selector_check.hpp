// Checks of selector requirements that label selectors and node selectors share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "koord/api/rules/selector.hpp"

namespace koord::api {

/// The requirement; what is wrong with it is appended to `errors`, and then it is not to be used.
SelectorRequirement checked_requirement(Symbol key, SelectorOp op, std::vector<Symbol> values,
                                        std::string_view path, std::vector<std::string>& errors);
/// One error as it is, several as "[a, b]", each once: how Kubernetes prints an aggregate.
std::string aggregate(const std::vector<std::string>& errors);
/// A list of strings as JSON; null if it is empty.
std::string json_list(const std::vector<Symbol>& values);

}  // namespace koord::api
