// FileWatch: what the kernel tells of folders.
#include "koord/async/file_watch.hpp"

#include <catch2/catch.hpp>

#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord {
namespace {

std::vector<FileEvent> take(test::Loop& loop, FileWatch& watch) {
  auto events = test::run_task(loop, watch.next(), true);
  REQUIRE(events.has_value());
  return *events;
}

TEST_CASE("Folders that come and go, and the end of what is watched") {
  test::Loop loop;
  testing::Tree tree({{"a/", ""}});
  auto watch = FileWatch::open(loop.executor());
  REQUIRE(watch.has_value());
  const auto number = watch->add(tree / "a", IN_CREATE | IN_DELETE);
  REQUIRE(number.has_value());
  CHECK(*watch->add(tree / "a", IN_CREATE | IN_DELETE) == *number);
  tree.write("a/b/", "");
  auto events = take(loop, *watch);
  REQUIRE(events.size() == 1);
  CHECK(events[0].watch == *number);
  CHECK(events[0].name == "b");
  CHECK((events[0].mask & (IN_CREATE | IN_ISDIR)) == (IN_CREATE | IN_ISDIR));
  tree.remove("a");
  events = take(loop, *watch);
  REQUIRE(events.size() == 2);
  CHECK((events[0].mask & IN_DELETE) != 0);
  CHECK((events[1].mask & IN_IGNORED) != 0);
}

TEST_CASE("What is not there cannot be watched") {
  test::Loop loop;
  auto watch = FileWatch::open(loop.executor());
  REQUIRE(watch.has_value());
  const auto added = watch->add("/nowhere/at/all", IN_CREATE);
  REQUIRE(added.has_error());
  CHECK(added.error().code() == Code::not_found);
  watch->remove(77);
}

}  // namespace
}  // namespace koord
