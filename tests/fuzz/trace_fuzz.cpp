// A trace of machines' usage: whatever a table holds, what is read of it stays within 0 and 1 at any time.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sandbox/usage/trace.hpp"

using koord::sandbox::Trace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto trace = Trace::parse({reinterpret_cast<const char*>(data), size});
  if (!trace) return 0;
  const auto within = [](double share) { return share >= 0 && share <= 1; };
  const std::chrono::nanoseconds length = trace->length();
  for (const auto time : {length * 0, length / 3, length / 2, length - std::chrono::nanoseconds(1), length})
    for (std::size_t machine = 0; machine < trace->machines() && machine < 8; ++machine) {
      const Trace::Load load = trace->at(machine, time);
      if (!within(load.cpu) || !within(load.memory)) std::abort();
    }
  return 0;
}
