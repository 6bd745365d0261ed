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
  for (const char* bad : {"Z", "Zg", "Zg=", "Zg===", "Z===", "Zg==Zg==", "Zm9*", "Zm-_", "Zm9v-", "Zm9v-Zm9v",
                          "Zm9v\t", "=", "====", "=m9v", "Zm=v"}) {
    CAPTURE(bad);
    CHECK_FALSE(decode_base64(bad).has_value());
  }
}

TEST_CASE("base64 of what is longer than a line and a part of OpenSSL's") {
  std::string plain;
  for (std::size_t i = 0; i < (3 << 20) + 64; ++i) plain += static_cast<char>(i * 7 + i / 251);
  std::string encoded = encode_base64(plain);
  CHECK(encoded.size() == (plain.size() + 2) / 3 * 4);
  CHECK(encoded.find('=') == encoded.size() - 2);
  CHECK(decode_base64(encoded) == plain);
  for (std::size_t at = 76; at < encoded.size(); at += 4096) encoded.insert(at, "\r\n ");
  CHECK(decode_base64(encoded) == plain);
  encoded.back() = 'A';
  CHECK_FALSE(decode_base64(encoded).has_value());
}
