// Expressions beside the API server's own library, cel-go 0.26 in Kubernetes 1.35's base environment: type,
// value or error, cost, and the words for what is refused. Its answers lie in
// tests/golden/cel/expressions.jsonl.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <string>

#include "koord/cel/environment.hpp"
#include "koord/json/value.hpp"
#include "unit/cel/shown.hpp"

namespace koord::cel {
namespace {

constexpr std::string_view kSelf =
    R"({"a":"text","b":true,"d":1.5,"o":{"x":"y","n":{"z":"deep"}},"l":["a","b","c"],"nul":null,"i":7,)"
    R"("ol":[{"name":"a","v":1},{"name":"b","v":2}]})";

TEST_CASE("expressions come to what they come to in the API server") {
  const json::Document self = *json::parse(kSelf), list = *json::parse("[3,1,2]"),
                       map = *json::parse(R"({"k":"v","k2":"v2"})");
  const TypeRef text = simple_type(TypeKind::string), integer = simple_type(TypeKind::integer);
  const Environment environment({{"self", simple_type(TypeKind::dyn)},
                                 {"s", text},
                                 {"i", integer},
                                 {"l", list_type(integer)},
                                 {"m", map_type(text, text)}});
  std::ifstream file(KOORD_GOLDEN "/cel/expressions.jsonl");
  REQUIRE(file);
  std::string line;
  std::size_t rows = 0;
  while (std::getline(file, line)) {
    const json::Document row = *json::parse(line);
    const std::string_view expression = text_at(row, "expr"), issues = text_at(row, "issues");
    CAPTURE(expression);
    ++rows;
    const auto program = environment.compile(expression);
    if (true_at(row, "refused")) {
      // ANTLR's words for what it makes of the rest of a broken text are its own.
      REQUIRE_FALSE(program.has_value());
      CHECK(program.error().message().starts_with("ERROR: <input>:1:"));
      continue;
    }
    if (!issues.empty()) {
      REQUIRE_FALSE(program.has_value());
      CHECK(program.error().message() == issues);
      continue;
    }
    if (!program) FAIL_CHECK(program.error().message());
    if (!program) continue;
    CHECK(to_string(program->type()) == text_at(row, "type"));
    Memory memory;
    const Value variables[] = {Value::json(self, memory), Value::string("h\u00e9llo w\u00f6rld"),
                               Value::integer(42), Value::json(list, memory), Value::json(map, memory)};
    Meter meter;
    const Value value = program->run(variables, memory, meter);
    CHECK(meter.used == static_cast<std::uint64_t>(int_at(row, "cost").value_or(-1)));
    if (find(row, "error")) {
      REQUIRE(value.is_error());
      CHECK(value.fault().message == text_at(row, "error"));
    } else {
      CHECK(shown(value, memory) == text_at(row, "value"));
    }
  }
  CHECK(rows > 300);
}

}  // namespace
}  // namespace koord::cel
