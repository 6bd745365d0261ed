// Reading JSON in which somebody else's objects are as deep as an API server lets them be.
#pragma once

#include "koord/json/reader.hpp"

namespace koord::json {

/// An API server takes objects of 10,000 levels, and shows them within lists and events.
inline constexpr int kMaxListedDepth = 10'010;

/// As read(), up to kMaxListedDepth: for who reads many objects as one text and makes no Value of them. Of
/// one that is deeper than the others need be the others must not suffer.
Result<> read_listed(std::string_view text, Events& events);

}  // namespace koord::json
