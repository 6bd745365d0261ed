// Configuration files: what is read, and the line of what is refused.
#include "koord/runtime/config.hpp"

#include <catch2/catch.hpp>

#include "koord/api/scheduling_v1.hpp"

namespace koord::runtime {
namespace {

TEST_CASE("YAML's scalars get JSON's types") {
  struct Row {
    std::string yaml, json;
  };
  const Row rows[] = {
      {"a: 1", R"({"a":1})"},
      {"a: 010", R"({"a":"010"})"},
      {"a: -1.5e3", R"({"a":-1.5e3})"},
      {"a: .5", R"({"a":".5"})"},
      {"a: '1'", R"({"a":"1"})"},
      {"a: \"x\\ty\"", R"({"a":"x\u0009y"})"},
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
      {"? [a]\n: 1", "1: a key must be a text"},
      {std::string(400'000, '['), "1: "},
  };
  for (const Row& row : rows) {
    CAPTURE(row.yaml.substr(0, 40));
    const auto json = yaml_to_json(row.yaml);
    REQUIRE_FALSE(json.has_value());
    CHECK(json.error().message().substr(0, row.message.size()) == row.message);
  }
}

TEST_CASE("aliases that unfold without end are refused") {
  std::string yaml = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
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

TEST_CASE("a configuration that is wrong names file, line and field") {
  const std::string head = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\n";
  struct Row {
    std::string text, message;
  };
  const Row rows[] = {
      {"kind: PriorityClass\n", "f.yaml:1: .apiVersion: missing, expected scheduling.k8s.io/v1"},
      {"apiVersion: scheduling.k8s.io/v1\nkind: Pod\n", "f.yaml:2: .kind: \"Pod\", expected PriorityClass"},
      {head + "valeu: 1\n", "f.yaml:3: .valeu: "},
      {head + "metadata:\n  name: a\nvalue: x\n", "f.yaml:5: .value: "},
      {head + "value: 1\nvalue: 2\n", "f.yaml:4: .value: the key is there twice"},
      {"- 1\n", "f.yaml:1: .apiVersion: missing, expected scheduling.k8s.io/v1"},
      {"", "f.yaml:1: .apiVersion: missing, expected scheduling.k8s.io/v1"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    api::PriorityClass object;
    const auto done = read_config(row.text, "f.yaml", api::schema<api::PriorityClass>(), &object);
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error().message().substr(0, row.message.size()) == row.message);
  }
  api::PriorityClass object;
  REQUIRE(read_config(head + "value: 7\n", "f.yaml", api::schema<api::PriorityClass>(), &object).has_value());
  CHECK(object.value == 7);
  const auto missing = load_config<api::PriorityClass>("no/such/file");
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().message() == "no/such/file: No such file or directory");
}

}  // namespace
}  // namespace koord::runtime
