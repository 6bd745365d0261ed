// The hub.
#include "framework/inventory.hpp"

#include <catch2/catch.hpp>

namespace koord::koordlet {
namespace {

TEST_CASE("The hub numbers what is published and tells its listeners") {
  InventoryHub hub;
  std::vector<std::uint64_t> told;
  hub.listen([&](const std::shared_ptr<const Inventory>& now) { told.push_back(now->generation); });
  const auto before = hub.current();
  hub.publish({});
  hub.publish({});
  CHECK(told == std::vector<std::uint64_t>{1, 2});
  CHECK(before->generation == 0);
}

}  // namespace
}  // namespace koord::koordlet
