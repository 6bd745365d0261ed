// Shares: see shares.hpp.
#include "scheduling/plugins/elastic_quota/shares.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace koord::scheduling::elastic_quota {

namespace {

__extension__ using UnsignedWide = unsigned __int128;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::int64_t saturated(Wide value) {
  return value > kMost ? kMost : value < -kMost ? -kMost : static_cast<std::int64_t>(value);
}

/// Divides by the same number again and again, 128 bits by 64: two multiplications in place of a division
/// (Möller and Granlund, "Improved division by invariant integers", algorithm 4).
class Divisor {
 public:
  struct Answer {
    std::uint64_t quotient, remainder;
  };

  explicit Divisor(std::uint64_t by)
      : shift_(std::countl_zero(by)),
        by_(by << shift_),
        inverse_(static_cast<std::uint64_t>(~UnsignedWide{0} / by_ - (UnsignedWide{1} << 64))) {}

  /// The quotient has to fit.
  Answer operator()(UnsignedWide value) const {
    value <<= shift_;
    const auto high = static_cast<std::uint64_t>(value >> 64), low = static_cast<std::uint64_t>(value);
    const UnsignedWide guess = static_cast<UnsignedWide>(inverse_) * high + value;
    std::uint64_t quotient = static_cast<std::uint64_t>(guess >> 64) + 1;
    std::uint64_t remainder = low - quotient * by_;
    if (remainder > static_cast<std::uint64_t>(guess)) {
      --quotient;
      remainder += by_;
    }
    if (remainder >= by_) {
      ++quotient;
      remainder -= by_;
    }
    return {quotient, remainder >> shift_};
  }

 private:
  int shift_;
  std::uint64_t by_;  // its highest bit is set
  std::uint64_t inverse_;
};

/// One that takes part in a round.
struct Rest {
  std::uint64_t remainder;
  std::uint32_t rank;
  std::uint32_t slot;
};

bool first(const Rest& a, const Rest& b) {
  return a.remainder != b.remainder ? a.remainder > b.remainder : a.rank < b.rank;
}

/// Kept from call to call, so that none allocates.
struct Scratch {
  std::vector<std::uint32_t> open;  // who asks for more than it has
  std::vector<Rest> rests;
};

/// Gives `total` to the open ones by weight, all of it. `weights` is the sum of theirs; both are positive.
void give(std::int64_t total, Wide weights, Shares& shares, Scratch& scratch,
          std::span<const std::uint32_t> rank) {
  scratch.rests.clear();
  // More than 64 bits only where weights are out of all proportion.
  const bool fits = weights <= std::numeric_limits<std::uint64_t>::max();
  const Divisor divisor(fits ? static_cast<std::uint64_t>(weights) : 1);
  std::int64_t given = 0;
  for (const std::uint32_t slot : scratch.open) {
    const std::int64_t weight = shares.weight[slot];
    if (weight <= 0) continue;
    const UnsignedWide product = static_cast<UnsignedWide>(weight) * static_cast<std::uint64_t>(total);
    std::uint64_t part, remainder;
    if (fits) {
      const auto answer = divisor(product);
      part = answer.quotient;
      remainder = answer.remainder;
    } else {
      const auto by = static_cast<UnsignedWide>(weights);
      part = static_cast<std::uint64_t>(std::min<UnsignedWide>(product / by, kMost));
      remainder = static_cast<std::uint64_t>(product % by);
    }
    const auto more = static_cast<std::int64_t>(part);
    shares.runtime[slot] = saturated(Wide{shares.runtime[slot]} + more);
    given = saturated(Wide{given} + more);
    scratch.rests.push_back({remainder, rank[slot], slot});
  }
  if (given >= total) return;
  auto left = static_cast<std::uint64_t>(total - given);
  if (left < scratch.rests.size())
    std::nth_element(scratch.rests.begin(), scratch.rests.begin() + static_cast<std::ptrdiff_t>(left),
                     scratch.rests.end(), first);
  for (const Rest& rest : scratch.rests) {
    if (left-- == 0) break;
    ++shares.runtime[rest.slot];
  }
}

}  // namespace

std::int64_t scaled_min(std::int64_t min, Wide sum, std::int64_t total) {
  if (total <= 0 || sum <= 0) return 0;
  return static_cast<std::int64_t>(static_cast<double>(total) * static_cast<double>(min) /
                                   static_cast<double>(sum));
}

void Shares::add() {
  for (auto* column : {&request, &guaranteed, &weight, &runtime, &min_}) column->push_back(0);
}

void Shares::remove(std::size_t slot) {
  set_min(slot, 0);
  for (auto* column : {&request, &guaranteed, &weight, &runtime, &min_}) {
    (*column)[slot] = column->back();
    column->pop_back();
  }
}

void Shares::set_min(std::size_t slot, std::int64_t min) {
  sum_of_mins_ += Wide{min} - min_[slot];
  min_[slot] = min;
}

void Shares::divide(std::int64_t total, bool scale, std::span<const std::uint8_t> lends,
                    std::span<const std::uint32_t> rank) {
  static thread_local Scratch scratch;
  scratch.open.clear();
  const bool scarce = scale && sum_of_mins_ > total;
  Wide left = total, weights = 0;
  for (std::uint32_t slot = 0; slot < size(); ++slot) {
    const std::int64_t min = scarce ? scaled_min(min_[slot], sum_of_mins_, total) : min_[slot];
    const std::int64_t sure = std::max(min, guaranteed[slot]);
    if (request[slot] > sure) {
      scratch.open.push_back(slot);
      weights += std::max<std::int64_t>(weight[slot], 0);
      runtime[slot] = sure;
    } else {
      runtime[slot] = lends[slot] != 0 ? request[slot] : sure;
    }
    left -= runtime[slot];
  }
  while (left > 0 && weights > 0 && !scratch.open.empty()) {
    give(saturated(left), weights, *this, scratch, rank);
    left = 0;
    weights = 0;
    std::size_t kept = 0;
    for (const std::uint32_t slot : scratch.open) {
      if (runtime[slot] < request[slot]) {
        scratch.open[kept++] = slot;
        weights += std::max<std::int64_t>(weight[slot], 0);
      } else {
        left += Wide{runtime[slot]} - request[slot];
        runtime[slot] = request[slot];
      }
    }
    scratch.open.resize(kept);
  }
}

}  // namespace koord::scheduling::elastic_quota
