// The codec on documents in memory: the same objects and errors as by way of their text.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>

#include "api/schema/scalar.hpp"
#include "koord/api/kinds/crd.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/json/reader.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::api {
namespace {

using json::Value;

/// An object of a schema on the heap.
struct Erased {
  const Schema& schema;
  void* object = schema.self().create();

  explicit Erased(const Schema& its) : schema(its) {}
  Erased(const Erased&) = delete;
  Erased& operator=(const Erased&) = delete;
  ~Erased() { schema.self().destroy(object); }
};

template <class Input>
std::string outcome(const Input& input, const Schema& schema, void* object, bool strict) {
  const Result<> done = strict ? decode_strict(input, schema, object) : decode(input, schema, object);
  return done ? "decoded" : done.error().message();
}

void check_alike(const Value& document, const Schema& schema) {
  const std::string text = json::to_text(document);
  for (const bool strict : {false, true}) {
    Erased of_text(schema), of_value(schema);
    const std::string expected = outcome(std::string_view(text), schema, of_text.object, strict);
    const bool same = outcome(document, schema, of_value.object, strict) == expected &&
                      equal(of_text.object, of_value.object, schema.self());
    if (!same) {
      CAPTURE(schema.name(), text, strict);
      CHECK(outcome(document, schema, of_value.object, strict) == expected);
      FAIL("another object");
    }
    if (expected != "decoded") continue;
    json::Arena arena;
    const Value written = encode(of_value.object, schema, arena);
    const json::Document expected_document = *json::parse(encode(of_text.object, schema));
    if (!(written == expected_document)) {
      CAPTURE(schema.name(), text);
      CHECK(json::to_text(written) == json::to_text(expected_document));
    }
  }
}

/// Documents as a schema's objects are, with a fault here and there.
class Documents {
 public:
  explicit Documents(std::uint32_t seed) : random_(seed) {}

  json::Document make(const Schema& schema) {
    json::Document document;
    arena_ = &document.arena();
    document = structure(schema, 0);
    if (const Kind* kind = schema.kind(); kind != nullptr && !one_in(4)) {
      json::set_text(document, "apiVersion", one_in(50) ? "v0" : kind->api_version(), *arena_);
      json::set_text(document, "kind", one_in(50) ? "Frob" : kind->kind, *arena_);
    }
    return document;
  }

 private:
  bool one_in(std::uint32_t n) { return random_() % n == 0; }

  Value structure(const Schema& schema, int level) {
    Value object = Value::object();
    for (const Field& field : schema.fields())
      if (one_in(level < 3 ? 2 : 6))
        json::set(object, field.name, one_in(300) ? anything(0) : value(*field.type, &field, level + 1),
                  *arena_);
    if (one_in(40)) json::set(object, "frob", anything(0), *arena_);
    return object;
  }

  Value text(std::string_view what) { return json::make_text(what, *arena_); }

  Value value(const Type& type, const Field* field, int level) {
    if (one_in(60)) return {};
    if (field != nullptr && !field->enum_values.empty() && type.kind != TypeKind::list)
      return text(field->enum_values[random_() % field->enum_values.size()]);
    switch (type.kind) {
      case TypeKind::boolean: return Value(one_in(2));
      case TypeKind::int32: return Value(std::int64_t{static_cast<std::int32_t>(random_())});
      case TypeKind::int64:
        return one_in(9) ? Value(~std::uint64_t{0}) : Value(static_cast<std::int64_t>(random_()) << 9);
      case TypeKind::float64: return Value(static_cast<double>(random_()) / 256);
      case TypeKind::quantity:
        return one_in(3) ? Value(static_cast<double>(random_() % 1000) / 8)
                         : text(one_in(20) ? "1Qi" : "1500m");
      case TypeKind::time: return text(one_in(20) ? "soon" : "2026-02-03T04:05:06Z");
      case TypeKind::micro_time: return text("2026-02-03T04:05:06.000007Z");
      case TypeKind::duration: return text(one_in(20) ? "5 minutes" : "5m0s");
      case TypeKind::int_or_string: return one_in(2) ? Value(std::int64_t{8080}) : text("http");
      case TypeKind::raw: return anything(0);
      case TypeKind::structure: return level > 8 ? Value::object() : structure(type.schema(), level);
      case TypeKind::optional: return value(*type.element, field, level);
      case TypeKind::list: {
        Value list = Value::array();
        for (std::uint32_t n = random_() % 3; n > 0 && level < 8; --n)
          list.push_back(value(*type.element, nullptr, level + 1), *arena_);
        return list;
      }
      case TypeKind::map: {
        Value map = Value::object();
        for (std::uint32_t n = random_() % 4; n > 0; --n)
          json::set(map, fmt::format("k{}", random_() % 9), value(*type.element, nullptr, level + 1),
                    *arena_);
        return map;
      }
      default: return text(one_in(9) ? "\"\\\n\u00e9\U0001f600" : fmt::format("t{}", random_() % 100));
    }
  }

  Value anything(int level) {
    switch (random_() % (level > 4 ? 6 : 8)) {
      case 0: return {};
      case 1: return Value(true);
      case 2: return Value(std::int64_t{-5});
      case 3: return Value(-0.0);
      case 4: return Value(1e300);
      case 5: return text("x");
      case 6: {
        Value list = Value::array();
        for (std::uint32_t n = random_() % 3; n > 0; --n) list.push_back(anything(level + 1), *arena_);
        return list;
      }
      default: {
        Value object = Value::object();
        for (std::uint32_t n = random_() % 3; n > 0; --n)
          object.append(fmt::format("m{}", n), anything(level + 1), *arena_);
        return object;
      }
    }
  }

  std::mt19937 random_;
  json::Arena* arena_ = nullptr;
};

TEST_CASE("a document decodes to what its text decodes to, and an object is written as its text is read") {
  Documents documents(23);
  for (const auto& kinds : {custom_resources(), builtin_kinds()})
    for (const Schema* schema : kinds)
      for (int i = 0; i < 16; ++i) check_alike(documents.make(*schema), *schema);
}

TEST_CASE(
    "documents of the golden files decode as their texts do, as what they are and as what they are not") {
  int documents = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(KOORD_GOLDEN)) {
    const std::string kind = entry.path().extension();
    if (kind != ".json" && kind != ".jsonl") continue;
    std::ifstream in(entry.path());
    std::string whole{std::istreambuf_iterator<char>(in), {}};
    if (whole.size() > 500'000) whole.resize(whole.rfind('\n', 500'000));
    for (std::size_t at = 0, i = 0; at < whole.size() && i < 40; ++i) {
      const std::size_t end = kind == ".json" ? whole.size() : std::min(whole.find('\n', at), whole.size());
      const auto document = json::parse(std::string_view(whole).substr(at, end - at));
      at = end + 1;
      REQUIRE(document.has_value());
      ++documents;
      for (const Schema* schema : {&schema<Pod>(), &schema<NodeSlo>(), &schema<NodeMetric>()})
        check_alike(*document, *schema);
    }
  }
  CHECK(documents > 60);
}

template <class T>
std::string message(const Result<T>& result) {
  return result ? "no error" : result.error().message();
}

Value nested(int levels, bool objects, json::Arena& arena) {
  Value inner;
  for (int i = 0; i < levels; ++i) {
    Value outer = objects ? Value::object() : Value::array();
    if (objects)
      outer.append("a", std::move(inner), arena);
    else
      outer.push_back(std::move(inner), arena);
    inner = std::move(outer);
  }
  return inner;
}

TEST_CASE("hostile documents fail with a path") {
  const std::string deep = "nested deeper than 1000 levels";
  json::Document document;
  json::Arena& arena = document.arena();
  document = nested(1001, false, arena);
  CHECK(message(decode<NodeSlo>(document)) == ".: expected an object, got a list");
  const auto set_deep = [&](const char* member, int levels, bool objects) {
    document.set_object();
    json::set(json::object_at(document, "spec", arena), member, nested(levels, objects, arena), arena);
    return message(decode<NodeSlo>(document));
  };
  CHECK(set_deep("extensions", 998, true) == "no error");
  CHECK(set_deep("extensions", 999, true) == ".spec.extensions: " + deep);
  CHECK(set_deep("extensions", 50'000, false) == ".spec.extensions: " + deep);
  CHECK(set_deep("frob", 50'000, true) == "no error");  // nobody wants it, nobody walks it
  CHECK(set_deep("hostApplications", 3, false) ==
        ".spec.hostApplications[0]: expected an object, got a list");

  const auto pod = [](std::string_view text) { return message(decode<Pod>(*json::parse(text))); };
  CHECK(pod("[]") == ".: expected an object, got a list");
  CHECK(pod("5") == ".: expected an object, got a number");
  CHECK(pod(R"({"kind":"Node"})") == R"(.kind: expected "Pod", got "Node")");
  CHECK(pod(R"({"spec":{"containers":[{"name":"a"},{"name":7}]}})") ==
        ".spec.containers[1].name: expected a string, got a number");
  CHECK(pod(R"({"spec":{"containers":{}}})") == ".spec.containers: expected a list, got an object");
  CHECK(pod(R"({"spec":{"priority":1.5}})") == ".spec.priority: 1.5 is no integer");
  CHECK(pod(R"({"metadata":{"labels":{"a":[]}}})") == ".metadata.labels[a]: expected a string, got a list");
  CHECK(message(decode_strict<NodeSlo>(*json::parse(R"({"spec":{"frob":{}}})"))) ==
        ".spec.frob: unknown field");
  json::Document endless;
  endless.set_object();
  json::set(endless, "spec", Value::object(), endless.arena());
  json::set(*json::find(endless, "spec"), "priority", Value(1 / 0.0), endless.arena());
  CHECK(message(decode<Pod>(endless)) == "no error");  // as its text, null
}

}  // namespace
}  // namespace koord::api
