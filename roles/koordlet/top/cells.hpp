// Cells of the tables that `koord top` prints: numbers for people, and other people's text on a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace koord::koordlet {

/// What stands where nothing is known.
inline constexpr std::string_view kNone = "-";
/// No table is drawn narrower than that.
inline constexpr std::size_t kLeastWidth = 80;

std::string cores(const std::optional<double>& value);        // 1.25
std::string bytes(const std::optional<std::int64_t>& value);  // 1.5Gi
std::string percent(const std::optional<double>& ratio);      // 25%
/// No control characters, no more than so many columns ('~' ends what was cut).
std::string clean(std::string_view text, std::size_t width);
/// The lines that fit below `used` lines of a terminal of `height` lines (0: all of them), one left for what
/// is counted only.
std::size_t lines_that_fit(std::size_t lines, std::size_t used, std::size_t height);

}  // namespace koord::koordlet
