// JSON merge patches and JSON patches on raw documents.
#include <catch2/catch.hpp>

#include "koord/api/schema/document.hpp"

using namespace koord;
using namespace koord::api;

namespace {
std::string apply(PatchType type, const char* target, const std::string& patch) {
  auto document = Document::parse(target);
  REQUIRE(document.has_value());
  const auto done = apply_patch(*document, type, patch, {}, {});
  return done ? document->to_json() : "error: " + done.error().message();
}
}  // namespace

TEST_CASE("merge patches are RFC 7386's") {
  struct Case {
    const char *target, *patch, *result;
  };
  // The RFC's own table.
  const Case cases[] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", "{}"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"a":"foo"})", "null", "null"},
      {R"({"a":"foo"})", "\"bar\"", "\"bar\""},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {"[1,2]", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {"{}", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  for (const Case& c : cases) {
    INFO(c.target << " + " << c.patch);
    CHECK(apply(PatchType::merge, c.target, c.patch) == c.result);
  }
}

TEST_CASE("merge_diff makes the patch") {
  const auto a = Document::parse(R"({"x":1,"y":{"a":1,"b":[1]},"z":"old"})");
  const auto b = Document::parse(R"({"x":1.0,"y":{"a":2,"b":[1],"c":true}})");
  REQUIRE(a.has_value());
  REQUIRE(b.has_value());
  CHECK(merge_diff(*a, *b) == R"({"z":null,"y":{"a":2,"c":true}})");
  CHECK_FALSE(merge_diff(*a, *a));
}

TEST_CASE("JSON patches are RFC 6902's") {
  struct Case {
    const char *target, *patch, *result;
  };
  const Case cases[] = {
      {R"({"foo":"bar"})", R"([{"op":"add","path":"/baz","value":"qux"}])", R"({"foo":"bar","baz":"qux"})"},
      {R"({"foo":["a","b"]})", R"([{"op":"add","path":"/foo/1","value":"x"}])", R"({"foo":["a","x","b"]})"},
      {R"({"foo":["a"]})", R"([{"op":"add","path":"/foo/-","value":["x"]}])", R"({"foo":["a",["x"]]})"},
      {R"({"a":1,"b":2})", R"([{"op":"remove","path":"/a"}])", R"({"b":2})"},
      {R"({"a":[1,2,3]})", R"([{"op":"remove","path":"/a/1"}])", R"({"a":[1,3]})"},
      {R"({"a":1})", R"([{"op":"replace","path":"/a","value":null}])", R"({"a":null})"},
      {R"({"a":{"b":1},"c":{}})", R"([{"op":"move","from":"/a/b","path":"/c/d"}])",
       R"({"a":{},"c":{"d":1}})"},
      {R"({"a":[1,2,3]})", R"([{"op":"move","from":"/a/0","path":"/a/2"}])", R"({"a":[2,3,1]})"},
      {R"({"a":{"b":1}})", R"([{"op":"copy","from":"/a","path":"/c"}])", R"({"a":{"b":1},"c":{"b":1}})"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":1.0}])", R"({"a":1})"},
      {R"({"a~/":1})", R"([{"op":"test","path":"/a~0~1","value":1}])", R"({"a~/":1})"},
      {R"({"a":1})", R"([{"op":"replace","path":"","value":[1]}])", "[1]"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])",
       "error: operation 0: test: /a: has another value"},
      {R"({"a":1})", R"([{"op":"remove","path":"/b"}])", "error: operation 0: /b: does not exist"},
      {R"({"a":[1]})", R"([{"op":"remove","path":"/a/-"}])", "error: operation 0: /a/-: does not exist"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/5","value":1}])",
       "error: operation 0: /a/5: no such index"},
      {R"({"a":1})", R"([{"op":"add","path":"/b/c","value":1}])",
       "error: operation 0: /b/c: the parent does not exist"},
      {R"({"a":1})", R"([{"op":"replace","path":"/b","value":1}])", "error: operation 0: /b: does not exist"},
      {R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":"/a/b"}])",
       "error: operation 0: /a: cannot move into itself"},
      {"{}", R"([{"op":"frob","path":"/a"}])", "error: operation 0: unknown op \"frob\""},
      {"{}", R"([{"op":"add","path":"/a"}])", "error: operation 0: value is missing"},
      {"{}", R"([{"op":"add","value":1}])", "error: operation 0: path is missing"},
      {"{}", R"([1])", "error: operation 0: path is missing"},
      {"{}", R"({"op":"add"})", "error: a JSON patch is a list of operations"},
  };
  for (const Case& c : cases) {
    INFO(c.target << " + " << c.patch);
    CHECK(apply(PatchType::json, c.target, c.patch) == c.result);
  }
}

TEST_CASE("a JSON patch that fails changes nothing") {
  auto document = Document::parse(R"({"a":1})");
  const char* patch = R"([{"op":"add","path":"/b","value":1},{"op":"test","path":"/a","value":2}])";
  const auto done = apply_json_patch(*document, patch);
  REQUIRE(done.has_error());
  CHECK(done.error().code() == Code::invalid);
  CHECK(document->to_json() == R"({"a":1})");
}

TEST_CASE("a JSON patch cannot blow up") {
  std::string doubling = "[";
  for (int i = 0; i < 60; ++i) doubling += R"({"op":"copy","from":"","path":"/-"},)";
  doubling.back() = ']';
  CHECK(apply(PatchType::json, "[\"0123456789\"]", doubling).starts_with("error: operation"));

  std::string tower = "[";
  const std::string deep = std::string(900, '[') + std::string(900, ']');
  std::string path;
  for (int i = 0; i < 5; ++i) {
    tower += R"({"op":"add","path":")" + path + R"(/-","value":)" + deep + "},";
    for (int j = 0; j < 900; ++j) path += "/0";
  }
  tower.back() = ']';
  CHECK(apply(PatchType::json, "[]", tower).find("nested deeper than 1000") != std::string::npos);
}
