// Disruption budgets: whose going would break one.
#include "scheduling/preemption/budgets.hpp"

#include <catch2/catch.hpp>

#include "preemption/preemption_pods.hpp"
#include "support/growth.hpp"

namespace koord::scheduling::preemption {
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

TEST_CASE("which of the pods of Koordinator's table break a budget") {
  struct Row {
    const char *name, *budget, *pods, *broken;
  };
  const Row rows[] = {
      {"no budgets", "", "pod1 app=test", "."},
      {"not violated", "app=test 1", "pod1 app=test", "."},
      {"violated", "app=test 0", "pod1 app=test; pod2 app=test", "!!"},
      {"a pod without labels", "app=test 0", "pod1", "."},
      {"a selector that nobody can read", "app=test 0 invalid", "pod1 app=test", "."},
      // There it is nobody's, to the API server it is everybody's.
      {"an empty selector", "{} 0", "pod1 app=test", "!"},
      {"among the disrupted pods", "app=test 0 pod1", "pod1 app=test", "."},
      {"of another namespace", "app=test 0", "pod1 app=test @other-ns", "."},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Budgets budgets;
    if (const std::string text = row.budget; !text.empty()) {
      const bool invalid = text.ends_with(" invalid");
      api::PodDisruptionBudget budget = budget_of(invalid ? text.substr(0, text.rfind(' ')) : text);
      if (invalid)
        budget.spec.selector->match_expressions.push_back(
            {.key = "app", .operator_ = "InvalidOperator", .values = {"test"}});
      budgets.change(nullptr, &budget);
    }
    std::string broken;
    for (const bool each : budgets.ask(pointers(pods_of(row.pods))).broken) broken += each ? '!' : '.';
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
}  // namespace koord::scheduling::preemption
