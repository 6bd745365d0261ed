// What selectors say of devices in Kubernetes' expression language.
#include <catch2/catch.hpp>

#include <fstream>
#include <memory>
#include <string>

#include "koord/api/schema/codec.hpp"
#include "koord/json/value.hpp"
#include "scheduling/plugins/dynamic_resources/selectors/cel_selectors.hpp"
#include "support/tsv.hpp"

namespace koord::scheduling::test {
namespace {

using namespace dynamic_resources;

std::shared_ptr<const Slice> slice_of(const api::ResourceSlice& object, DeviceNumbers& numbers) {
  return std::make_shared<const Slice>(std::make_shared<const api::ResourceSlice>(object), numbers);
}

TEST_CASE("Selectors of upstream's cases say what they say upstream") {
  std::ifstream in(koord::test::golden("scheduler/claims.jsonl"));
  REQUIRE(in.good());
  CelSelectors selectors;
  int verdicts = 0;
  for (std::string line; std::getline(in, line);) {
    const auto row = json::parse(line);
    REQUIRE(row.has_value());
    INFO(json::text_at(*row, "name"));
    const json::Value* expressions = json::find(*row, "verdicts");
    const json::Value* objects = json::find(*row, "slices");
    if (expressions == nullptr || objects == nullptr) continue;
    DeviceNumbers numbers;
    std::vector<std::shared_ptr<const Slice>> slices;
    for (const json::Value& one : objects->elements())
      slices.push_back(slice_of(*api::decode<api::ResourceSlice>(one), numbers));
    for (const json::Member& expression : expressions->members()) {
      std::string said, error;
      for (const auto& slice : slices)
        for (std::uint32_t i = 0; i < slice->spec().devices.size(); ++i) {
          const auto [verdict, why] = selectors(expression.key(), *slice, i);
          said += verdict == Verdict::yes      ? 'y'
                  : verdict == Verdict::no     ? 'n'
                  : verdict == Verdict::failed ? 'e'
                                               : 'c';
          if (!why.empty()) error = why;
          ++verdicts;
        }
      INFO(expression.key());
      CHECK(said == expression.value.text());
      const json::Value* faults = json::find(*row, "faults");
      CHECK(error == (faults == nullptr ? "" : json::text_at(*faults, expression.key())));
    }
  }
  CHECK(verdicts > 500);
}

TEST_CASE("A selector sees attributes and capacities by domain") {
  const auto object = api::decode<api::ResourceSlice>(
      R"({"metadata":{"name":"s"},"spec":{"driver":"gpu.example.com","pool":{"name":"p","generation":1,"resourceSliceCount":1},"devices":[{"name":"d0","attributes":{"model":{"string":"A"},"gpu.example.com/uuid":{"string":"u0"},"gpu.example.com/both":{"int":2},"both":{"int":1},"other.example.com/numa":{"int":1},"big":{"bool":true},"driverVersion":{"version":"1.2.3"}},"capacity":{"memory":{"value":"40Gi"},"other.example.com/slots":{"value":"4"}}},{"name":"d1","attributes":{"v":{"version":"one"}}},{"name":"d2","attributes":{"none":{},"odd":{}}}]}})");
  REQUIRE(object.has_value());
  DeviceNumbers numbers;
  const auto slice = slice_of(*object, numbers);
  struct Row {
    const char* expression;
    std::uint32_t device;
    Verdict verdict;
    const char* error = "";
  };
  const Row rows[] = {
      {R"(device.driver == "gpu.example.com")", 0, Verdict::yes},
      {R"(device.attributes["gpu.example.com"].model == "A")", 0, Verdict::yes},
      {R"(device.attributes["gpu.example.com"].uuid == "u0")", 0, Verdict::yes},
      {R"(device.attributes["gpu.example.com"].both == 2)", 0, Verdict::yes},
      {R"(size(device.attributes["gpu.example.com"]) == 5)", 0, Verdict::yes},
      {R"(device.attributes["gpu.example.com"].exists(k, k == "uuid"))", 0, Verdict::yes},
      {R"(device.attributes["other.example.com"].all(k, k == "numa"))", 0, Verdict::yes},
      {R"(device.attributes["other.example.com"].numa == 0)", 0, Verdict::no},
      {R"(device.attributes["gpu.example.com"].big)", 0, Verdict::yes},
      {R"(device.attributes["gpu.example.com"].driverVersion.isLessThan(semver("1.3.0")))", 0, Verdict::yes},
      {R"(has(device.attributes["unknown.example.com"].model))", 0, Verdict::no},
      {R"(device.attributes["unknown.example.com"].model == "A")", 0, Verdict::failed, "no such key: model"},
      {R"(device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("32Gi")))", 0, Verdict::yes},
      {R"(device.capacity["other.example.com"].slots.compareTo(quantity("4")) == 0)", 0, Verdict::yes},
      {R"(device.allowMultipleAllocations)", 0, Verdict::no},
      {R"(device.attributes["gpu.example.com"].model)", 0, Verdict::failed,
       "CEL result A could not be converted to bool"},
      {R"("no bool")", 0, Verdict::uncompiled, "must evaluate to bool or the unknown type, not string"},
      {"true", 2, Verdict::failed, "attribute none: unsupported attribute value"},
      {"true", 1, Verdict::failed,
       "attribute v: parse semantic version: No Major.Minor.Patch elements found"},
  };
  CelSelectors selectors;
  for (const Row& row : rows) {
    INFO(row.expression);
    const auto [verdict, why] = selectors(row.expression, *slice, row.device);
    CHECK(verdict == row.verdict);
    CHECK(why == row.error);
  }
}

TEST_CASE("A selector that costs too much has no value") {
  api::ResourceSlice object;
  object.spec.driver = "d";
  object.spec.devices.emplace_back().name = "d0";
  DeviceNumbers numbers;
  const auto slice = slice_of(object, numbers);
  std::string list = "[0";
  for (int i = 1; i < 200; ++i) list += "," + std::to_string(i);
  list += "]";
  CelSelectors selectors;
  const auto [verdict, why] =
      selectors(list + ".all(a, " + list + ".all(b, " + list + ".all(c, a + b + c >= 0)))", *slice, 0);
  CHECK(verdict == Verdict::failed);
  CHECK(why == "operation cancelled: actual cost limit exceeded");
}

}  // namespace
}  // namespace koord::scheduling::test
