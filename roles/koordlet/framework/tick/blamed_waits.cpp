#include "framework/tick/blamed_waits.hpp"

namespace koord::koordlet {

std::string_view name_of(Runner runner) {
  constexpr std::array<std::string_view, kRunners> kNames = {"LSE", "LSR", "LS", "BE", "system", "nobody"};
  return kNames[static_cast<std::size_t>(runner)];
}

}  // namespace koord::koordlet
