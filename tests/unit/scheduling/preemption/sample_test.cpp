// Of how many nodes preemption looks at.
#include "scheduling/preemption/sample.hpp"

#include <catch2/catch.hpp>

namespace koord::scheduling::preemption {
namespace {

TEST_CASE("candidates: a share of the nodes, at least so many, at most all") {
  struct Row {
    std::int32_t percentage, absolute;
    std::size_t nodes, wanted;
  };
  const Row rows[] = {{10, 100, 5000, 500}, {10, 100, 500, 100}, {10, 100, 50, 50}, {40, 1, 5, 2},
                      {40, 2, 5, 2},        {0, 1, 5000, 1},     {100, 0, 7, 7},    {10, 100, 0, 0}};
  for (const Row& row : rows) {
    CAPTURE(row.percentage, row.absolute, row.nodes);
    CHECK(Sample{row.percentage, row.absolute}.of(row.nodes) == row.wanted);
  }
}

}  // namespace
}  // namespace koord::scheduling::preemption
