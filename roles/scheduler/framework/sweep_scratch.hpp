// SweepScratch: what is known of all rows for the one pod that is tried.
#pragma once

#include <cstdint>
#include <vector>

#include "framework/node_table.hpp"
#include "framework/verdict.hpp"

namespace koord::scheduler {

/// Shared by the classes of an engine: each sweep writes it anew.
struct SweepScratch {
  std::vector<std::int32_t> slots;  // as LocalState's, by row; with named nodes by their place in `named`
  std::vector<Row> named;           // ascending
  std::vector<Row> live;            // the feasible rows, ascending
  std::vector<std::int32_t> sums;   // of the rows of `live`, if they are ranked
  std::vector<Row> all, asked, found;
  std::vector<VerdictId> verdicts;
  std::vector<std::int64_t> scores;
};

}  // namespace koord::scheduler
