// Selectors of devices.
#include "koord/cel/device.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <string>

namespace koord::cel {
namespace {

class Attributes final : public HostMap {
 public:
  std::map<std::string, std::string, std::less<>> texts, quantities, versions;

  std::optional<Value> find(std::string_view key, Memory& memory) const override {
    if (const auto at = texts.find(key); at != texts.end()) return Value::string(at->second);
    if (const auto at = quantities.find(key); at != quantities.end())
      return Value::quantity(at->second, memory);
    if (const auto at = versions.find(key); at != versions.end()) return Value::semver(at->second, memory);
    return std::nullopt;
  }
  std::uint32_t size() const override { return static_cast<std::uint32_t>(texts.size()); }
  std::pair<std::string_view, Value> entry(std::uint32_t index, Memory&) const override {
    const auto& [key, value] = *std::next(texts.begin(), index);
    return {key, Value::string(value)};
  }
};

class Gpu final : public Device {
 public:
  Gpu() {
    own.texts = {{"model", "A100"}, {"uuid", "gpu-1"}};
    own.versions = {{"driverVersion", "1.2.3"}};
    room.quantities = {{"memory", "40Gi"}};
  }
  std::string_view driver() const override { return "gpu.example.com"; }
  bool allows_multiple_allocations() const override { return false; }
  const HostMap* attributes(std::string_view domain) const override {
    return domain == driver() ? &own : nullptr;
  }
  const HostMap* capacities(std::string_view domain) const override {
    return domain == driver() ? &room : nullptr;
  }
  Attributes own, room;
};

TEST_CASE("a selector sees the device's driver, attributes and capacities") {
  struct Row {
    std::string_view expression, result;
  };
  const Row rows[] = {
      {R"(device.driver == "gpu.example.com")", "true"},
      {R"(device.attributes["gpu.example.com"].model == "A100")", "true"},
      {R"(device.attributes["gpu.example.com"].model.startsWith("H"))", "false"},
      {R"(device.attributes["gpu.example.com"].other == "A100")", "no such key: other"},
      {R"(has(device.attributes["gpu.example.com"].other))", "false"},
      {R"(device.attributes["other.example.com"].model == "A100")", "no such key: model"},
      {R"(has(device.attributes["other.example.com"].model))", "false"},
      {R"(device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("1.2.0")))", "true"},
      {R"(device.capacity["gpu.example.com"].memory.compareTo(quantity("40960Mi")) == 0)", "true"},
      {R"(device.capacity["gpu.example.com"].memory.isLessThan(quantity("80Gi")))", "true"},
      {"device.allowMultipleAllocations", "false"},
      {R"(cel.bind(gpu, device.attributes["gpu.example.com"], gpu.model == "A100" && gpu.uuid == "gpu-1"))",
       "true"},
      {R"("model" in device.attributes["gpu.example.com"])", "true"},
      {R"(device.attributes["gpu.example.com"].?model.orValue("") == "A100")", "true"},
      {R"(device.attributes["gpu.example.com"].exists(k, k == "uuid"))", "true"},
  };
  const Gpu gpu;
  const DeviceView view(gpu);
  const Value variables[] = {Value::host(view)};
  for (const Row& row : rows) {
    CAPTURE(row.expression);
    const auto program = device_environment().compile(row.expression);
    if (!program) FAIL_CHECK(program.error().message());
    if (!program) continue;
    CHECK(program->type().kind == TypeKind::boolean);
    Memory memory;
    Meter meter;
    CHECK(to_string(program->run(variables, memory, meter), memory) == row.result);
  }
}

TEST_CASE("a selector that names what a device has not is refused") {
  const auto program = device_environment().compile("device.model == 'x'");
  REQUIRE_FALSE(program.has_value());
  CHECK(program.error().message() ==
        "ERROR: <input>:1:7: undefined field 'model'\n | device.model == 'x'\n | ......^");
  CHECK_FALSE(device_environment().compile(std::string(10'241, ' ') + "true").has_value());
}

}  // namespace
}  // namespace koord::cel
