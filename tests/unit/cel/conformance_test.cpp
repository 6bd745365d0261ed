// The language's conformance files (github.com/google/cel-spec, tests/simple/testdata), where CEL_SPEC names
// a copy.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "cel/values/representation.hpp"
#include "koord/cel/environment.hpp"
#include "unit/cel/shown.hpp"
#include "unit/cel/textproto.hpp"

namespace koord::cel {
namespace {

/// Files that are left out as a whole, and why.
const std::map<std::string, std::string, std::less<>> kLeftOut = {
    {"block_ext", "cel.@block is a form for optimizers, which nobody writes"},
    {"encoders_ext", "base64 is not in Kubernetes' environment"},
    {"enums", "there are no protobuf messages"},
    {"math_ext", "math is not in Kubernetes' environment"},
    {"network_ext", "Kubernetes has ip() and cidr() of its own"},
    {"proto2", "there are no protobuf messages"},
    {"proto2_ext", "there are no protobuf messages"},
    {"proto3", "there are no protobuf messages"},
    {"type_deduction", "the types of expressions are compared by our own vectors"},
    {"unknowns", "partial evaluation is not Kubernetes'"},
    {"wrappers", "there are no protobuf messages"},
};

/// Tests that are left out by what is in them, and why; `word` is in the expression.
struct Omission {
  std::string_view word, reason;
};
constexpr Omission kOmissions[] = {
    {"TestAllTypes", "there are no protobuf messages"},
    {"google.protobuf.", "there are no protobuf messages"},
    {"NestedTestAllTypes", "there are no protobuf messages"},
    {"GlobalEnum", "there are no protobuf messages"},
    {".format(", "strings are version 2 in Kubernetes, format() prints as it did before version 4"},
    {"`", "names in backticks are not in Kubernetes' environment"},
    {"{true:1,false:2,true:3}[true]", "cel-go lets the later of two equal keys win"},
    {".?null_key.invalid", "cel-go takes what a value without fields has for absent"},
    {"[?true].absent", "cel-go takes what a value without fields has for absent"},
    {"('a', 30)", "strings are version 2 in Kubernetes, whose places behind the end are no errors"},
    {"x.getMilliseconds()", "cel-go counts all milliseconds of a duration"},
    {"strings.", "strings.quote alone is in version 2"},
    {"'.reverse()", "texts are reversed from version 3 on"},
    {"America/", "names of time zones need a database"},
    {"Asia/", "names of time zones need a database"},
    {"Australia/", "names of time zones need a database"},
    {"Europe/", "names of time zones need a database"},
    {"US/", "names of time zones need a database"},
};

Value to_value(const Proto& proto, Memory& memory) {
  const auto& [kind, field] = proto.fields.front();
  if (kind == "int64_value") return Value::integer(std::stoll(field.text));
  if (kind == "uint64_value") return Value::unsigned_integer(std::stoull(field.text));
  if (kind == "double_value") return Value::real(std::strtod(field.text.c_str(), nullptr));
  if (kind == "bool_value") return Value::boolean(field.text == "true");
  if (kind == "string_value") return copy_string(field.text, memory);
  if (kind == "bytes_value") return copy_bytes(field.text, memory);
  if (kind == "list_value") {
    Value list = empty_list();
    for (const auto& [name, item] : field.fields) {
      if (!item.fields.empty() && item.fields.front().first.empty())
        for (const auto& [none, one] : item.fields) list = append(list, to_value(one, memory), memory);
      else
        list = append(list, to_value(item, memory), memory);
    }
    return list;
  }
  if (kind == "map_value") {
    Value map = empty_map();
    for (const auto& [name, pair] : field.fields) {
      const auto one = [&](const Proto& entry) {
        map = put(map, to_value(*entry.find("key"), memory), to_value(*entry.find("value"), memory), memory);
      };
      if (!pair.fields.empty() && pair.fields.front().first.empty())
        for (const auto& [none, entry] : pair.fields) one(entry);
      else
        one(pair);
    }
    return map;
  }
  if (kind == "object_value" && !field.fields.empty()) {
    const auto& [url, object] = field.fields.front();
    const auto number = [&object = object](std::string_view name) {
      const std::string text = object.at(name);
      return text.empty() ? 0LL : std::stoll(text);
    };
    if (url.ends_with("Duration]"))
      return Value::duration(number("seconds") * 1'000'000'000 + number("nanos"));
    if (url.ends_with("Timestamp]"))
      return Value::timestamp(number("seconds"), static_cast<std::uint32_t>(number("nanos")));
  }
  return Value::null();
}

std::string expected(const Proto& proto, Memory& memory) {
  if (const Proto* type = proto.find("type_value")) return "type(" + type->text + ")";
  return shown(to_value(proto, memory), memory);
}

struct Tally {
  std::size_t passed = 0;
  std::map<std::string, std::size_t> left_out;
};

/// Why a test is left out, or nothing.
std::string omitted(const Proto& test, std::string_view expression) {
  for (const Omission& omission : kOmissions)
    if (expression.find(omission.word) != std::string_view::npos) return std::string(omission.reason);
  if (!test.at("container").empty()) return "there are no containers";
  if (test.at("disable_macros") == "true") return "macros cannot be switched off";
  if (test.find("unknown") || test.find("any_unknowns")) return "partial evaluation is not Kubernetes'";
  const Proto* value = test.find("value");
  if (value && (value->find("enum_value") ||
                (value->find("object_value") && !value->find("object_value")->fields.empty() &&
                 value->find("object_value")->fields.front().first.find("protobuf.") == std::string::npos)))
    return "there are no protobuf messages";
  return {};
}

void run(const Proto& test, Tally& tally) {
  const std::string expression = test.at("expr");
  CAPTURE(test.at("name"), expression);
  std::string reason = omitted(test, expression);
  Memory memory;
  std::vector<Variable> variables;
  std::vector<Value> values;
  for (const auto& [name, binding] : test.fields) {
    if (name != "bindings") continue;
    const Proto* value = binding.find("value");
    value = value ? value->find("value") : nullptr;
    if (const Proto* object = value ? value->find("object_value") : nullptr;
        object && !object->fields.front().first.ends_with("Duration]") &&
        !object->fields.front().first.ends_with("Timestamp]"))
      reason = "there are no protobuf messages";
    variables.push_back({binding.at("key"), simple_type(TypeKind::dyn)});
    values.push_back(value ? to_value(*value, memory) : Value::null());
  }
  if (!reason.empty()) return (void)++tally.left_out[reason];
  Environment::Options options;
  options.bind = true;
  const auto program = Environment(variables, options).compile(expression);
  const bool fails = test.find("eval_error") != nullptr;
  if (!program) {
    const std::string why = program.error().message();
    if (why.find("expected type '") != std::string_view::npos)
      return (void)++tally.left_out["Kubernetes refuses lists and maps of mixed types"];
    if (test.at("disable_check") == "true")
      return (void)++tally.left_out["everything is checked in Kubernetes"];
    CAPTURE(why);
    CHECK(fails);
    ++tally.passed;
    return;
  }
  Meter meter;
  const Value result = program->run(values, memory, meter);
  if (fails) {
    CHECK(result.is_error());
  } else if (const Proto* typed = test.find("typed_result"); typed || test.find("value")) {
    const Proto* value = typed ? typed->find("result") : test.find("value");
    if (value) CHECK(shown(result, memory) == expected(*value, memory));
  } else {
    CHECK(shown(result, memory) == "true");
  }
  ++tally.passed;
}

TEST_CASE("the language's conformance files") {
  const char* folder = std::getenv("CEL_SPEC");
  if (!folder) {
    WARN("CEL_SPEC names no copy of github.com/google/cel-spec: its conformance files are not run");
    return;
  }
  Tally tally;
  for (const std::string name :
       {"basic", "bindings_ext", "comparisons", "conversions", "dynamic", "fields", "fp_math", "integer_math",
        "lists", "logic", "macros", "macros2", "namespace", "optionals", "parse", "plumbing", "string",
        "string_ext", "timestamps"}) {
    CAPTURE(name);
    REQUIRE(!kLeftOut.contains(name));
    std::ifstream file(std::string(folder) + "/tests/simple/testdata/" + name + ".textproto");
    REQUIRE(file);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const Proto proto = ProtoReader(text).message();
    for (const auto& [key, section] : proto.fields)
      if (key == "section")
        for (const auto& [inner, test] : section.fields)
          if (inner == "test") run(test, tally);
  }
  std::string report = std::to_string(tally.passed) + " tests run";
  for (const auto& [reason, count] : tally.left_out)
    report += "\n" + std::to_string(count) + " left out: " + reason;
  WARN(report);
  CHECK(tally.passed > 900);
}

}  // namespace
}  // namespace koord::cel
