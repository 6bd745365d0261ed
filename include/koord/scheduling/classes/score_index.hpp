// ScoreIndex: the scores of one pod class over all nodes, and the best of them with its ties.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace koord::scheduling {

/// Two levels: scores in blocks of 64 rows, and each block's best score. The best one costs a scan of the
/// blocks, and one (vectorised) of the rows of each block of which something has changed since: who never
/// asks for it pays for none. 4 bytes a row; scores fit 32 bits because the sum of the weights is bounded
/// when a profile is built.
class ScoreIndex {
 public:
  static constexpr std::uint32_t kNoRow = UINT32_MAX;

  /// New rows get `value`, which is negative.
  void resize(std::size_t rows, std::int32_t value);
  /// All rows get it; rebuild() follows.
  void clear(std::size_t rows, std::int32_t value);
  std::size_t size() const { return rows_; }
  std::size_t bytes() const { return scores_.capacity() * sizeof(std::int32_t) + best_.capacity() * 5; }
  void set(std::uint32_t row, std::int32_t score);
  std::int32_t score(std::uint32_t row) const { return scores_[row]; }

  /// For filling all rows at once: write into scores(), then call rebuild().
  std::span<const std::int32_t> scores() const { return {scores_.data(), rows_}; }
  std::span<std::int32_t> scores() { return {scores_.data(), rows_}; }
  void rebuild();

  /// The best score; negative: no row has one.
  std::int32_t best() const;
  /// The rows that have what best() has just said, and the n-th of them.
  std::uint32_t ties(std::int32_t best) const {
    std::uint32_t all = 0;
    for (std::size_t b = 0; b < best_.size(); ++b)
      if (best_[b] == best) all += ties_[b];
    return all;
  }
  std::uint32_t nth(std::int32_t best, std::uint32_t n) const;
  /// One of the rows with the best score, chosen by `random` among all of them alike; kNoRow if none.
  template <class Random>
  std::uint32_t pick(Random&& random) const {
    std::int32_t top = best();
    if (top < 0) return kNoRow;
    const std::uint32_t all = ties(top);
    return nth(top, all == 1 ? 0 : random(all));
  }

 private:
  static constexpr std::size_t kBlock = 64;
  void scan(std::size_t block) const;

  std::size_t rows_ = 0;
  std::vector<std::int32_t> scores_;        // a multiple of kBlock, padded with INT32_MIN
  mutable std::vector<std::int32_t> best_;  // of each block
  mutable std::vector<std::uint8_t> ties_;  // rows of the block that have its best score; 0: to be looked at
};

}  // namespace koord::scheduling
