// Which controllers a list of names switches on, and the lease of the manager.
#include "flags.hpp"

#include <catch2/catch.hpp>

#include "framework/config/slo_config.hpp"

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

TEST_CASE("The default rate is enough for 10,000 nodes whose status and zones are written in every period") {
  const runtime::FlagOwner owner{"manager", flags()};
  auto values = runtime::default_flags(std::span(&owner, 1));
  REQUIRE(values.has_value());
  const std::int64_t period = SloConfig().colocation().cluster.update_time_threshold_seconds.value();
  const std::int64_t rate = values->get_int("rest-config-qps");
  CHECK(rate * period >= 2 * 10'000);
  // A NodeMetric, a NodeSLO and a status of each, made from nothing, before its figures are stale.
  CHECK(rate * SloConfig().colocation().cluster.degrade_time_minutes.value() * 60 >= 3 * 10'000);
}

}  // namespace
}  // namespace koord::manager
