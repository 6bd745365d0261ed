// Documents: what is read is written, access and edits, equality, hostile text.
#include "koord/json/value.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "koord/json/reader.hpp"
#include "koord/json/writer.hpp"
#include "support/sanitized.hpp"

namespace koord::json {
namespace {

std::string again(std::string_view text) {
  const auto document = parse(text);
  return document ? to_text(*document) : document.error().message();
}

TEST_CASE("what is read is written") {
  struct Row {
    std::string_view in, out;
  };
  const Row rows[] = {
      {"null", "null"},
      {" [ ] ", "[]"},
      {"{}", "{}"},
      {R"({"b":[1,true,false,null,"x"],"a":{"":""}})", R"({"b":[1,true,false,null,"x"],"a":{"":""}})"},
      {R"("a\u0000\n\"\\\/\u00e9\ud83d\ude00\u001f\u007f")",
       "\"a\\u0000\\n\\\"\\\\/\u00e9\U0001f600\\u001f\x7f\""},
      {"[0,-1,9223372036854775807,-9223372036854775808,9223372036854775808,18446744073709551615]",
       "[0,-1,9223372036854775807,-9223372036854775808,9223372036854775808,18446744073709551615]"},
      // Beyond 64 bits, and whatever has a fraction or an exponent: a double, printed as Go does.
      {"[18446744073709551616,1.0,-0,-0.0,0.1,1e3,1E+20,1e21,1.5e-9,1e-6,1e-7,5e-324,1e-999,123456789.125]",
       "[18446744073709552000,1,0,0,0.1,1000,100000000000000000000,1e+21,1.5e-9,0.000001,1e-7,5e-324,0,"
       "123456789.125]"},
      {"1e400", "JSON: line 1, column 1 (byte 0): a number that is too large"},
      {"{\"a\":1,\n \"b\":}", "JSON: line 2, column 6 (byte 13): no JSON value"},
      {std::string_view("[1]\0", 4),
       "JSON: line 1, column 4 (byte 3): unexpected text after the end of the value"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.in);
    CHECK(again(row.in) == row.out);
  }
}

TEST_CASE("of members with one name the last counts, however many there are") {
  CHECK(again(R"({"a":1,"b":2,"a":3})") == R"({"a":3,"b":2})");
  CHECK(again(R"([{"a":{"x":1,"x":2}},{"a":1,"a":{"y":[],"y":{}}}])") == R"([{"a":{"x":2}},{"a":{"y":{}}}])");
  CHECK(again(R"({"a\u0062":1,"ab":2})") == R"({"ab":2})");
  std::string text = "{", expected = "{";
  const std::size_t names = test::hostile(30'000);
  for (std::size_t i = 0; i < 2 * names; ++i)
    fmt::format_to(std::back_inserter(text), "\"k{:05}\":{},", i % names, i);
  for (std::size_t i = 0; i < names; ++i)
    fmt::format_to(std::back_inserter(expected), "\"k{:05}\":{},", i, i + names);
  text.back() = '}';
  expected.back() = '}';
  CHECK((again(text) == expected));
}

TEST_CASE("deep documents are refused before anything is built") {
  const std::string open(1000, '['), close(1000, ']');
  CHECK(again(open + close) == open + close);
  CHECK_FALSE(parse('[' + open + close + ']').has_value());
  CHECK_FALSE(parse(std::string(400'000, '[')).has_value());
  std::string objects;
  for (int i = 0; i < 1001; ++i) objects += "{\"a\":";
  CHECK_FALSE(parse(objects + "1" + std::string(1001, '}')).has_value());
}

TEST_CASE("values are looked at") {
  const auto document =
      parse(R"({"a":{"b":{"c":"text","n":-7,"u":18446744073709551615,"d":1.5,"t":true}},"l":[1,2]})");
  REQUIRE(document.has_value());
  const Value& root = *document;
  CHECK(text_at(root, "a", "b", "c") == "text");
  CHECK(text_at(root, "a", "b", "n").empty());
  CHECK(text_at(root, "a", "x", "c").empty());
  CHECK(int_at(root, "a", "b", "n") == -7);
  CHECK_FALSE(int_at(root, "a", "b", "u").has_value());
  CHECK(find(root, "a", "b", "u")->to_uint() == 18446744073709551615U);
  CHECK(find(root, "a", "b", "d")->to_double() == 1.5);
  CHECK(find(root, "a", "b", "n")->to_double() == -7.0);
  CHECK(true_at(root, "a", "b", "t"));
  CHECK_FALSE(true_at(root, "a", "b", "c"));
  CHECK(find(root, "l", "a") == nullptr);
  CHECK(find(root, "l")->size() == 2);
  CHECK((*find(root, "l"))[1].to_int() == 2);
  CHECK(find(root, "a")->elements().empty());
  CHECK(find(root, "l")->members().empty());
  CHECK(depth(root, kMaxDepth) == 3);
  CHECK(Value(true).is_bool());
  CHECK(Value(3).is_int());
  CHECK(Value(3U).to_uint() == 3);
  CHECK(Value(0.5).to_double() == 0.5);
  CHECK(Value().is_null());
  CHECK(make_const("x").text() == "x");
}

TEST_CASE("values are edited") {
  Document document;
  Arena& arena = document.arena();
  set_text(object_at(document, "metadata", arena), "name", "a name of more than thirteen bytes", arena);
  set_int(document, "n", 1, arena);
  set_int(document, "n", 2, arena);
  default_int(document, "n", 3, arena);
  set(document, "null", Value(), arena);
  default_text(document, "null", "now a text", arena);
  default_text(document, "null", "another", arena);
  Value& list = array_at(document, "list", arena);
  for (int i = 0; i < 40; ++i) list.push_back(Value(i), arena);
  list.erase_if([](const Value& v) { return *v.to_int() % 10 != 0; });
  list.insert(0, make_const("first"), arena);
  list.insert(3, make_const("third"), arena);
  list.insert(list.size(), make_const("last"), arena);
  list.erase(1);
  CHECK(to_text(document) ==
        R"({"metadata":{"name":"a name of more than thirteen bytes"},"n":2,"null":"now a text",)"
        R"("list":["first",10,"third",20,30,"last"]})");
  CHECK(remove(document, "n"));
  CHECK_FALSE(remove(document, "n"));
  document.erase_if([](const Member& m) { return m.key() == "null"; });
  Document copy = clone(document);
  document.read("0").value();  // the copy has memory of its own
  CHECK(to_text(copy) == R"({"metadata":{"name":"a name of more than thirteen bytes"},)"
                         R"("list":["first",10,"third",20,30,"last"]})");
  const Document moved = std::move(copy);
  CHECK(text_at(moved, "metadata", "name") == "a name of more than thirteen bytes");
  Value number(7);
  const Value taken = std::move(number);
  CHECK((taken.to_int() == 7 && number.is_null()));
}

TEST_CASE("memory is used again") {
  Document document;
  const std::string text = "[" + quote(std::string(5000, 'x')) + ",1,{\"a\":2}]";
  for (int i = 0; i < 100; ++i) {
    REQUIRE(document.read(text).has_value());
    CHECK(document.arena().used() < 6000);
    CHECK(document.size() == 3);
  }
  CHECK_FALSE(document.read("[").has_value());
  CHECK(document.is_null());
}

TEST_CASE("equality is by value") {
  struct Row {
    std::string_view a, b;
    bool equal;
  };
  const Row rows[] = {
      {"1", "1.0", true},
      {"1", "2", false},
      {"-1", "18446744073709551615", false},
      {"9223372036854775807", "9223372036854775808", false},
      {"9223372036854775808", "9223372036854775808.0", true},
      {"9223372036854775807", "9223372036854775808.0", false},
      {R"({"a":1,"b":[1,2]})", R"({"b":[1,2],"a":1})", true},
      {R"({"a":1,"b":[1,2]})", R"({"b":[2,1],"a":1})", false},
      {R"({"a":1})", R"({"a":1,"b":null})", false},
      {R"({"a":1,"b":2})", R"({"a":1,"c":2})", false},
      {R"("a")", "null", false},
      {"{}", "[]", false},
      {"true", "false", false},
      {"0", "-0.0", true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.a, row.b);
    const auto a = parse(row.a), b = parse(row.b);
    CHECK((*a == *b) == row.equal);
    CHECK((*b == *a) == row.equal);
    CHECK((compare(*a, *b) == 0) == row.equal);
    CHECK((compare(*a, *b) < 0) == (compare(*b, *a) > 0));
  }
  CHECK(same(nullptr, &static_cast<const Value&>(*parse("{}"))));
  CHECK_FALSE(same(nullptr, &static_cast<const Value&>(*parse("0"))));

  // Members in another order, so many that looking each up would take minutes.
  std::string forwards = "{", backwards = "{";
  const std::size_t members = test::hostile(50'000);
  for (std::size_t i = 0; i < members; ++i) {
    fmt::format_to(std::back_inserter(forwards), "\"k{}\":{},", i, i);
    fmt::format_to(std::back_inserter(backwards), "\"k{0}\":{0},", members - 1 - i);
  }
  forwards.back() = backwards.back() = '}';
  CHECK((*parse(forwards) == *parse(backwards)));
}

}  // namespace
}  // namespace koord::json
