// Quantity: what parses prints, parses again to the same number, and its canonical form becomes stable.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "koord/api/values/quantity.hpp"

namespace {

std::string print(const koord::api::Quantity& quantity) {
  std::string text = quantity.to_string();
#ifdef KOORD_CANARY  // wrong on purpose: canary_test.py demands that this is found
  if (text.ends_with('i')) text.pop_back();
#endif
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using koord::api::Quantity;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto first = Quantity::parse(text);
  if (!first) return 0;
  const std::string printed = print(*first);
  const auto second = Quantity::parse(printed);
  if (!second || *second != *first) std::abort();
  const Quantity copy = *first + Quantity();  // forgets the text that was read
  const std::string canonical = copy.to_string();
  const auto third = Quantity::parse(canonical);
  if (!third || *third != copy) std::abort();
  // A binary number without a factor of 1024 prints bare, and what is bare is read as decimal (as in
  // Kubernetes).
  const std::string stable = (*third + Quantity()).to_string();
  const auto fourth = Quantity::parse(stable);
  if (!fourth || (*fourth + Quantity()).to_string() != stable || *fourth != copy) std::abort();
  if ((*first - *first).sign() != 0) std::abort();
  return 0;
}
