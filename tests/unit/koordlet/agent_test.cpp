// The agent whole: made as its role makes it, on a machine of text files.
#include "agent.hpp"

#include <catch2/catch.hpp>

#include "fake_node.hpp"
#include "role.hpp"
#include "support/metric_names.hpp"
#include "support/role_rig.hpp"

namespace koord::koordlet {
namespace {

struct Process : test::RoleRig {
  explicit Process(const std::vector<std::string>& arguments) : RoleRig(koordlet::role(), arguments) {
    REQUIRE(gates.set("AllAlpha=true,AllBeta=true").has_value());
  }

  Agent::Parts parts() {
    return {.place = {.node_name = "n", .root = node.root()},
            .cgroups = node.cgroups(),
            .client = &api,
            .no_counters = "not here"};
  }

  testing::FakeNode node{host::CgroupVersion::v2};
};

TEST_CASE("the metrics of an agent are those that its descriptor lists") {
  Process process({"--enable-pagecache-collector=true", "--tsdb-path="});
  const auto agent = Agent::make(process.context, process.parts());
  if (!agent) FAIL(agent.error().message());
  std::vector<std::string_view> names = test::metric_names(process.metrics);
  const std::vector<std::string_view> external = test::metric_names((*agent)->external_metrics());
  names.insert(names.end(), external.begin(), external.end());
  std::ranges::sort(names);
  CHECK(names == test::metric_names(koordlet::role().metrics));
}

}  // namespace
}  // namespace koord::koordlet
