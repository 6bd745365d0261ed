// Columns of the built-in kinds: names, priorities and cells as kube-apiserver prints them.
#include "sandbox/columns/columns.hpp"

#include <fmt/format.h>

#include "koord/api/values/time.hpp"
#include "sandbox/columns/rows.hpp"

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
  auto days = hours / 24;
  if (days < 730) return fmt::format("{}d", days);
  if (days < 2920 && days % 365) return fmt::format("{}y{}d", days / 365, days % 365);
  return fmt::format("{}y", days / 365);
}

std::string age_of(std::string_view timestamp, WallTime now) {
  if (timestamp.empty()) return "<unknown>";
  auto time = api::Time::parse(timestamp);
  if (!time) return "<unknown>";
  return human_duration(std::chrono::floor<std::chrono::seconds>(now - time->wall()));
}

void add_builtin_columns(Kind& kind) {
  for (const auto rows :
       {core_columns(), workload_columns(), policy_columns(), device_columns(), storage_columns()})
    for (const KindColumns& row : rows) {
      // Both groups of Event print alike: the cells are made of the stored form.
      const bool events = kind.resource == "events" && row.resource == "events";
      if (kind.resource != row.resource || (kind.group != row.group && !events)) continue;
      kind.cells = row.cells;
      for (const Head& head : row.heads)
        kind.columns.push_back({std::string(head.name), std::string(head.type),
                                head.name == "Name" ? "name" : "", "", head.priority});
    }
}

}  // namespace koord::sandbox
