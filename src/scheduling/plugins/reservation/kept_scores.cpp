// KeptScores: see kept_scores.hpp.
#include "scheduling/plugins/reservation/kept_scores.hpp"

#include <algorithm>
#include <utility>

namespace koord::scheduling::reservation {

KeptScores::Seen KeptScores::seen(const Matched& found, std::size_t at, const NodeTable& nodes) {
  return {nodes.changes(found.rows[at]), version_of(found.on(at))};
}

void KeptScores::move_to(const Matched& found, const NodeTable& nodes) {
  // A row out of order costs as much as several in order.
  const bool few = cursor_ >= nodes.log_begin() && nodes.log_end() - cursor_ <= found.rows.size() / 4 + 16;
  if (serial_ == 0 || serial_ != found.serial || !few) {
    take_over(found, nodes,
              [&](std::size_t old, std::size_t at) { return seen_[old] == seen(found, at, nodes); });
  } else {
    bool others = false;
    for (std::uint64_t n = cursor_; n < nodes.log_end(); ++n)
      if (nodes.latest(n)) others = look_again(found, nodes, nodes.change(n)) || others;
    if (others) take_over(found, nodes, [](std::size_t, std::size_t) { return true; });
  }
  serial_ = found.serial;
  cursor_ = nodes.log_end();
}

/// True: the row is matched and was not, or the other way round.
bool KeptScores::look_again(const Matched& found, const NodeTable& nodes, Row row) {
  const auto old = std::ranges::lower_bound(rows_, row);
  const auto now = std::ranges::lower_bound(found.rows, row);
  const bool was = old != rows_.end() && *old == row, is = now != found.rows.end() && *now == row;
  if (was && is)
    read(static_cast<std::size_t>(old - rows_.begin()), found,
         static_cast<std::size_t>(now - found.rows.begin()), nodes);
  return was != is;
}

/// The row at that place as it is now.
void KeptScores::read(std::size_t place, const Matched& found, std::size_t at, const NodeTable& nodes) {
  seen_[place] = seen(found, at, nodes);
  scores_[place] = kUnknown;
  orders_[place] = found.on(at).front()->facts->order;
}

/// From now on the rows are those that are found; what is known of one stays where is_same(its place here,
/// its place there).
template <class IsSame>
void KeptScores::take_over(const Matched& found, const NodeTable& nodes, IsSame&& is_same) {
  KeptScores now;
  now.rows_ = found.rows;
  now.seen_.resize(found.rows.size());
  now.scores_.resize(found.rows.size());
  now.orders_.resize(found.rows.size());
  std::size_t old = 0;
  for (std::size_t at = 0; at < found.rows.size(); ++at) {
    while (old < rows_.size() && rows_[old] < found.rows[at]) ++old;
    if (old == rows_.size() || rows_[old] != found.rows[at] || !is_same(old, at)) {
      now.read(at, found, at, nodes);
      continue;
    }
    now.seen_[at] = seen_[old];
    now.scores_[at] = scores_[old];
    now.orders_[at] = orders_[old];
  }
  *this = std::move(now);
}

}  // namespace koord::scheduling::reservation
