// Plain pods that arrive beside what others say, and are bound all the same.
#pragma once

#include <catch2/catch.hpp>

#include "world.hpp"

namespace koord::scheduling::test {

/// How many rows were looked at for one that arrives now.
inline std::uint64_t plain_pod(World& world, const std::string& name) {
  const std::uint64_t before = world.engine.classes().rows_looked_at();
  world.engine.put_pod(make_pod(name, "10m", "1Mi", [](api::Pod& p) { p.spec.priority = 1000; }));
  const auto out = world.run(1);
  REQUIRE(out.size() == 1);
  CHECK(out[0].pod->metadata.name == name);
  CHECK(out[0].kind() == Decision::Kind::bind);
  return world.engine.classes().rows_looked_at() - before;
}

}  // namespace koord::scheduling::test
