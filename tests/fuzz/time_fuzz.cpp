// Time, MicroTime and Duration: what parses prints, and the printed form is the same instant or span.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "koord/api/values/time.hpp"

namespace {

template <class T>
void check(std::string_view text) {
  const auto first = T::parse(text);
  if (!first) return;
  const std::string printed = first->to_string();
  // An offset can push a time out of the years that can be read again.
  if (printed.starts_with('-') && !std::is_same_v<T, koord::api::Duration>) return;
  if (printed.find('-') > 4 && !std::is_same_v<T, koord::api::Duration>) return;
  const auto second = T::parse(printed);
  if (!second || *second != *first || second->to_string() != printed) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check<koord::api::Time>(text);
  check<koord::api::MicroTime>(text);
  check<koord::api::Duration>(text);
  return 0;
}
