// Writing JSON: separators, escapes, what is no UTF-8.
#include "koord/json/writer.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "koord/json/value.hpp"

namespace koord::json {
namespace {

TEST_CASE("the writer separates and escapes") {
  std::string out = "data: ";
  Writer json(out);
  json.begin_object().member("a", 1).member("b\n", "x\"y").key("c").begin_array();
  json.value(true).null().value(1.5).value(std::uint64_t{18446744073709551615U}).value(std::string("s"));
  json.begin_object().end_object().begin_array().end_array().raw("[{}]").value(*parse(R"({"k":[1]})"));
  json.end_array().key("d").begin_object().member_if("none", "").member_if("some", "{").member("e", "[");
  json.end_object().end_object();
  CHECK(out ==
        R"(data: {"a":1,"b\n":"x\"y","c":[true,null,1.5,18446744073709551615,"s",{},[],[{}],{"k":[1]}],)"
        R"("d":{"some":"{","e":"["}})");
  CHECK(parse(out.substr(6)).has_value());
}

TEST_CASE("what is no UTF-8 is replaced, byte by byte") {
  struct Row {
    std::string in, out;
  };
  const Row rows[] = {
      {"", "\"\""},
      {"\u00e9\u20ac\U0001f600", "\"\u00e9\u20ac\U0001f600\""},
      {"a\xff", "\"a\ufffd\""},
      {"\xc3", "\"\ufffd\""},
      {"\xc0\x80", "\"\ufffd\ufffd\""},
      {"\xed\xa0\x80x", "\"\ufffd\ufffd\ufffdx\""},
      {"\xf0\x9f\x98 ok", "\"\ufffd\ufffd\ufffd ok\""},
      {std::string("\0\x1f\x7f", 3), "\"\\u0000\\u001f\x7f\""},
  };
  for (const Row& row : rows) CHECK(quote(row.in) == row.out);
  for (std::size_t at = 0; at < 40; ++at) {  // sixteen bytes are looked at together
    std::string text(40, 'x'), expected = text;
    text[at] = '\x80';
    expected.replace(at, 1, "\ufffd");
    CHECK(quote(text) == '"' + expected + '"');
  }
}

TEST_CASE("numbers that JSON lacks are null") {
  std::string out;
  append_number(out, std::numeric_limits<double>::quiet_NaN());
  append_number(out, std::numeric_limits<double>::infinity());
  CHECK(out == "nullnull");
}

}  // namespace
}  // namespace koord::json
