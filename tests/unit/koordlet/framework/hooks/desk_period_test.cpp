// The desk: of which period the quota of a request is that says none.
#include <catch2/catch.hpp>
#include <optional>

#include "rigs/desk_rig.hpp"

namespace koord::koordlet {
namespace {

using testing::birth;
using testing::DeskRig;

TEST_CASE("A quota that is changed without a period is of the period that its group has",
          "[koordlet][hooks][desk]") {
  DeskRig rig;
  REQUIRE(rig.gates.set("CPUNormalization=true").has_value());
  rig.inventory.node.cpu_normalization = 2;
  rig.open();
  RuntimeRequest request = birth("u1", "/kubepods/burstable/podu1");
  request.sandbox.labels.push_back({"koordinator.sh/qosClass", "LS"});
  request.container->id = "c1";
  request.container->resources.cpu_quota = 10'000;
  const auto quota_of = [&](RuntimeMoment moment, std::optional<std::int64_t> said, std::int64_t group) {
    request.moment = moment;
    request.container->resources.cpu_period = said;
    rig.period = group > 0 ? std::optional(group) : std::nullopt;
    return rig.ask(request).settings;
  };
  struct Row {
    RuntimeMoment moment;
    std::optional<std::int64_t> said;
    std::int64_t group;  // 0: there is none
    std::int64_t quota;  // of 100 ms
  };
  constexpr Row kRows[] = {{RuntimeMoment::update_container, std::nullopt, 10'000, 50'000},
                           {RuntimeMoment::update_container, 0, 10'000, 50'000},
                           {RuntimeMoment::update_container, std::nullopt, 0, 5'000},
                           {RuntimeMoment::update_container, 20'000, 10'000, 25'000},
                           {RuntimeMoment::create_container, std::nullopt, 10'000, 5'000}};
  for (const Row& row : kRows) {
    CAPTURE(row.moment, row.said, row.group);
    const RuntimeSettings settings = quota_of(row.moment, row.said, row.group);
    CHECK(settings.cpu_quota == row.quota);
    CHECK(settings.cpu_period == 100'000);
  }
}

}  // namespace
}  // namespace koord::koordlet
