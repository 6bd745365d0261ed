// SweepScratch: what is known of all rows for the one pod that is tried.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "koord/scheduling/cluster/node_table.hpp"
#include "koord/scheduling/plugin/cross_node_plugin.hpp"
#include "koord/scheduling/plugin/verdict.hpp"

namespace koord::scheduling {

/// Rows that follow one another are told by their ends: rows are ascending, each once.
inline bool in_a_row(std::span<const Row> rows) {
  return !rows.empty() && rows.back() - rows.front() + 1 == rows.size();
}

/// Shared by the classes of an engine: each sweep writes it anew.
struct SweepScratch {
  std::span<const Row> live;        // the feasible rows, ascending
  std::vector<std::int32_t> slots;  // as LocalState's, by row; with named nodes by their place in `named`
  bool own_slots = false;           // `slots` is used: something differs from LocalState's
  std::vector<Row> named;           // ascending
  std::vector<std::int32_t> sums;   // of the rows of `live`, if they are ranked
  std::vector<Row> all, kept, asked, found;
  std::vector<Row> deltas;  // rows that the class sees otherwise, ascending
  std::vector<VerdictId> verdicts;
  std::vector<std::int64_t> scores;
  std::vector<std::int32_t> tops;
  FewScores few;
};

}  // namespace koord::scheduling
