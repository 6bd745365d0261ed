// Shares: how what a quota has of one resource is divided among the quotas below it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace koord::scheduling::elastic_quota {

__extension__ using Wide = __int128;

/// Of a quota's min what is left of it where all mins together are more than there is: its part of `total`,
/// as its min is of the sum. Koordinator's formula, in double precision and rounded towards zero.
std::int64_t scaled_min(std::int64_t min, Wide sum, std::int64_t total);

/// What the quotas below one parent say of one resource, by slot. Amounts are in the resource's unit, cpu in
/// milli; mins are 0 or more, nothing else is trusted to be.
class Shares {
 public:
  std::vector<std::int64_t> request;     // at most the quota's max
  std::vector<std::int64_t> guaranteed;  // never less than that; 0: nothing
  std::vector<std::int64_t> weight;      // of what nobody is sure of; 0 and less: none of it
  std::vector<std::int64_t> runtime;     // what divide() has come to

  std::size_t size() const { return min_.size(); }
  /// All zero, at the end.
  void add();
  /// The last slot takes its place.
  void remove(std::size_t slot);

  std::int64_t min(std::size_t slot) const { return min_[slot]; }
  void set_min(std::size_t slot, std::int64_t min);
  /// Of all slots.
  Wide sum_of_mins() const { return sum_of_mins_; }
  /// The min that counts where there is `total`.
  std::int64_t scaled(std::size_t slot, std::int64_t total) const {
    return sum_of_mins_ > total ? scaled_min(min_[slot], sum_of_mins_, total) : min_[slot];
  }

  /// Fills `runtime`: who asks for no more than it is sure of (its min or what it is guaranteed) gets what it
  /// asks for, or all that it is sure of where it does not lend. What is left goes to the others by weight,
  /// by largest remainder, up to what they ask for; of equal remainders the lower rank is first. `scale`:
  /// mins count as scaled(). `lends` and `rank` are by slot; no two ranks are equal. Koordinator's
  /// runtime_quota_calculator.go, to the last digit. O(slots) for each round; a round ends with a quota that
  /// has got all that it asked for, so that few are the rule.
  void divide(std::int64_t total, bool scale, std::span<const std::uint8_t> lends,
              std::span<const std::uint32_t> rank);

 private:
  std::vector<std::int64_t> min_;
  Wide sum_of_mins_ = 0;
};

}  // namespace koord::scheduling::elastic_quota
