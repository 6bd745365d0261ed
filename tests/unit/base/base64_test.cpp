#include "koord/base/base64.hpp"

#include <catch2/catch.hpp>

using namespace koord;

TEST_CASE("base64 goes both ways") {
  struct Row {
    std::string_view plain, encoded;
  };
  const Row rows[] = {{"", ""},
                      {"f", "Zg=="},
                      {"fo", "Zm8="},
                      {"foo", "Zm9v"},
                      {"foobar", "Zm9vYmFy"},
                      {"\xff\xfe\xfb", "//77"},
                      {{"\0\0", 2}, "AAA="}};
  for (const Row& row : rows) {
    CAPTURE(row.encoded);
    CHECK(encode_base64(row.plain) == row.encoded);
    CHECK(decode_base64(row.encoded) == std::string(row.plain));
  }
  CHECK(decode_base64("Zm9v\nYmFy\r\n") == "foobar");
  for (const char* bad : {"Z", "Zg", "Zg=", "Zg===", "Z===", "Zg==Zg==", "Zm9*", "Zm-_"}) {
    CAPTURE(bad);
    CHECK_FALSE(decode_base64(bad).has_value());
  }
}
