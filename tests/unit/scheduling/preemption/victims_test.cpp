// Victims: who has to go from a node, and which node's victims are chosen.
#include "scheduling/preemption/victims.hpp"

#include <catch2/catch.hpp>

#include "preemption/preemption_pods.hpp"

namespace koord::scheduling::preemption {
namespace {

using namespace koord::scheduling::test;

constexpr VerdictId kFull = 7;

/// A node of 500 milli-CPUs, for a pod of some of them.
class Room final : public Vacancy {
 public:
  Room(std::int64_t wanted, const std::deque<PodInfo>& pods) : left_(500 - wanted) {
    for (const PodInfo& pod : pods) left_ -= pod.requests.cpu;
  }
  void remove(const PodInfo& pod) override { left_ += pod.requests.cpu; }
  void add(const PodInfo& pod) override { left_ -= pod.requests.cpu; }
  VerdictId judge() override {
    ++judged;
    return left_ >= 0 ? kPass : kFull;
  }
  int judged = 0;

 private:
  std::int64_t left_;
};

std::string names(const Victims& victims) {
  std::string text;
  for (const PodInfo* pod : victims.pods)
    text.append(text.empty() ? "" : " ").append(pod->pod->metadata.name);
  if (victims.violations > 0) text += fmt::format(" !{}", victims.violations);
  return text;
}

std::string outcome(const DryRun& run) {
  switch (run.outcome) {
    case DryRun::Outcome::victims: return names(run.victims);
    case DryRun::Outcome::nobody: return "nobody";
    case DryRun::Outcome::no_help: return fmt::format("no help: {}", run.verdict);
    case DryRun::Outcome::no_one_needs: return "no one needs to";
  }
  return "";
}

TEST_CASE("the victims of one node") {
  struct Row {
    const char *name, *preemptor, *pods, *budgets, *victims;
    int judged;  // how often the node is looked at
  };
  // With kube-scheduler's own cases, as facts.
  const Row rows[] = {
      {"the one pod", "p high large", "a mid large", "", "a", 2},
      {"nobody is there", "p high large", "", "", "nobody", 0},
      {"all are of a higher priority", "p low large", "a mid large", "", "nobody", 0},
      {"all are of the same", "p mid large", "a mid large", "", "nobody", 0},
      {"not even without them", "p high whole", "a mid small; b high small", "", "no help: 7", 1},
      {"it fits as it is", "p high small", "a low small", "", "no one needs to", 2},
      {"it fits beside all of them", "p top small", "a low small; b top small", "", "no one needs to", 2},
      {"the small one stays", "p high large", "a low small; b mid large", "", "b", 3},
      {"of several priorities", "p high large", "a mid small; b low small; c mid medium; d high small", "",
       "c b", 4},
      {"the later one goes", "p high large",
       "a low small t5; b low small t4; c mid medium t3; d high small t2", "", "c a", 4},
      {"who has not started goes first", "p high medium", "a low medium; b low medium t9", "", "a", 3},
      {"names decide in the end", "p high medium", "b low medium t1; a low medium t1", "", "b", 3},
      {"the same budget twice", "p high whole", "a mid medium app=foo; b mid medium app=foo", "app=foo 1",
       "a b !1", 3},
      {"one is being evicted", "p high whole", "a mid medium app=foo; b mid medium app=foo", "app=foo 1 b",
       "a b", 3},
      {"another is", "p high whole", "a mid medium app=foo; b mid medium app=foo", "app=foo 1 z", "a b !1",
       3},
      {"the third is", "p high whole", "a mid small app=foo; b mid small app=foo; c mid small app=foo",
       "app=foo 1 c", "a b c !1", 4},
      // The budget's pod is brought back before a more important one that no budget keeps.
      {"a budget before importance", "p high medium", "a mid medium; b low medium app=foo", "app=foo 0", "a",
       3},
      {"but not before fitting", "p high whole", "a mid medium; b low medium app=foo", "app=foo 0", "a b !1",
       3},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const PodInfo preemptor = pod_of(row.preemptor);
    const auto pods = pods_of(row.pods);
    Budgets budgets;
    const auto budget = budget_of(row.budgets);
    if (*row.budgets != '\0') budgets.change(nullptr, &budget);
    Room room(preemptor.requests.cpu, pods);
    const DryRun run = select_victims(room, pointers(pods), preemptor.priority, budgets);
    CHECK(outcome(run) == row.victims);
    CHECK(room.judged == row.judged);
  }
}

TEST_CASE("the node whose victims are the least loss") {
  struct Row {
    const char *name, *nodes;  // each node's victims, between bars; a leading number: violations
    std::ptrdiff_t chosen;
  };
  const Row rows[] = {
      {"the only one", "a mid", 0},
      {"equal ones: the first", "a mid t1|b mid t1", 0},
      {"fewest violations", "1 a low|b high|2 c low", 1},
      {"lowest highest priority", "a mid; b mid|c mid; d low|e low; f low", 2},
      {"smallest sum", "a mid; b mid|c mid; d low|e mid; f mid", 1},
      {"fewest pods", "a mid; b mid; c neg; d neg|e mid; f neg|g mid; h low; i neg", 1},
      {"many of a negative priority are more than one",
       "a mid; b neg; c neg|d mid; e neg|f mid; g neg; h low", 1},
      {"one criterion after the other",
       "a mid; b low; c low|d high|e mid; f low; g low; h low|i mid; j mid; k mid; l neg", 0},
      {"latest start", "a mid t2; b mid t2|c mid t3; d mid t3|e mid t1; f mid t1", 1},
      {"latest of the first starts", "a mid t4; b mid t2|c mid t5; d mid t1|e mid t3; f mid t6", 2},
      {"of those of the highest priority", "a low t4; b mid t2|c mid t6; d low t1|e low t3; f mid t5", 1},
      {"not started yet is latest", "a mid t9|b mid", 1},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    std::vector<Loss> losses;
    for (const std::string& text : koord::test::split(row.nodes, '|')) {
      const bool counted = text[0] >= '0' && text[0] <= '9';
      const auto pods = pods_of(counted ? text.substr(1) : text);
      losses.push_back(Victims{pointers(pods), counted ? text[0] - '0' : 0}.loss());
    }
    const auto least = std::min_element(losses.begin(), losses.end());
    CHECK(least - losses.begin() == row.chosen);
  }
}

}  // namespace
}  // namespace koord::scheduling::preemption
