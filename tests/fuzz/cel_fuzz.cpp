// Expressions: whatever is compiled runs within its limits, twice alike; what is refused is refused with a
// place.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "koord/cel/environment.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace koord;
  using namespace koord::cel;
  static const Environment kEnvironment = [] {
    Environment::Options options;
    options.bind = true;
    return Environment(
        {{"self", simple_type(TypeKind::dyn)}, {"l", list_type(simple_type(TypeKind::integer))}}, options);
  }();
  static const json::Document kSelf =
      *json::parse(R"({"a":"text","b":true,"d":1.5,"l":["a",1,null],"o":{"x":{"y":[]}}})");
  static const json::Document kList = *json::parse("[3,1,2]");
  constexpr std::uint64_t kLimit = 20'000;
  constexpr std::size_t kBytes = 4'000'000, kSteps = 200'000;
  const auto program = kEnvironment.compile(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!program) {
    const std::string why = program.error().message();
    if (!why.starts_with("ERROR: <input>:") && !why.starts_with("program instantiation failed: "))
      std::abort();
    return 0;
  }
  std::array<std::uint64_t, 2> costs{};
  std::array<std::string, 2> texts;
  for (std::size_t i = 0; i < 2; ++i) {
    Memory memory(kBytes, kSteps);
    Meter meter{kLimit, 0};
    const std::array<Value, 2> variables = {Value::json(kSelf, memory), Value::json(kList, memory)};
    const Value value = program->run(variables, memory, meter);
    costs[i] = meter.used;
    if (meter.used > kLimit && (!value.is_error() || value.fault().code == Fault::Code::evaluation))
      std::abort();
    texts[i] = to_string(value, memory);
  }
  if (costs[0] != costs[1] || texts[0] != texts[1]) std::abort();
  return 0;
}
