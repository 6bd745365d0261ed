// Disruption budgets: whose going would break one.
#include "scheduling/plugins/default_preemption/budgets.hpp"

#include <catch2/catch.hpp>

#include "preemption_pods.hpp"
#include "support/growth.hpp"

namespace koord::scheduling::default_preemption {
namespace {

using namespace koord::scheduling::test;

TEST_CASE("pods whose going breaks a budget, one after the other") {
  struct Row {
    const char *name, *budgets, *pods, *broken;
  };
  const Row rows[] = {
      {"no budget", "", "a app=x; b app=x", ".."},
      {"room for one", "app=x 1", "a app=x; b app=x; c app=x", ".!!"},
      {"no room", "app=x 0", "a app=x; b app=y; c", "!.."},
      {"less than none", "app=x -1", "a app=x", "!"},
      {"one that is being evicted uses up nothing", "app=x 1 a", "a app=x; b app=x; c app=x", "..!"},
      {"and breaks nothing", "app=x 0 b", "a app=x; b app=x", "!."},
      {"each budget counts by itself", "app=x 1; tier=t 0", "a app=x; b tier=t; c app=x tier=t", ".!!"},
      {"both are used up", "app=x 1; tier=t 1", "a app=x tier=t; b app=x; c tier=t", ".!!"},
      {"of its namespace", "@other app=x 0", "a app=x; b app=x @other", ".!"},
      {"an empty selector is everybody", "{} 1", "a; b app=x", ".!"},
      {"none is nobody", "- 0", "a; b app=x", ".."},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Budgets budgets;
    int number = 0;
    for (const std::string& text : koord::test::split(row.budgets, ';')) {
      const auto budget = budget_of(text, fmt::format("b{}", number++));
      if (!text.empty()) budgets.change(nullptr, &budget);
    }
    const auto pods = pods_of(row.pods);
    std::string broken;
    for (const bool each : budgets.ask(pointers(pods)).broken) broken += each ? '!' : '.';
    CHECK(broken == row.broken);
  }
}

TEST_CASE("ten times as many budgets of one pod cost ten times as much") {
  const auto pods = pods_of("a app=x; b app=x");
  CHECK(koord::test::growth(2000, [&](std::size_t count) {
          Budgets budgets;
          for (std::size_t i = 0; i < count; ++i) {
            const auto budget = budget_of("app=x 1", fmt::format("b{}", i));
            budgets.change(nullptr, &budget);
          }
          REQUIRE(budgets.ask(pointers(pods)).broken == std::vector<bool>{false, true});
        }) < koord::test::kMostGrowth);
}

TEST_CASE("budgets change, and go") {
  Budgets budgets;
  const auto pods = pods_of("a app=x; b app=x");
  const auto broken = [&] { return budgets.ask(pointers(pods)).broken; };
  const auto none = budget_of("app=x 0"), one = budget_of("app=x 1"), other = budget_of("app=y 0"),
             nobody = budget_of("- 0");
  budgets.change(nullptr, &none);
  CHECK(broken() == std::vector<bool>{true, true});
  budgets.change(&none, &one);
  CHECK(broken() == std::vector<bool>{false, true});
  budgets.change(&one, &other);
  CHECK(broken() == std::vector<bool>{false, false});
  budgets.change(&other, &none);
  budgets.change(&none, &nobody);
  CHECK(broken() == std::vector<bool>{false, false});
  budgets.change(&nobody, &none);
  budgets.change(&none, nullptr);
  CHECK(broken() == std::vector<bool>{false, false});
}

TEST_CASE("what cannot change an answer leaves its version as it is") {
  Budgets budgets;
  const auto one = budget_of("app=x 1");
  auto now = one;
  budgets.change(nullptr, &one);
  const auto version = budgets.version(), selectors = budgets.selectors_version();
  now.status.current_healthy = 7;
  budgets.change(&one, &now);
  CHECK(budgets.version() == version);
  now.status.disruptions_allowed = 0;
  budgets.change(&one, &now);
  CHECK(budgets.version() > version);
  CHECK(budgets.selectors_version() == selectors);
  const auto other = budget_of("app=y 1");
  budgets.change(&now, &other);
  CHECK(budgets.selectors_version() > selectors);
  CHECK(budgets.ask(pointers(pods_of("a app=y"))).asked);
  CHECK_FALSE(budgets.ask(pointers(pods_of("a app=x"))).asked);
}

}  // namespace
}  // namespace koord::scheduling::default_preemption
