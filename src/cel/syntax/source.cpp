#include "cel/syntax/source.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace koord::cel {
namespace {

constexpr std::size_t kLongestLine = 16'384;

struct Place {
  std::size_t line = 0, column = 0;  // column in code points, from 0
  std::string_view text;             // of the line
};

std::size_t width(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

Place place_of(std::string_view source, std::int64_t offset) {
  Place place;
  std::size_t start = 0;
  const auto at = static_cast<std::size_t>(offset);
  place.line = 1;
  for (std::size_t i = 0; i < at && i < source.size(); ++i)
    if (source[i] == '\n') {
      ++place.line;
      start = i + 1;
    }
  place.text = source.substr(start, source.find('\n', start) - start);
  for (std::size_t i = start; i < at && i < source.size(); i += width(source[i])) ++place.column;
  return place;
}

std::string shown(std::string_view source, const Mistake& mistake) {
  if (mistake.offset < 0) return fmt::format("ERROR: <input>:-1:0: {}", mistake.message);
  const Place place = place_of(source, mistake.offset);
  std::string out = fmt::format("ERROR: <input>:{}:{}: {}", place.line, place.column + 1, mistake.message);
  if (place.text.size() > kLongestLine) return out;
  std::string line(place.text);
  std::replace(line.begin(), line.end(), '\t', ' ');
  out += "\n | " + line + "\n | ";
  std::size_t at = 0;
  for (std::size_t i = 0; i < place.column && at < line.size(); ++i) {
    const std::size_t size = width(line[at]);
    out += size > 1 ? "\uff0e" : ".";
    at += size;
  }
  out += at < line.size() && width(line[at]) > 1 ? "\uff3e" : "^";
  return out;
}

}  // namespace

std::string Mistakes::text(std::string_view source) const {
  std::vector<Mistake> sorted = list_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Mistake& a, const Mistake& b) { return a.offset < b.offset; });
  std::string out;
  for (const Mistake& mistake : sorted) out += (out.empty() ? "" : "\n") + shown(source, mistake);
  if (count_ > list_.size()) out += fmt::format("\n{} more errors were truncated", count_ - list_.size());
  return out;
}

}  // namespace koord::cel
