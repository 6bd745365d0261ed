// How old figures of a node may be.
#include "framework/noderesource/node_view.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "node_case.hpp"

namespace koord::manager {
namespace {

TEST_CASE("A NodeMetric that is absent, old or says too little lends nothing") {
  const auto after = [](std::chrono::seconds age) {
    Case c;
    c.metric.status.update_time = api::Time(c.now.at - age);
    return stale(c.view());
  };
  using std::chrono::minutes;
  CHECK_FALSE(after(minutes(0)));
  CHECK_FALSE(after(minutes(15)));
  CHECK(after(minutes(15) + std::chrono::seconds(1)) == "NodeMetric is 901 s old");
  CHECK_FALSE(after(-minutes(15)));
  CHECK(after(-minutes(16)) == "NodeMetric is from the future");
  Case c;
  c.metric.status.update_time.reset();
  CHECK(stale(c.view()));
  CHECK(stale({c.node, {}, nullptr, c.strategy, c.now}));
  Case mute;
  mute.metric.status.node_metric->system_usage.resources.erase("cpu");
  CHECK(stale(mute.view()) == "NodeMetric does not say what the system uses");
  mute.metric.status.node_metric.reset();
  CHECK(stale(mute.view()));
  Case patient;
  patient.strategy.degrade_time_minutes = std::numeric_limits<std::int64_t>::max();
  CHECK_FALSE(stale(patient.view()));
  CHECK(fresh_for(patient.strategy) == std::chrono::hours(365 * 24));
}

}  // namespace
}  // namespace koord::manager
