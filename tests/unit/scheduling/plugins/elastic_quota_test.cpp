// Whether a pod fits its quota and those above it: the rows of Koordinator's plugin_test.go.
#include <catch2/catch.hpp>

#include "elastic_quota/quota_script.hpp"
#include "scheduling/plugins/elastic_quota/check.hpp"

namespace koord::scheduling::elastic_quota {
namespace {

using test::QuotaScript;
using By = Refusal::By;

struct Row {
  const char* name;
  const char* script;
  const char* pod;  // in quota q
  bool preemptible;
  CheckRules rules;
  std::optional<Refusal> refused;  // its quota is `quota`
  const char* quota = "q";
};

const Row kRows[] = {
    {"nothing is left",
     "total 0/20\n quota q root 10/20 0/0\n pod p q 1/2",
     "1/2/1",
     true,
     {},
     Refusal{By::quota, 0, {kCpu}}},
    {"what max does not name is not counted",
     "total 10/20\n quota q root 10/20 0/0\n pod p q 1/2/1",
     "1/2/1",
     true,
     {},
     {}},
    {"what it asks for",
     "total 1/2\n quota q root 10/20 0/0\n pod p q 1/3",
     "1/3",
     true,
     {},
     Refusal{By::quota, 0, {kMemory}}},
    {"max counts where runtime does not",
     "total 1/2\n quota q root 10/20 0/0",
     "1/3",
     true,
     {.by_runtime = false},
     {}},
    {"and there is an end to it",
     "total 1/2\n quota q root 10/20 0/0\n pod p q 9/18 runs",
     "2/3",
     true,
     {.by_runtime = false},
     Refusal{By::quota, 0, {kCpu, kMemory}}},
    {"2391: with what is used it is above max",
     "total 100/100\n quota q root 10/10 10/10\n pod p q 8/8 runs\n pod new q 3/1",
     "3/1",
     true,
     {},
     Refusal{By::quota, 0, {kCpu}}},
    {"what is used up stands against a pod that does not ask for it",
     "total 100/100\n quota q root 10/10 10/10\n pod p q 1/11 runs\n pod new q 3/-",
     "3/-",
     true,
     {},
     Refusal{By::quota, 0, {kMemory}}},
    {"no more than min for pods that cannot be preempted",
     "total 100/100\n quota q root 40/40 10/10\n pod p q 8/8 kept runs\n pod new q 3/1 kept",
     "3/1",
     false,
     {},
     Refusal{By::non_preemptible, 0, {kCpu}}},
    {"the others may have it",
     "total 100/100\n quota q root 40/40 10/10\n pod p q 8/8 kept runs\n pod new q 3/1",
     "3/1",
     true,
     {},
     {}},
    {"a min that is not named does not limit them",
     "total 100/100\n quota q root 40/40 -/10\n pod new q 30/1 kept",
     "30/1",
     false,
     {},
     {}},
    {"the parent has no room, and nobody asks it",
     "total 100/100\n quota top root 10/10 0/0\n quota q top 40/40 0/0\n pod p top 8/8 runs\n pod new q 4/1",
     "2/1",
     true,
     {},
     {}},
    {"the parent has no room",
     "total 100/100\n quota top root 10/10 0/0\n quota q top 40/40 0/0\n pod p top 8/8 runs\n pod new q 4/1",
     "4/1",
     true,
     {.parents = true},
     Refusal{By::parent, 0, {kCpu}},
     "top"},
    {"only what the pod asks for stands against it above",
     "total 100/100\n quota top root 10/10 0/0\n quota q top 40/40 0/0\n pod p top 1/11 runs\n pod new q 4/-",
     "4/-",
     true,
     {.parents = true},
     {}},
    {"the parent's parent has no room",
     "total 100/100\n quota over root 9/10 0/0\n quota top over 10/10 0/0\n quota q top 40/40 0/0\n"
     "pod p over 8/8 runs\n pod new q 4/1",
     "4/1",
     true,
     {.by_runtime = false, .parents = true},
     Refusal{By::parent, 0, {kCpu}},
     "over"},
    {"the default quota has what its max says",
     "total 0/0\n quota default root 10/10 -/-",
     "10/10",
     true,
     {},
     {},
     "default"},
    {"and no more",
     "total 0/0\n quota default root 10/10 -/-\n pod p default 1/1 runs",
     "10/10",
     true,
     {},
     Refusal{By::quota, 0, {kCpu, kMemory}},
     "default"},
    {"the root has no limit", "total 0/0", "1/1", true, {.parents = true}, {}, "root"},
};

TEST_CASE("a pod fits its quota, or what stands against it") {
  for (const Row& row : kRows) {
    INFO(row.name);
    QuotaScript s;
    s.run(row.script);
    const bool own = row.refused && row.refused->by != By::parent;
    const QuotaId quota = s.id(own || !row.refused ? row.quota : "q");
    const auto got = refusal(s.tree, quota, QuotaScript::amounts(row.pod), row.preemptible, row.rules);
    REQUIRE(got.has_value() == row.refused.has_value());
    if (!got) continue;
    CHECK(got->by == row.refused->by);
    CHECK(got->quota == s.id(row.quota));
    CHECK(got->exceeded == row.refused->exceeded);
  }
}

TEST_CASE("what of a pod counts in its quota") {
  QuotaScript s;
  s.run("quota q root 10/- 0/0");
  CHECK(counted(s.tree, s.id("q"), QuotaScript::amounts("1/2/3")) == Amounts{{kCpu, 1000}});
}

}  // namespace
}  // namespace koord::scheduling::elastic_quota
