// List, FlatMap and Box: what every object is made of, with elements of their own put into them again.
#include <catch2/catch.hpp>

#include "koord/api/values/box.hpp"
#include "koord/api/values/string_map.hpp"

namespace koord::api {
namespace {

const std::string kLong = "a text that is too long to lie within the string itself";

TEST_CASE("a list is a vector: it grows, takes in and gives up elements anywhere, its own, too") {
  List<std::string> list;
  CHECK((list.empty() && list.capacity() == 0 && list.begin() == list.end()));
  list.push_back(kLong);
  for (int i = 0; i < 5; ++i) list.push_back(list.front());  // also when that makes it grow
  CHECK(list == List<std::string>{kLong, kLong, kLong, kLong, kLong, kLong});
  list.insert(list.begin() + 2, "second");
  list.insert(list.begin(), list[2]);
  list.insert(list.end(), "last");
  CHECK((list[0] == "second" && list[3] == "second" && list.back() == "last" && list.size() == 9));
  list.erase(list.begin());
  list.erase(list.begin() + 3, list.end());
  CHECK(list == List<std::string>{kLong, kLong, "second"});
  CHECK(erase_if(list, [](const std::string& each) { return each == kLong; }) == 2);
  list.shrink_to_fit();
  CHECK((list.size() == 1 && list.capacity() == 1));
  list.resize(3);
  CHECK(list == List<std::string>{"second", "", ""});
  list.pop_back();
  list.resize(1);
  list.assign(list.begin(), list.end());
  CHECK(std::vector<std::string>(list) == std::vector<std::string>{"second"});
  list.erase(list.begin(), list.begin());
  list.clear();
  list.shrink_to_fit();
  CHECK((list.empty() && list.capacity() == 0));
}

TEST_CASE("a list that is copied is another one, one that is moved from is empty") {
  List<std::string> list{kLong, "b"};
  List<std::string> copy = list;
  copy[0] = "a";
  CHECK(list[0] == kLong);
  const List<std::string>& itself = list;
  list = itself;
  CHECK(list == List<std::string>{kLong, "b"});
  const List<std::string> moved = std::move(list);
  CHECK(moved.size() == 2);
  list = copy;  // usable again
  CHECK(list == List<std::string>{"a", "b"});
}

TEST_CASE("a map is in the order of its keys' text, however they come") {
  StringMap map;
  for (const char* key : {"b", "", "c", "a", "bb"}) map[key] = key;
  map["a"] += "!";
  std::string keys;
  for (const auto& [key, value] : map) keys.append(key.view()).append(" ");
  CHECK(keys == " a b bb c ");
  CHECK((*map.find("a") == "a!" && map.find("aa") == nullptr && map.find("d") == nullptr));
  CHECK((map.contains("") && value_or(map, "bb") == "bb" && value_or(map, "x", "none") == "none"));
  CHECK((map.erase("b") && !map.erase("b") && map.size() == 4));
  map[Symbol("b")] = "again";
  CHECK(map == StringMap{{"c", "c"}, {"bb", "bb"}, {"b", "again"}, {"a", "a!"}, {"", ""}});
  map["x"] = *map.find("c");
  CHECK(*map.find("x") == "c");
}

TEST_CASE("a box is its value: copied with it, equal by it") {
  Box<std::string> none, box(kLong);
  Box<std::string> copy = box;
  *copy = "other";
  CHECK((*box == kLong && box != copy && none != box && !none.has_value()));
  const Box<std::string>& itself = box;
  box = itself;
  CHECK(*box == kLong);
  none.ensure() = kLong;
  CHECK(none == box);
  box = copy;
  CHECK(*box == "other");
  const Box<std::string> moved = std::move(box);
  CHECK((moved && !box));
  copy.reset();
  CHECK(copy.get() == nullptr);
}

}  // namespace
}  // namespace koord::api
