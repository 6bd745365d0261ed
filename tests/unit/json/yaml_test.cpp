// YAML as JSON: scalars, what is refused and where, lines.
#include "koord/json/yaml.hpp"

#include <catch2/catch.hpp>

#include "koord/json/value.hpp"

namespace koord::json {
namespace {

TEST_CASE("YAML's scalars get JSON's types") {
  struct Row {
    std::string yaml, json;
  };
  const Row rows[] = {
      {"a: 1", R"({"a":1})"},
      {"a: 010", R"({"a":8})"},
      {"a: 09", R"({"a":9})"},
      {"a: -0x1F", R"({"a":-31})"},
      {"a: 0o17", R"({"a":15})"},
      {"a: 0b11", R"({"a":3})"},
      {"a: +1_000", R"({"a":1000})"},
      {"a: 18446744073709551616", R"({"a":18446744073709551616})"},
      {"a: 1.10", R"({"a":1.10})"},
      {"a: -1.5e3", R"({"a":-1.5e3})"},
      {"a: .5", R"({"a":0.5})"},
      {"a: 5.", R"({"a":5})"},
      {"a: 01.5", R"({"a":1.5})"},
      {"a: 1.5.0", R"({"a":"1.5.0"})"},
      {"a: 1e", R"({"a":"1e"})"},
      {"a: 1.5e01017", R"({"a":"1.5e01017"})"},
      {"a: -1e309", R"({"a":"-1e309"})"},
      {"a: 1e-400", R"({"a":1e-400})"},
      {"a: 10m", R"({"a":"10m"})"},
      {"a: 0xg", R"({"a":"0xg"})"},
      {"a: .", R"({"a":"."})"},
      {"a: !!str 1", R"({"a":"1"})"},
      {"a: !!int '1'", R"({"a":1})"},
      {"a: 2026-01-02", R"({"a":"2026-01-02"})"},
      {"a: '1'", R"({"a":"1"})"},
      {"a: \"x\\ty\"", R"({"a":"x\ty"})"},
      {R"(a: "\N\_\L\x85)"
       "\xc3\xa9"
       R"(\N")",
       "{\"a\":\"\xc2\x85\xc2\xa0\xe2\x80\xa8\xc2\x85\xc3\xa9\xc2\x85\"}"},
      {R"("\_": 1)", "{\"\xc2\xa0\":1}"},
      {"a: ~", R"({"a":null})"},
      {"a:", R"({"a":null})"},
      {"a: yes", R"({"a":true})"},
      {"a: off", R"({"a":false})"},
      {"a: [1, x, {b: c}]", R"({"a":[1,"x",{"b":"c"}]})"},
      {R"({"a": {"b": [true, null]}})", R"({"a":{"b":[true,null]}})"},
      {"a: &x {b: 1}\nc: *x", R"({"a":{"b":1},"c":{"b":1}})"},
      {"", "null"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.yaml);
    const auto json = yaml_to_json(row.yaml);
    REQUIRE(json.has_value());
    CHECK(*json == row.json);
  }
}

TEST_CASE("bad YAML is refused with its line") {
  struct Row {
    std::string yaml, message;
  };
  const Row rows[] = {
      {"a: 1\nb: 2\na: 3", "3: .a: the key is there twice"},
      {"a:\n  b: 1\n  b: 2", "3: .a.b: the key is there twice"},
      {"a: 1\n---\nb: 1", "3: a second document, only one is expected"},
      {"a: [1", "1: "},
      {"a: 1\n b: 2", "2: "},
      {"a: 1\nb: .inf", "2: JSON has no number \".inf\""},
      {", a: 1\n", "1: no value can begin with this"},
      {"\n]", "2: "},
      {"a: 1\nb: \xef\xec\nc: 1", "2: the text is not UTF-8"},
      {std::string("a:\n\0\0", 5), "2: the text is not UTF-8"},
      {"? [a]\n: 1", "1: a key must be a text"},
      {std::string(400'000, '['), "1: nested too deeply"},
      {"a: 1\nb:\n  c: " + std::string(400'000, '{') + "\nd: 1\n", "3: nested too deeply"},
      {"a: " + std::string(101, '[') + std::string(101, ']'), "1: nested too deeply"},
      {"a: 1\nb: " + std::string(600, '[') + std::string(600, ']') + "\nc: 1\n", "2: nested too deeply"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.yaml.substr(0, 40));
    const auto json = yaml_to_json(row.yaml);
    REQUIRE_FALSE(json.has_value());
    CHECK(json.error().message().substr(0, row.message.size()) == row.message);
  }
}

TEST_CASE("aliases that unfold without end are refused") {
  const std::string x(500, 'x');  // what counts is bytes: fewer values are quicker under sanitizers
  std::string yaml = fmt::format("a0: &a0 [{0},{0},{0},{0},{0},{0},{0},{0},{0},{0}]\n", x);
  for (int i = 1; i < 9; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    yaml += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int j = 0; j < 9; ++j) yaml += "," + last;
    yaml += "]\n";
  }
  const auto json = yaml_to_json(yaml);
  REQUIRE_FALSE(json.has_value());
  CHECK(json.error().message().find("16 MiB") != std::string::npos);
}

TEST_CASE("a document whose lines are asked for has a bounded number of values") {
  std::string text = "a: [";
  for (int i = 0; i < 70'000; ++i) text += "1,";
  text += "1]\n";
  REQUIRE(yaml_to_json(text).has_value());
  LineMap lines;
  const auto refused = yaml_to_json(text, &lines);
  REQUIRE_FALSE(refused.has_value());
  REQUIRE(refused.error().message() == "1: the document unfolds to more than 65536 values");
}

TEST_CASE("a document that is written as YAML reads back as the same") {
  const char* const texts[] = {
      R"({"a":{"b":[1,-2.5,true,null,"x"],"c":[],"d":{}},"e":"no"})",
      R"({"list":[{"one":"1","two":["on","~"]},{"three":{"four":[{"five":""}]}}]})",
      R"({"kubernetes.io/batch-cpu":"10s","key with: colon":"# no comment","text":"two\nlines","- a":"- b","":" x "})",
      R"(["a",["b","c"],{"d":["e"]}])",
  };
  for (const char* text : texts) {
    const auto document = parse(text);
    REQUIRE(document.has_value());
    const std::string yaml = to_yaml(*document);
    CAPTURE(yaml);
    const auto back = yaml_to_json(yaml);
    REQUIRE(back.has_value());
    CHECK(*back == text);
  }
}

TEST_CASE("every value and key has its line") {
  LineMap lines;
  REQUIRE(yaml_to_json("\na:\n- b: 1\n- c\n", &lines, 10).has_value());
  const LineMap expected{{"", 11}, {".a", 11}, {".a[0]", 12}, {".a[0].b", 12}, {".a[1]", 13}};
  CHECK(lines == expected);
}

}  // namespace
}  // namespace koord::json
