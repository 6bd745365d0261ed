// Cells of tables: see cells.hpp.
#include "top/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace koord::koordlet {

Page Page::of(runtime::OutputForm form, const runtime::Screen& screen) {
  return {screen.width, screen.height, form == runtime::OutputForm::wide, screen.colours};
}

std::size_t Page::columns() const {
  return wide ? std::numeric_limits<std::size_t>::max() / 2 : std::max(width, kLeastWidth);
}

std::size_t Page::name_width(std::size_t longest, std::size_t behind, std::size_t least) const {
  return std::max(std::min(longest, columns() - behind), least);
}

std::string cores(const std::optional<double>& value) { return value ? fmt::format("{:.2f}", *value) : "-"; }

std::string bytes(const std::optional<std::int64_t>& value) {
  if (!value) return std::string(kNone);
  static constexpr std::array<std::string_view, 6> kUnits = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  double amount = static_cast<double>(*value);
  std::size_t unit = 0;
  while (amount >= 1000 && unit + 1 < kUnits.size()) {
    amount /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f}{}", amount, unit > 0 && amount < 10 ? 1 : 0, kUnits[unit]);
}

std::string percent(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.0f}%", *ratio * 100) : "-";
}

std::string one_decimal(double amount) { return fmt::format("{:.1f}", amount); }

std::string share(double part, double whole) {
  return whole > 0 ? percent(part / whole) : std::string(kNone);
}

std::string plural(std::int64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string clean(std::string_view text, std::size_t width) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  if (out.size() > width) {
    out.resize(width - 1);
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) out.pop_back();
    if (!out.empty() && static_cast<unsigned char>(out.back()) >= 0xc0) out.pop_back();
    out += '~';
  }
  return out;
}

std::size_t lines_that_fit(std::size_t lines, std::size_t used, std::size_t height) {
  if (height == 0 || used + lines <= height) return lines;
  return height > used + 1 ? height - used - 1 : 0;
}

}  // namespace koord::koordlet
