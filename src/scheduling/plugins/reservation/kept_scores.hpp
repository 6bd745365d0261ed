// KeptScores: what the reservations on rows are worth to a class of pods, from cycle to cycle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scheduling/plugins/reservation/matched.hpp"

namespace koord::scheduling::reservation {

/// Raw scores by their place among the rows that a pod matches: kept for as long as the row and what is
/// matched there are the same. 32 bytes a row.
class KeptScores {
 public:
  static constexpr std::int32_t kUnknown = -1;

  /// In each cycle, with what its pod matches: what has changed is unknown from now on.
  void move_to(const Matched& found, const NodeTable& nodes);
  /// As many as there are rows.
  std::vector<std::int32_t>& scores() { return scores_; }
  /// Of the reservation that comes first there; 0: it has none.
  std::int64_t order(std::size_t at) const { return orders_[at]; }
  std::size_t bytes() const {
    return rows_.capacity() * (sizeof rows_[0] + sizeof seen_[0] + sizeof scores_[0] + sizeof orders_[0]);
  }

 private:
  struct Seen {
    std::uint64_t row = 0, version = 0;  // NodeTable::changes() and version_of()
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  bool look_again(const Matched& found, const NodeTable& nodes, Row row);
  void read(std::size_t place, const Matched& found, std::size_t at, const NodeTable& nodes);
  template <class IsSame>
  void take_over(const Matched& found, const NodeTable& nodes, IsSame&& is_same);
  static Seen seen(const Matched& found, std::size_t at, const NodeTable& nodes);

  std::vector<Row> rows_;  // ascending; with those of each:
  std::vector<Seen> seen_;
  std::vector<std::int32_t> scores_;
  std::vector<std::int64_t> orders_;
  std::uint64_t serial_ = 0, cursor_ = 0;  // of what was matched last, and of the table's log
};

}  // namespace koord::scheduling::reservation
