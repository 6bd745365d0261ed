// DefaultBinder: the plugin that binds.
#include <catch2/catch.hpp>

#include "world.hpp"

namespace koord::scheduling::test {
namespace {

TEST_CASE("the first bind plugin of a profile is the one that binds") {
  World world;
  const Profile& profile = world.engine.profiles()[0];
  REQUIRE(profile.binds.size() == 1);
  CHECK(profile.plugin_name(profile.binds[0].index) == "DefaultBinder");
}

}  // namespace
}  // namespace koord::scheduling::test
