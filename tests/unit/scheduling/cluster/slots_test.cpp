// What plugins keep with pods and rows.
#include "koord/scheduling/cluster/slots.hpp"

#include <catch2/catch.hpp>

#include "koord/scheduling/cluster/row_slots.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

TEST_CASE("slots hold one object of each type") {
  Slots slots;
  CHECK(slots.empty());
  CHECK(slots.find<int>() == nullptr);
  slots.put(std::make_shared<int>(1));
  slots.put(std::make_shared<const int>(2));
  slots.put(std::make_shared<std::string>("three"));
  CHECK(*slots.find<int>() == 1);
  CHECK(*slots.share<const int>() == 2);
  const Slots copy = slots;
  slots.put(std::make_shared<int>(4));
  CHECK(*slots.find<int>() == 4);
  CHECK(*copy.find<int>() == 1);
  CHECK(copy.find<std::string>() == slots.find<std::string>());
  slots.put(std::shared_ptr<int>());
  slots.put(std::shared_ptr<const int>());
  CHECK(slots.find<int>() == nullptr);
  slots.put(std::shared_ptr<std::string>());
  CHECK(slots.empty());
  static_assert(sizeof(Slots) == sizeof(void*));
}

TEST_CASE("what is kept with a row goes with it") {
  NodeTable nodes;
  RowSlots<int> slots(nodes);
  const Row row = nodes.row_of(Symbol("a"));
  nodes.set_node(row, make_node("a"));
  CHECK(slots.find(row) == nullptr);
  slots[row] = 7;
  PodInfo pod;
  nodes.add_pod(row, pod);
  nodes.set_node(row, nullptr);
  CHECK(*slots.find(row) == 7);
  nodes.replace_pod(row, pod, [&] { pod.requests.cpu = 3; });
  CHECK(*slots.find(row) == 7);
  CHECK(nodes.used(kCpu, row) == 3);
  nodes.remove_pod(row, pod);
  CHECK(nodes.row_of(Symbol("b")) == row);
  CHECK(slots.find(row) == nullptr);
  CHECK(slots[row] == 0);
}

}  // namespace
}  // namespace koord::scheduling::test
