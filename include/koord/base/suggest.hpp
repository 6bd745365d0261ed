// The nearest of the known names to one that was mistyped.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace koord {

/// The known name with the fewest edits (insert, delete, replace, swap of neighbours; case counts for
/// nothing), the first of several; none if that is more than about a third of the name.
std::optional<std::string_view> nearest(std::string_view name, std::span<const std::string_view> known);

}  // namespace koord
