// FeatureGates: parsing of --feature-gates, stages, locks and messages.
#include "koord/base/feature_gate.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

using namespace koord;

namespace {
constexpr FeatureGate kTable[] = {{"BECPUSuppress", true, Stage::beta},
                                  {"Accelerators", false, Stage::alpha},
                                  {"CPICollector", false, Stage::alpha},
                                  {"PodReadiness", true, Stage::ga, true}};
}

TEST_CASE("gates have defaults and can be set") {
  FeatureGates gates(kTable);
  CHECK(gates.enabled("BECPUSuppress"));
  CHECK(gates.set("").has_value());
  REQUIRE(gates.set("BECPUSuppress=false, Accelerators=T,").has_value());
  CHECK_FALSE(gates.enabled("BECPUSuppress"));
  CHECK(gates.enabled("Accelerators"));
  CHECK(gates.set("PodReadiness=true").has_value());
  CHECK(gates.list().size() == 4);
  CHECK_THROWS_AS(gates.enabled("Nope"), std::logic_error);
}

TEST_CASE("AllAlpha and AllBeta spare what is named, in any order") {
  FeatureGates gates(kTable);
  REQUIRE(gates.set("CPICollector=false,AllAlpha=true,AllBeta=false").has_value());
  CHECK(gates.enabled("Accelerators"));
  CHECK_FALSE(gates.enabled("CPICollector"));
  CHECK_FALSE(gates.enabled("BECPUSuppress"));
  CHECK(gates.enabled("PodReadiness"));
}

TEST_CASE("what is wrong with --feature-gates is said, and nothing is set") {
  struct Row {
    const char* in;
    const char* message;
  };
  const Row rows[] = {
      {"Accelerators", "missing bool value for Accelerators"},
      {"Accelerators=yes",
       "invalid value of Accelerators=yes, err: strconv.ParseBool: parsing \"yes\": invalid syntax"},
      {"BECPUSupress=true", "unrecognized feature gate: BECPUSupress; did you mean BECPUSuppress?"},
      {"Quite=true", "unrecognized feature gate: Quite"},
      {"PodReadiness=false", "cannot set feature gate PodReadiness to false, feature is locked to true"}};
  for (const Row& row : rows) {
    FeatureGates gates(kTable);
    INFO(row.in);
    const auto result = gates.set(std::string("BECPUSuppress=false,") + row.in);
    REQUIRE(result.has_error());
    CHECK(result.error().message() == row.message);
    CHECK(gates.enabled("BECPUSuppress"));
  }
  const FeatureGate other[] = {{"Accelerators", true}};
  FeatureGates gates(kTable);
  CHECK_THROWS_AS(gates.add(other), std::logic_error);
}
