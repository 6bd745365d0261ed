// Columns of the built-in kinds.
#include "sandbox/kinds/columns.hpp"

#include <fmt/format.h>

#include "koord/api/time.hpp"

namespace koord::sandbox {

std::string human_duration(std::chrono::seconds age) {
  auto s = age.count();
  if (s < -1) return "<invalid>";
  if (s < 0) return "0s";
  if (s < 120) return fmt::format("{}s", s);
  auto minutes = s / 60;
  if (minutes < 10) return s % 60 ? fmt::format("{}m{}s", minutes, s % 60) : fmt::format("{}m", minutes);
  if (minutes < 180) return fmt::format("{}m", minutes);
  auto hours = s / 3600;
  if (hours < 8) return minutes % 60 ? fmt::format("{}h{}m", hours, minutes % 60) : fmt::format("{}h", hours);
  if (hours < 48) return fmt::format("{}h", hours);
  if (hours < 192)
    return hours % 24 ? fmt::format("{}d{}h", hours / 24, hours % 24) : fmt::format("{}d", hours / 24);
  if (hours < 24 * 365 * 2) return fmt::format("{}d", hours / 24);
  auto days = hours / 24;
  if (hours < 24 * 365 * 8)
    return days % 365 ? fmt::format("{}y{}d", days / 365, days % 365) : fmt::format("{}y", days / 365);
  return fmt::format("{}y", days / 365);
}

std::string age_of(std::string_view timestamp, WallTime now) {
  auto time = api::Time::parse(timestamp);
  if (timestamp.empty() || !time) return "<unknown>";
  return human_duration(std::chrono::floor<std::chrono::seconds>(now - time->wall()));
}

void add_builtin_columns(Kind&) {}

}  // namespace koord::sandbox
