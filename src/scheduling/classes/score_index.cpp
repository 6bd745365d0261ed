// ScoreIndex: see score_index.hpp.
#include "koord/scheduling/classes/score_index.hpp"

#include <algorithm>
#include <utility>

namespace koord::scheduling {

void ScoreIndex::resize(std::size_t rows, std::int32_t value) {
  if (rows == rows_) return;
  const std::size_t blocks = (rows + kBlock - 1) / kBlock;
  scores_.resize(blocks * kBlock, INT32_MIN);
  std::fill(scores_.begin() + static_cast<std::ptrdiff_t>(std::min(rows_, rows)),
            scores_.begin() + static_cast<std::ptrdiff_t>(rows), value);
  best_.resize(blocks, INT32_MIN);
  ties_.resize(blocks, 0);
  rows_ = rows;
}

void ScoreIndex::clear(std::size_t rows, std::int32_t value) {
  rows_ = 0;
  scores_.clear();
  resize(rows, value);
}

void ScoreIndex::scan(std::size_t block) const {
  const std::int32_t* s = scores_.data() + block * kBlock;
  std::int32_t top = s[0];
  for (std::size_t i = 1; i < kBlock; ++i) top = std::max(top, s[i]);
  std::uint32_t ties = 0;
  for (std::size_t i = 0; i < kBlock; ++i) ties += s[i] == top;
  best_[block] = top;
  ties_[block] = static_cast<std::uint8_t>(ties);
}

void ScoreIndex::set(std::uint32_t row, std::int32_t score) {
  const std::int32_t old = std::exchange(scores_[row], score);
  const std::size_t block = row / kBlock;
  // Below the block's best before and after: nothing to look for.
  if (old != score && (old >= best_[block] || score >= best_[block])) ties_[block] = 0;
}

void ScoreIndex::rebuild() { std::fill(ties_.begin(), ties_.end(), 0); }

std::int32_t ScoreIndex::best() const {
  std::int32_t top = INT32_MIN;
  for (std::size_t b = 0; b < best_.size(); ++b) {
    if (ties_[b] == 0) scan(b);
    top = std::max(top, best_[b]);
  }
  return top;
}

std::uint32_t ScoreIndex::nth(std::int32_t best, std::uint32_t n) const {
  for (std::size_t b = 0; b < best_.size(); ++b) {
    if (best_[b] != best) continue;
    if (n >= ties_[b]) {
      n -= ties_[b];
      continue;
    }
    for (std::size_t row = b * kBlock;; ++row)
      if (scores_[row] == best && n-- == 0) return static_cast<std::uint32_t>(row);
  }
  return kNoRow;
}

}  // namespace koord::scheduling
