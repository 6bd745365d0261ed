// Selectors over devices: how long each takes to compile, and over all devices the first time. usage:
// cel_bench [DEVICES]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "koord/cel/device.hpp"

namespace {

using namespace koord::cel;

constexpr std::string_view kDriver = "gpu.example.com";

class Attributes final : public HostMap {
 public:
  explicit Attributes(std::int64_t number) : number_(number) {}
  std::optional<Value> find(std::string_view key, Memory& memory) const override {
    if (key == "model") return Value::string("A100");
    if (key == "index") return Value::integer(number_);
    if (key == "driverVersion") return Value::semver("1.2.3", memory);
    if (key == "memory") return Value::quantity("40Gi", memory);
    return std::nullopt;
  }
  std::uint32_t size() const override { return 0; }
  std::pair<std::string_view, Value> entry(std::uint32_t, Memory&) const override { return {}; }

 private:
  std::int64_t number_;
};

class Gpu final : public Device {
 public:
  explicit Gpu(std::int64_t number) : own_(number) {}
  std::string_view driver() const override { return kDriver; }
  bool allows_multiple_allocations() const override { return false; }
  const HostMap* attributes(std::string_view domain) const override {
    return domain == kDriver ? &own_ : nullptr;
  }
  const HostMap* capacities(std::string_view domain) const override {
    return domain == kDriver ? &own_ : nullptr;
  }

 private:
  Attributes own_;
};

constexpr const char* kSelectors[] = {
    "device.driver == 'gpu.example.com'",
    "device.attributes['gpu.example.com'].model == 'A100' && device.attributes['gpu.example.com'].index >= 0",
    "device.attributes['gpu.example.com'].model.matches('^A[0-9]+$')",
    "device.attributes['gpu.example.com'].driverVersion.isGreaterThan(semver('1.0.0'))",
    "device.capacity['gpu.example.com'].memory.compareTo(quantity('20Gi')) > 0",
};

template <class Work>
double milliseconds(const Work& work) {
  const auto from = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count();
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kRounds = 5;
  const int count = argc > 1 ? std::atoi(argv[1]) : 40'000;
  if (count < 1) return 2;
  std::vector<Gpu> devices;
  for (int i = 0; i < count; ++i) devices.emplace_back(i);
  for (const char* selector : kSelectors) {
    std::optional<Program> program;
    const double compiled = milliseconds([&] {
      if (auto made = device_environment().compile(selector)) program = *made;
    });
    if (!program) return 1;
    std::vector<double> took;
    for (int round = 0; round < kRounds; ++round) {
      std::size_t selected = 0;
      took.push_back(milliseconds([&] {
        Memory memory;
        for (const Gpu& device : devices) {
          const DeviceView view(device);
          const Value variables[] = {Value::host(view)};
          Meter meter;
          selected += program->run(variables, memory, meter).is_true() ? 1 : 0;
          memory.clear();
        }
      }));
      if (selected != devices.size()) return 1;
    }
    std::sort(took.begin(), took.end());
    std::printf("%6.2f ms over %d devices, compiled in %.3f ms: %s\n", took[kRounds / 2], count, compiled,
                selector);
  }
  return 0;
}
