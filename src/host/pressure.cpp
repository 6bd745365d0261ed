#include "koord/host/pressure.hpp"

#include <fmt/format.h>

#include "koord/host/text.hpp"

namespace koord::host {

namespace {
bool read_line(std::string_view rest, PressureLine& out) {
  int seen = 0;
  for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = word.substr(equals + 1);
    bool good = true;
    if (name == "avg10")
      good = to_number(value, out.avg10);
    else if (name == "avg60")
      good = to_number(value, out.avg60);
    else if (name == "avg300")
      good = to_number(value, out.avg300);
    else if (name == "total")
      good = to_number(value, out.total_us);
    else
      continue;
    if (!good) return false;
    ++seen;
  }
  return seen == 4;
}
}  // namespace

Result<Pressure> parse_pressure(std::string_view text) {
  Pressure pressure;
  bool has_some = false;
  std::string_view line;
  while (next_line(text, line)) {
    std::string_view rest = line;
    const std::string_view kind = next_word(rest);
    if (kind.empty()) continue;
    PressureLine* const out = kind == "some" ? &pressure.some : kind == "full" ? &pressure.full : nullptr;
    if (!out || !read_line(rest, *out))
      return Error(Code::parse, fmt::format("pressure: cannot read \"{}\"", line.substr(0, 80)));
    has_some |= out == &pressure.some;
    pressure.has_full |= out == &pressure.full;
  }
  if (!has_some) return Error(Code::parse, "pressure: no line \"some\"");
  return pressure;
}

}  // namespace koord::host
