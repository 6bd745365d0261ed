// DefaultPreemptionArgs: what is refused, and how many candidates are enough.
#include "plugins/default_preemption/args.hpp"

#include <catch2/catch.hpp>

namespace koord::scheduler::default_preemption {
namespace {

TEST_CASE("candidates: a share of the nodes, at least so many, at most all") {
  struct Row {
    std::int32_t percentage, absolute;
    std::size_t nodes, wanted;
  };
  const Row rows[] = {{10, 100, 5000, 500}, {10, 100, 500, 100}, {10, 100, 50, 50}, {40, 1, 5, 2},
                      {40, 2, 5, 2},        {0, 1, 5000, 1},     {100, 0, 7, 7},    {10, 100, 0, 0}};
  for (const Row& row : rows) {
    const DefaultPreemptionArgs args{row.percentage, row.absolute};
    CAPTURE(row.percentage, row.absolute, row.nodes);
    CHECK(args.candidates(row.nodes) == row.wanted);
  }
}

TEST_CASE("arguments of preemption are refused in kube-scheduler's words") {
  struct Row {
    std::int32_t percentage, absolute;
    const char* why;
  };
  const Row rows[] = {
      {10, 100, ""},
      {100, 0, ""},
      {-1, 100, "args.minCandidateNodesPercentage: Invalid value: -1: not in valid range [0, 100]"},
      {101, 100, "args.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]"},
      {10, -1, "args.minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)"},
      {0, 0,
       "[args.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as "
       "minCandidateNodesAbsolute, args.minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the "
       "same time as minCandidateNodesPercentage]"},
  };
  for (const Row& row : rows) {
    FieldErrors errors;
    DefaultPreemptionArgs{row.percentage, row.absolute}.validate("args", errors);
    CAPTURE(row.percentage, row.absolute);
    CHECK((errors.empty() ? "" : errors.text()) == row.why);
  }
}

}  // namespace
}  // namespace koord::scheduler::default_preemption
