// What the functions that fill rows share: cells as JSON values.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "koord/json/writer.hpp"
#include "sandbox/columns/columns.hpp"

namespace koord::sandbox {

using Cells = std::vector<std::string>;

inline void text(Cells& cells, std::string_view value) { cells.push_back(json::quote(value)); }
inline void number(Cells& cells, std::int64_t value) { cells.push_back(fmt::to_string(value)); }
inline void yes_no(Cells& cells, bool value) { cells.push_back(value ? "true" : "false"); }
inline std::string_view or_none(std::string_view value) { return value.empty() ? "<none>" : value; }
inline std::string_view name_of(const json::Value& object) { return text_at(object, "metadata", "name"); }
inline void age(Cells& cells, const json::Value& object, WallTime now) {
  text(cells, age_of(text_at(object, "metadata", "creationTimestamp"), now));
}

/// Adds to what is joined by commas.
inline void join(std::string& out, std::string_view more) {
  if (!out.empty()) out.push_back(',');
  out.append(more);
}

/// "app=web,tier=front"
inline std::string label_pairs(const json::Value* labels) {
  std::string out;
  if (labels)
    for (const auto& label : labels->members())
      if (label.value.is_string()) join(out, fmt::format("{}={}", label.key(), label.value.text()));
  return out;
}

}  // namespace koord::sandbox
