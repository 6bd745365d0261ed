// Reading numbers and lines out of kernel text in place: nothing is copied, nothing allocates.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace koord::host {

/// Takes the next line off `text`, without its line feed; false at the end.
inline bool next_line(std::string_view& text, std::string_view& line) {
  if (text.empty()) return false;
  const auto end = text.find('\n');
  line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return true;
}

/// Takes the next word (blanks and tabs separate) off `text`; empty at the end.
inline std::string_view next_word(std::string_view& text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    text = {};
    return {};
  }
  const auto end = text.find_first_of(" \t", first);
  const std::string_view word =
      text.substr(first, end == std::string_view::npos ? std::string_view::npos : end - first);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end);
  return word;
}

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// The whole text as a decimal number; false if it is anything else or out of range.
template <class Number>
bool to_number(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && at == end && !text.empty();
}

}  // namespace koord::host
