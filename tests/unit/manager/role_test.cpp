// The manager as its process makes it.
#include "role.hpp"

#include <catch2/catch.hpp>

#include "support/metric_names.hpp"
#include "support/role_rig.hpp"

namespace koord::manager {
namespace {

TEST_CASE("the metrics of a manager are those that its descriptor lists") {
  test::RoleRig process(manager::role(), {});
  const auto made = manager::role().make(process.context);
  REQUIRE(made.has_value());
  auto listed = test::metric_names(manager::role().metrics);
  listed.push_back(
      runtime::kDroppedConnections.name);  // the webhooks' port counts where the role's others do
  std::ranges::sort(listed);
  CHECK(test::metric_names(process.metrics) == listed);
}

TEST_CASE("a flag that makes no sense ends the manager before it starts, by name") {
  for (const std::string flag :
       {"--leader-elect-resource-lock=endpoints", "--rest-config-qps=-1", "--shutdown-delay=-1s"}) {
    test::RoleRig process(manager::role(), {flag});
    const auto made = manager::role().make(process.context);
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().code() == Code::invalid);
    CHECK(made.error().message().starts_with(flag.substr(0, flag.find('='))));
  }
}

}  // namespace
}  // namespace koord::manager
