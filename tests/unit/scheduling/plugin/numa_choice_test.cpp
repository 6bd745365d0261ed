// Which memory nodes are chosen of the hints of all providers: Koordinator's published rows, and random hints
// beside all their combinations.
#include "koord/scheduling/plugin/numa_choice.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <random>

#include "support/sanitized.hpp"

namespace koord::scheduling::test {
namespace {

using Lists = std::vector<NumaHintList>;
using Hints = std::vector<NumaHint>;
constexpr auto kBest = NumaPolicy::best_effort, kRestricted = NumaPolicy::restricted,
               kSingle = NumaPolicy::single_numa_node;

TEST_CASE("memory nodes are chosen as Koordinator's published rows have it") {
  struct Row {
    const char* name;
    Lists lists;
    // 0: the policy refuses; of best effort: what it takes.
    NumaMask best_effort, restricted, single;
  };
  const std::vector<Row> rows = {
      {"nobody cares", {{"a", {}}}, 0b11, 0b11, 0b11},
      {"same mask", {{"a", Hints{{0b01, true}}}, {"b", Hints{{0b01, true}}}}, 0b01, 0b01, 0b01},
      {"one does not care", {{"a", {}}, {"b", Hints{{0b10, true}}}}, 0b10, 0b10, 0b10},
      {"one of two",
       {{"a", Hints{{0b01, true}, {0b10, true}}}, {"b", Hints{{0b10, true}}}},
       0b10,
       0b10,
       0b10},
      {"both of two",
       {{"a", Hints{{0b01, true}, {0b10, true}}}, {"b", Hints{{0b01, true}, {0b10, true}}}},
       0b01,
       0b01,
       0b01},
      {"preferred before narrower",
       {{"a", Hints{{0b01, true}, {0b10, true}, {0b11, false}}},
        {"b", Hints{{0b01, false}, {0b10, true}, {0b11, false}}}},
       0b10,
       0b10,
       0b10},
      {"no common mask", {{"a", Hints{{0b01, true}}}, {"b", Hints{{0b10, true}}}}, 0b11, 0, 0},
      {"one prefers it", {{"a", Hints{{0b01, true}}}, {"b", Hints{{0b01, false}}}}, 0b01, 0, 0},
      {"one is wider", {{"a", Hints{{0b01, true}}}, {"b", Hints{{0b11, true}}}}, 0b11, 0, 0},
      {"both are wide", {{"a", Hints{{0b11, true}}}, {"b", Hints{{0b11, true}}}}, 0b11, 0b11, 0},
      {"one has nothing", {{"a", Hints{}}, {"b", Hints{{0b01, true}}}}, 0b11, 0, 0},
      {"score", {{"a", Hints{{0b01, true, 3}, {0b10, true, 7}}}}, 0b10, 0b10, 0b10},
      {"lower numbers", {{"a", Hints{{0b01, true, 7}, {0b10, true, 7}}}}, 0b01, 0b01, 0b01},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto chosen = [&](NumaPolicy policy) {
      const NumaChoice choice = choose_numa_nodes({.policy = policy, .all = 0b11}, row.lists);
      CHECK(choice.admitted == choice.reasons.empty());
      return choice.admitted ? (choice.nodes == 0 ? NumaMask{0b11} : choice.nodes) : NumaMask{0};
    };
    CHECK(chosen(kBest) == row.best_effort);
    CHECK(chosen(kRestricted) == row.restricted);
    CHECK(chosen(kSingle) == row.single);
  }
  CHECK(choose_numa_nodes({.policy = NumaPolicy::none, .all = 0b11}, rows[6].lists) == NumaChoice{true});
  // A machine with one memory node binds nobody to it.
  CHECK(choose_numa_nodes({.policy = kSingle, .all = 1}, Lists{{"a", Hints{{1, true}}}}) == NumaChoice{true});
  // Of two nodes each the one that comes later counts, though another scores more: it has lower numbers.
  CHECK(choose_numa_nodes({.policy = kRestricted, .all = 0b1111},
                          Lists{{"a", Hints{{0b0011, true, 1}, {0b1001, true, 9}, {0b0110, true, 2}}}})
            .nodes == 0b0110);
}

TEST_CASE("pods of one memory node and of several are kept apart as Koordinator's published rows have it") {
  struct Row {
    NumaMask nodes, single, shared;
    bool may;
  };
  const Row rows[] = {
      {0b01, 0b10, 0b00, true}, {0b01, 0b10, 0b01, false}, {0b01, 0b00, 0b11, false},
      {0b01, 0b01, 0b10, true}, {0b11, 0b10, 0b01, false}, {0b11, 0b00, 0b01, true},
      {0b11, 0b00, 0b11, true},
  };
  for (const Row& row : rows) {
    NumaQuestion question{
        .policy = kRestricted, .all = 0b11, .exclusive = true, .single = row.single, .shared = row.shared};
    const Lists lists{{"a", Hints{{row.nodes, true}}}};
    CHECK(choose_numa_nodes(question, lists).admitted == row.may);
    question.exclusive = false;
    CHECK(choose_numa_nodes(question, lists).admitted);
  }
}

TEST_CASE("what is said of memory nodes that will not do") {
  const Lists lists{{"memory", Hints{{0b100, true}, {0b1001, false}}},
                    {"cpu", Hints{{0b01, true}, {0b101, true}}}};
  CHECK(choose_numa_nodes({.policy = kRestricted, .all = 0b1111}, lists).reasons ==
        std::vector<std::string>{"Unaligned NUMA Hint cause cpu prefer [01 0101] among [01 0101] & memory "
                                 "prefer [100] among [100 1001]"});
  CHECK(choose_numa_nodes({.policy = kSingle, .all = 0b1111}, lists).reasons ==
        std::vector<std::string>{"Unaligned NUMA Hint cause cpu prefer [01 0101] among [01 0101],memory "
                                 "prefer [100] among [100 1001]"});
  CHECK(choose_numa_nodes({.policy = kSingle, .all = 0b11}, Lists{{"memory", Hints{}}, {"cpu", Hints{}}})
            .reasons == std::vector<std::string>{"Unsatisfied NUMA cpu", "Unsatisfied NUMA memory"});
}

/// One after the other, one hint of each list in all combinations.
struct Combinations {
  const NumaQuestion& question;
  const Lists& lists;
  NumaHint best{question.all, false, 0};
  bool unsatisfied = false;
  std::vector<const NumaHint*> with = {};

  void go(std::size_t at) {
    if (at < lists.size()) {
      if (!lists[at].hints) return go(at + 1);
      for (const NumaHint& hint : *lists[at].hints) {
        if (question.policy == kSingle && (!hint.preferred || std::popcount(hint.nodes) != 1)) continue;
        with.push_back(&hint);
        go(at + 1);
        with.pop_back();
      }
      return;
    }
    NumaHint merged{question.all, true, 0};
    int most = 0;
    for (const NumaHint* hint : with) {
      merged.nodes &= hint->nodes;
      most = std::max(most, std::popcount(hint->nodes));
      merged.preferred = merged.preferred && hint->preferred && hint->nodes == with[0]->nodes;
    }
    if (merged.nodes == 0) return;
    const int count = std::popcount(merged.nodes);
    if (question.exclusive && (merged.nodes & (count > 1 ? question.single : question.shared)) != 0)
      merged.preferred = false;
    for (const NumaHint* hint : with)
      if (hint->nodes == merged.nodes) merged.score += hint->score;
    if (merged.preferred != best.preferred) {
      if (!merged.preferred) return;
    } else {
      const int of_best = std::popcount(best.nodes);
      if (count > of_best) return;
      if (count == of_best && merged.nodes >= best.nodes && merged.score <= best.score) return;
    }
    best = merged;
    unsatisfied = !with.empty() && most != count;
  }
};

TEST_CASE("of random hints that memory node is chosen to which all their combinations come") {
  std::mt19937 random(3);
  const auto below = [&](unsigned n) { return random() % n; };
  constexpr NumaMask kInOrder[] = {1, 2, 4, 8, 3, 5, 9, 6, 10, 12, 7, 11, 13, 14, 15};
  const auto rounds = ::koord::test::hostile(30'000);
  std::size_t admitted = 0, refused = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    NumaQuestion question{.policy = i % 2 == 0 ? kRestricted : kSingle, .all = 15};
    question.exclusive = below(3) == 0;
    question.single = below(16);
    question.shared = below(16) & ~question.single;
    Lists lists(1 + below(3));
    for (NumaHintList& list : lists) {
      list.resource = "r";
      if (below(6) == 0) continue;
      list.hints.emplace();
      for (const NumaMask nodes : kInOrder)
        if (below(3) != 0) list.hints->push_back({nodes, below(3) != 0, static_cast<std::int64_t>(below(4))});
      if (list.hints->empty()) list.hints->push_back({15, true, 0});
    }
    Combinations all{question, lists};
    all.go(0);
    const NumaChoice choice = choose_numa_nodes(question, lists);
    REQUIRE(choice.admitted == all.best.preferred);
    ++(choice.admitted ? admitted : refused);
    if (choice.admitted)
      REQUIRE(choice.nodes == (question.policy == kSingle && all.best.nodes == 15 ? 0 : all.best.nodes));
    // Best effort: the same where something is preferred; else nothing is narrower than what it takes.
    question.policy = kBest;
    Combinations loose{question, lists};
    loose.go(0);
    const NumaChoice effort = choose_numa_nodes(question, lists);
    REQUIRE(effort.admitted);
    if (loose.best.preferred) {
      REQUIRE(effort.nodes == loose.best.nodes);
    } else {
      REQUIRE((effort.nodes == 15 || std::popcount(effort.nodes) == std::popcount(loose.best.nodes)));
    }
  }
  CHECK(admitted > rounds / 4);
  CHECK(refused > rounds / 20);
}

}  // namespace
}  // namespace koord::scheduling::test
