// Document: parsing, paths, printing.
#include "koord/api/schema/document.hpp"

#include <catch2/catch.hpp>

using namespace koord;
using namespace koord::api;

TEST_CASE("a document keeps what it was given") {
  for (const char* text : {
           R"({"b":1,"a":{"x":[1,2.50,-0,1e3,12345678901234567890],"y":null},"z":true,"e":{},"l":[]})",
           R"("text with \"quotes\", \\ and \u0001 and ü")",
           R"([[],[[]],{"":""}])",
           "0",
           "null",
       }) {
    INFO(text);
    const auto document = Document::parse(text);
    REQUIRE(document.has_value());
    CHECK(document->to_json() == text);
    CHECK(document->clone() == *document);
  }
  CHECK(Document::parse(R"({"a":1,"a":2})")->to_json() == R"({"a":2})");
}

TEST_CASE("what is no JSON says where") {
  struct Case {
    std::string text;
    std::string message;
  };
  const Case cases[] = {
      {"", "line 1, column 1"},
      {"{\n  \"a\": tru\n}", "line 2"},
      {"{} x", "more text after the value"},
      {std::string("{}\0{", 4), "more text after the value"},
      {"\"\xc3\"", "line 1"},
      {"\"\xc3", "line 1"},
      {"\"\xff\"", "line 1"},
      {"[1,]", "line 1"},
      {"{\"a\":01}", "line 1"},
      {"\"\\ud800\"", "line 1"},
      {std::string(400'000, '['), "nested deeper than 1000"},
      {[] {
         std::string deep;
         for (int i = 0; i < 400'000; ++i) deep += "{\"a\":";
         return deep;
       }(),
       "nested deeper than 1000"},
  };
  for (const Case& c : cases) {
    INFO(c.text.substr(0, 40));
    const auto document = Document::parse(c.text);
    REQUIRE(document.has_error());
    CHECK(document.error().code() == Code::parse);
    CHECK(document.error().message().find(c.message) != std::string::npos);
    INFO(document.error().message());
  }
  CHECK(Document::parse(std::string(1000, '[') + std::string(1000, ']')).has_value());
}

TEST_CASE("paths read") {
  const auto d = Document::parse(R"({"a":{"b/c":"s","d~":7,"e":[10,{"f":true}]},"n":null,"x":1.5})");
  REQUIRE(d.has_value());
  CHECK(d->get_string("/a/b~1c") == "s");
  CHECK(d->get_int("/a/d~0") == 7);
  CHECK(d->get_int("/a/e/0") == 10);
  CHECK(d->get_bool("/a/e/1/f") == true);
  CHECK(d->has("/n"));
  CHECK(d->size("/a/e") == 2);
  CHECK(d->size("/a") == 3);
  CHECK(d->get_json("/a/e") == R"([10,{"f":true}])");
  CHECK(d->keys("/a") == std::vector<std::string>{"b/c", "d~", "e"});
  CHECK_FALSE(d->has("/a/e/2"));
  CHECK_FALSE(d->has("/a/e/01"));
  CHECK_FALSE(d->has("/a/e/-"));
  CHECK_FALSE(d->has("a"));
  CHECK_FALSE(d->get_string("/a/d~0"));
  CHECK_FALSE(d->get_int("/x"));
  CHECK_FALSE(d->get_bool("/n"));
}

TEST_CASE("paths write") {
  Document d;
  CHECK(d.set_string("/metadata/labels/app.kubernetes.io~1name", "x").has_value());
  CHECK(d.set_int("/spec/replicas", 3).has_value());
  CHECK(d.set_json("/spec/list", "[1]").has_value());
  CHECK(d.set_bool("/spec/list/-", true).has_value());
  CHECK(d.set_int("/spec/list/0", 5).has_value());
  CHECK(d.to_json() ==
        R"({"metadata":{"labels":{"app.kubernetes.io/name":"x"}},"spec":{"replicas":3,"list":[5,true]}})");
  CHECK(d.set_int("/spec/list/9", 1).has_error());
  CHECK(d.set_int("/spec/replicas/x", 1).has_error());
  CHECK(d.set_json("/spec/x", "{").has_error());
  CHECK(d.remove("/spec/list/0"));
  CHECK(d.remove("/spec/replicas"));
  CHECK_FALSE(d.remove("/spec/replicas"));
  CHECK_FALSE(d.remove("/spec/list/7"));
  CHECK(d.get_json("/spec") == R"({"list":[true]})");
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "/a";
  CHECK(d.set_int(deep, 1).has_error());
}

TEST_CASE("documents compare by value") {
  const auto same = [](const char* a, const char* b) { return *Document::parse(a) == *Document::parse(b); };
  CHECK(same(R"({"a":1,"b":2})", R"({"b":2,"a":1.0})"));
  CHECK(same("1e3", "1000"));
  CHECK_FALSE(same("9007199254740993", "9007199254740992"));
  CHECK_FALSE(same("[1,2]", "[2,1]"));
  CHECK_FALSE(same(R"({"a":null})", "{}"));
  CHECK_FALSE(same("1", "\"1\""));
}
