#include "koord/base/text.hpp"

#include <catch2/catch.hpp>

using namespace koord;

TEST_CASE("a character's length, or none") {
  const std::pair<std::string_view, std::size_t> rows[] = {
      {"", 0},
      {"a", 1},
      {std::string_view("\0", 1), 1},
      {"\x7f", 1},
      {"\x80", 0},              // a continuation by itself
      {"\xc1\x81", 0},          // overlong
      {"\xc3\xa9", 2},          // e with an acute
      {"\xc3", 0},              // cut
      {"\xc3z", 0},             // not continued
      {"\xe2\x98\x83", 3},      // a snowman
      {"\xe0\x9f\xbf", 0},      // overlong
      {"\xed\xa0\x80", 0},      // a surrogate
      {"\xf0\x9f\x98\x80", 4},  // a smile
      {"\xf0\x8f\xbf\xbf", 0},  // overlong
      {"\xf4\x8f\xbf\xbf", 4},  // the last one
      {"\xf4\x90\x80\x80", 0},  // beyond
      {"\xf5\x80\x80\x80", 0},
      {"\xff", 0},
  };
  for (const auto& [text, length] : rows) {
    INFO(text);
    CHECK(utf8_length(text) == length);
  }
}

TEST_CASE("a text is cut between characters") {
  const std::string snow = "ab\xe2\x98\x83";
  CHECK(utf8_prefix(snow, 5) == snow);
  CHECK(utf8_prefix(snow, 4) == "ab");
  CHECK(utf8_prefix(snow, 3) == "ab");
  CHECK(utf8_prefix(snow, 2) == "ab");
  CHECK(utf8_prefix(snow, 0).empty());
}

TEST_CASE("notes are cut between characters") {
  CHECK(cut_note("short") == "short");
  CHECK(cut_note(std::string(1024, 'x')) == std::string(1024, 'x'));
  CHECK(cut_note(std::string(1025, 'x')) == std::string(1020, 'x') + " ...");
  const std::string snow = "x\xe2\x98\x83";  // U+2603 sits across the cut
  std::string text(1018, 'y');
  text += snow + std::string(100, 'z');
  CHECK(cut_note(text) == std::string(1018, 'y') + "x ...");
}

TEST_CASE("quotes are Go's") {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"", R"("")"},
      {"plain", R"("plain")"},
      {"a\"b\\c", R"("a\"b\\c")"},
      {"\a\b\f\n\r\t\v", R"("\a\b\f\n\r\t\v")"},
      {std::string_view("\0\x1f\x7f", 3), R"("\x00\x1f\x7f")"},
      {"caf\xc3\xa9", "\"caf\xc3\xa9\""},
      {"\xff\xc3", R"("\xff\xc3")"},
  };
  for (const auto& [text, expected] : rows) CHECK(quote(text) == expected);
}
