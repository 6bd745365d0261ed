// The inventory's classes: names, bands of priority, defaults; and the hub.
#include "framework/inventory.hpp"

#include <catch2/catch.hpp>

namespace koord::koordlet {
namespace {

TEST_CASE("Priority classes are bands of spec.priority") {
  struct Row {
    std::optional<std::int32_t> priority;
    PriorityClass want;
  };
  const Row rows[] = {
      {std::nullopt, PriorityClass::none}, {0, PriorityClass::none},     {2999, PriorityClass::none},
      {3000, PriorityClass::free},         {3999, PriorityClass::free},  {4000, PriorityClass::none},
      {5000, PriorityClass::batch},        {5999, PriorityClass::batch}, {7000, PriorityClass::mid},
      {7999, PriorityClass::mid},          {9000, PriorityClass::prod},  {9999, PriorityClass::prod},
      {10000, PriorityClass::none},
  };
  for (const Row& row : rows) CHECK(priority_class_of(row.priority) == row.want);
}

TEST_CASE("Names of classes go both ways") {
  for (Qos qos : {Qos::lse, Qos::lsr, Qos::ls, Qos::be, Qos::system}) CHECK(parse_qos(name(qos)) == qos);
  CHECK(parse_qos("ls") == Qos::none);
  CHECK(name(Qos::none).empty());
  for (PriorityClass priority :
       {PriorityClass::prod, PriorityClass::mid, PriorityClass::batch, PriorityClass::free})
    CHECK(parse_priority_class(name(priority)) == priority);
  CHECK(name(PriorityClass::batch) == "koord-batch");
}

TEST_CASE("An unlabelled pod has its Kubernetes class' default") {
  CHECK(qos_with_default(Qos::none, host::KubeQos::guaranteed) == Qos::lsr);
  CHECK(qos_with_default(Qos::none, host::KubeQos::burstable) == Qos::ls);
  CHECK(qos_with_default(Qos::none, host::KubeQos::besteffort) == Qos::be);
  CHECK(qos_with_default(Qos::ls, host::KubeQos::besteffort) == Qos::ls);
}

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
