// Checks of selector requirements that label selectors and node selectors share.
#pragma once

#include <string>
#include <vector>

#include "koord/api/rules/error_texts.hpp"
#include "koord/api/rules/selector.hpp"

namespace koord::api {

/// The requirement; what is wrong with it is added to `errors`, and then it is not to be used.
SelectorRequirement checked_requirement(Symbol key, SelectorOp op, std::vector<Symbol> values,
                                        const ListPlace& place, ErrorTexts& errors);
/// A list of strings as JSON, cut after twenty; null if it is empty.
std::string json_list(const std::vector<Symbol>& values);

}  // namespace koord::api
