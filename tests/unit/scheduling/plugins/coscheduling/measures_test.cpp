// What is counted of gangs.
#include <catch2/catch.hpp>

#include "gang_rig.hpp"
#include "koord/base/metrics.hpp"
#include "koord/scheduling/plugin/telling_plugin.hpp"
#include "scheduling/gangs/measures.hpp"

namespace koord::scheduling::coscheduling::test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("sizes of jobs are counted by the hundred") {
  constexpr std::pair<std::size_t, std::string_view> kRows[] = {
      {0, "0"},           {1, "1-100"},     {100, "1-100"},   {101, "101-200"},    {200, "101-200"},
      {201, "201-300"},   {499, "401-500"}, {500, "401-500"}, {501, "501-600"},    {999, "901-1000"},
      {1000, "901-1000"}, {1001, "1000+"},  {5000, "1000+"},  {1'000'000, "1000+"}};
  for (const auto& [members, size] : kRows) {
    CAPTURE(members);
    CHECK(gangs::size_of_job(members) == size);
  }
}

struct Measured : Gangs {
  explicit Measured(int nodes) : Gangs(nodes) {
    for (const auto& each : engine.profiles()[0].plugins)
      if (auto* counts = dynamic_cast<MeasuredPlugin*>(each.plugin.get())) counts->measure(registry);
  }
  bool says(const std::string& line) const {
    return registry.exposition().find(line + "\n") != std::string::npos;
  }
  bool waiting(int groups) const {
    return says(fmt::format("scheduler_waiting_gang_group_number {}", groups));
  }
  static std::string tried(std::string_view reason, std::string_view size, int count) {
    return fmt::format(
        "scheduler_gang_schedule_cycle_duration_seconds_count{{reason=\"{}\",job_size=\"{}\"}} {}", reason,
        size, count);
  }

  metrics::Registry registry;
};

TEST_CASE("attempts to place a strict gang are counted by how they end") {
  Measured world(1);
  world.put("big", 101, 101);
  CHECK(world.bound() == 0);
  world.put("small", 3, 3);
  CHECK(world.bound() == 3);
  CHECK(world.says(Measured::tried("all pending pods is already been attempted", "101-200", 1)));
  CHECK(world.says(Measured::tried("gang is already succeed", "1-100", 1)));
  CHECK(world.waiting(0));
}

TEST_CASE("groups with pods that wait for the others are counted for as long as they do") {
  const Says kLoose = {{api::kGangMode, "NonStrict"}, {api::kGangWaitingTime, "1m"}};
  Measured world(1);
  world.put("a", 10, 10, kLoose);
  CHECK(world.all()[Kind::wait] == 8);
  CHECK(world.waiting(1));
  SECTION("until they give up") {
    world.engine.remove_node("n0");
    world.wait(61s);
    world.all();
    CHECK(world.waiting(0));
  }
  SECTION("until there are enough") {
    world.engine.put_node(make_node("more", "8", "64Gi"));
    world.wait(20s);
    CHECK(world.bound() == 10);
    CHECK(world.waiting(0));
  }
  SECTION("until they are gone") {
    for (int n = 0; n < 10; ++n) world.engine.remove_pod(*member("a", n, 10, kLoose));
    CHECK(world.waiting(0));
  }
  SECTION("also in a group with others") {
    world.engine.put_object(pod_group("a", 10, {{api::kGangGroups, R"(["default/a","default/b"])"}}));
    CHECK(world.waiting(1));
    for (int n = 0; n < 10; ++n) world.engine.remove_pod(*member("a", n, 10, kLoose));
    CHECK(world.waiting(0));
  }
}

}  // namespace
}  // namespace koord::scheduling::coscheduling::test
