// Which controllers a list of names switches on, and the lease of the manager.
#include "flags.hpp"

#include <catch2/catch.hpp>

namespace koord::manager {
namespace {

TEST_CASE("The name decides, then the star") {
  struct Row {
    std::vector<std::string> list;
    bool nodeslo;
  };
  for (const Row& row : {
           Row{{}, false},
           Row{{"nodeslo"}, true},
           Row{{"nodemetric"}, false},
           Row{{"*"}, true},
           Row{{"*", "-nodeslo"}, false},
           Row{{"-nodeslo", "*"}, false},
           Row{{"nodeslo", "-nodeslo"}, true},
           Row{{"-nodemetric"}, false},
       })
    CHECK(is_enabled(row.list, "nodeslo") == row.nodeslo);
}

TEST_CASE("The lease is upstream's") {
  const runtime::FlagOwner owner{"manager", flags()};
  auto values = runtime::default_flags(std::span(&owner, 1));
  REQUIRE(values.has_value());
  const auto election = election_settings(*values);
  REQUIRE(election.has_value());
  CHECK(election->leader_elect == true);
  CHECK(election->resource_namespace == "koordinator-system");
  CHECK(election->resource_name == "koordinator-manager");
  CHECK(election->lease_duration == api::Duration(std::chrono::seconds(15)));
}

}  // namespace
}  // namespace koord::manager
