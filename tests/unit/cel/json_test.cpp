// JSON by a schema's shape: formats, escaped names, what is hidden; and names as expressions write them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "koord/cel/environment.hpp"
#include "koord/cel/shape.hpp"
#include "unit/cel/shown.hpp"

namespace koord::cel {
namespace {

std::unique_ptr<Shape> leaf(Shape::Expect expect, Shape::Format format = Shape::Format::none) {
  auto shape = std::make_unique<Shape>();
  shape->expect = expect;
  shape->format = format;
  return shape;
}

Shape object_shape() {
  Shape shape;
  shape.expect = Shape::Expect::object;
  shape.closed = true;
  const auto add = [&](std::string json_name, std::unique_ptr<Shape> field) {
    shape.fields.push_back({escape_name(json_name), std::move(json_name), std::move(field)});
  };
  add("a-b", leaf(Shape::Expect::integer));
  auto list = leaf(Shape::Expect::array);
  list->list = Shape::List::set;
  list->element = leaf(Shape::Expect::string);
  add("list", std::move(list));
  add("namespace", leaf(Shape::Expect::string));
  add("number", leaf(Shape::Expect::number));
  add("raw", leaf(Shape::Expect::string, Shape::Format::byte));
  add("when", leaf(Shape::Expect::string, Shape::Format::date_time));
  std::sort(shape.fields.begin(), shape.fields.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return shape;
}

TEST_CASE("objects are read by their schema") {
  const Shape shape = object_shape();
  const json::Document doc = *json::parse(
      R"({"a-b":1,"list":["x","y"],"namespace":"n","number":2,"raw":"aGk=","when":"2020-01-02T03:04:05Z","hidden":1})");
  const Environment environment({{"self", simple_type(TypeKind::dyn)}});
  struct Row {
    std::string_view expression, value;
  };
  const Row rows[] = {
      {"self.a__dash__b + 1", "2"},
      {"self.__namespace__", "\"n\""},
      {"self.number", "2"},
      {"type(self.number) == double", "true"},
      {"self.raw", "bytes 104 105"},
      {"self.when.getFullYear()", "2020"},
      {"self.list == ['y', 'x']", "true"},
      {"has(self.hidden)", "false"},
      {"self.hidden", "no such key: hidden"},
      {"self.exists(k, k == 'hidden')", "false"},
      {"self.exists(k, k == 'a__dash__b')", "true"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.expression);
    const auto program = environment.compile(row.expression);
    REQUIRE(program.has_value());
    Memory memory;
    Meter meter;
    const Value variables[] = {Value::json(doc, memory, &shape)};
    CHECK(shown(program->run(variables, memory, meter), memory) == row.value);
  }
  const json::Document wrong = *json::parse(R"({"a-b":"text"})");
  Memory memory;
  Meter meter;
  const Value variables[] = {Value::json(wrong, memory, &shape)};
  CHECK(to_string(environment.compile("self.a__dash__b")->run(variables, memory, meter), memory) ==
        "invalid data, expected int, got string");
}

TEST_CASE("names are escaped as Kubernetes escapes them") {
  const std::pair<std::string_view, std::string_view> rows[] = {{"name", "name"},
                                                                {"a-b", "a__dash__b"},
                                                                {"a.b/c", "a__dot__b__slash__c"},
                                                                {"a__b", "a__underscores__b"},
                                                                {"for", "__for__"},
                                                                {"namespace", "__namespace__"},
                                                                {"1a", ""},
                                                                {"\u00e9", ""},
                                                                {"", ""},
                                                                {"$ref", ""},
                                                                {"x1", "x1"}};
  for (const auto& [name, escaped] : rows) {
    CAPTURE(name);
    CHECK(escape_name(name) == escaped);
  }
}

TEST_CASE("a program says what it mentions") {
  const Environment environment(
      {{"self", simple_type(TypeKind::dyn)}, {"oldSelf", simple_type(TypeKind::dyn)}});
  CHECK(environment.compile("self.x == oldSelf.x")->mentions("oldSelf"));
  CHECK(!environment.compile("self.oldSelf")->mentions("oldSelf"));
  CHECK(!environment.compile("[1].all(oldSelf, oldSelf > 0)")->mentions("oldSelf"));
}

}  // namespace
}  // namespace koord::cel
