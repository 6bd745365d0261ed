// Cells of the tables that `koord top` and its like print: numbers for people, and other people's text on a
// terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "koord/runtime/command_output.hpp"

namespace koord::koordlet {

/// What stands where nothing is known.
inline constexpr std::string_view kNone = "-";
/// No table is drawn narrower than that.
inline constexpr std::size_t kLeastWidth = 80;

/// Where a table is drawn: so many columns (80 at least); what does not fit into `height` lines is counted
/// (0: everything is shown).
struct Page {
  std::size_t width = kLeastWidth, height = 0;
  bool wide = false;  // nothing is cut, whatever the width
  bool colours = false;

  /// Of this process's stdout.
  static Page of(runtime::OutputForm form, const runtime::Screen& screen);
  /// No more columns than there are.
  std::size_t columns() const;
  /// Of a name, beside columns of `behind`: as long as the longest, if that fits.
  std::size_t name_width(std::size_t longest, std::size_t behind, std::size_t least = 8) const;
};

std::string cores(const std::optional<double>& value);         // 1.25
std::string bytes(const std::optional<std::int64_t>& value);   // 1.5Gi
std::string percent(const std::optional<double>& ratio);       // 25%
std::string one_decimal(double amount);                        // 1.2
std::string share(double part, double whole);                  // 25%; of nothing: -
std::string plural(std::int64_t count, std::string_view one);  // "1 node", "2 nodes"
/// No control characters, no more than so many columns ('~' ends what was cut).
std::string clean(std::string_view text, std::size_t width);
/// The lines that fit below `used` lines of a terminal of `height` lines (0: all of them), one left for what
/// is counted only.
std::size_t lines_that_fit(std::size_t lines, std::size_t used, std::size_t height);

}  // namespace koord::koordlet
