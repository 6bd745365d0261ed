// The nearest name.
#include "koord/base/suggest.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <string>

namespace koord {
namespace {

TEST_CASE("the nearest name is suggested, a far one is not") {
  constexpr std::array<std::string_view, 4> kNames = {"scheduler", "manager", "koordlet", "proxy"};
  struct Row {
    std::string name;
    std::string_view nearest;
  };
  const Row rows[] = {{"schduler", "scheduler"},
                      {"shceduler", "scheduler"},
                      {"SCHEDULER", "scheduler"},
                      {"managr", "manager"},
                      {"koordletd", "koordlet"},
                      {"prxy", "proxy"},
                      {"xyz", ""},
                      {"", ""},
                      {std::string(100'000, 's'), ""}};
  for (const Row& row : rows) {
    CAPTURE(row.name.substr(0, 40));
    CHECK(nearest(row.name, kNames).value_or("") == row.nearest);
  }
}

}  // namespace
}  // namespace koord
