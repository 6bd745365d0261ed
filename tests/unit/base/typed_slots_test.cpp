// Slots whose key is the type of what is in them.
#include "koord/base/typed_slots.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace koord {
namespace {

struct Here;
struct There;

TEST_CASE("Each place numbers the types that it keeps, from 0") {
  CHECK(SlotNumber<Here>::of<int>() == 0);
  CHECK(SlotNumber<Here>::of<std::string>() == 1);
  CHECK(SlotNumber<Here>::of<int>() == 0);
  CHECK(SlotNumber<There>::of<std::string>() == 0);
}

TEST_CASE("A slot has what was put there last, of its own type alone") {
  TypedSlots<Here> slots;
  CHECK(slots.find<int>() == nullptr);
  slots.put(std::make_shared<const std::string>("a"));
  CHECK(slots.find<int>() == nullptr);
  REQUIRE(slots.find<std::string>() != nullptr);
  CHECK(*slots.find<std::string>() == "a");
  slots.put(std::make_shared<const std::string>("b"));
  CHECK(*slots.find<std::string>() == "b");
  slots.put<std::string>(nullptr);
  CHECK(slots.find<std::string>() == nullptr);
  slots.put<double>(nullptr);  // nothing was there, and nothing is
  CHECK(slots.find<double>() == nullptr);
}

TEST_CASE("Copies share their values, and change alone") {
  TypedSlots<Here> slots;
  slots.put(std::make_shared<const std::string>("a"));
  TypedSlots<Here> copy = slots;
  CHECK(copy.find<std::string>() == slots.find<std::string>());
  slots.put(std::make_shared<const std::string>("b"));
  CHECK(*copy.find<std::string>() == "a");
}

}  // namespace
}  // namespace koord
