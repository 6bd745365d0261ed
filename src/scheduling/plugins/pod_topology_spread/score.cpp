// The scores of PodTopologySpread: see score.hpp.
#include "scheduling/plugins/pod_topology_spread/score.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <vector>

// A product and a sum are two roundings, also where the processor could do with one.
#pragma STDC FP_CONTRACT OFF

namespace koord::scheduling::pod_topology_spread {

namespace {

/// FreeBSD's logarithm, which is Go's: x = 2^k (1 + f), and ln(1 + f) by a polynomial in s = f / (2 + f).
/// Of positive numbers.
double ln(double x) {
  constexpr double kHigh = 6.93147180369123816490e-01, kLow = 1.90821492927058770002e-10;  // of ln(2)
  constexpr double kEven[] = {3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01};
  constexpr double kOdd[] = {6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01,
                             1.479819860511658591e-01};
  int exponent;
  double f = std::frexp(x, &exponent);
  if (f < std::numbers::sqrt2 / 2) {
    f *= 2;
    --exponent;
  }
  f -= 1;
  const double k = exponent;
  const double s = f / (2 + f), s2 = s * s, s4 = s2 * s2;
  const double odd = s2 * (kOdd[0] + s4 * (kOdd[1] + s4 * (kOdd[2] + s4 * kOdd[3])));
  const double even = s4 * (kEven[0] + s4 * (kEven[1] + s4 * kEven[2]));
  const double rest = odd + even, half = 0.5 * f * f;
  return k * kHigh - ((half - (s * (half + rest) + k * kLow)) - f);
}

}  // namespace

double domain_weight(std::size_t domains) { return ln(static_cast<double>(domains + 2)); }

void round_all(std::span<const double> sums, std::span<std::int64_t> out) {
  // Of what fits into 32 bits the compiler makes vector instructions.
  constexpr double kFits = std::numeric_limits<std::int32_t>::max();
  std::int64_t fit = 0;
  for (const double sum : sums) fit += sum >= 0 && sum < kFits ? 1 : 0;
  if (fit == std::ssize(sums)) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto whole = static_cast<std::int32_t>(sums[i]);
      out[i] = whole + (sums[i] - static_cast<double>(whole) >= 0.5 ? 1 : 0);
    }
  } else {
    for (std::size_t i = 0; i < sums.size(); ++i) out[i] = std::llround(sums[i]);
  }
}

void normalize(std::span<std::int64_t> scores) {
  constexpr std::int64_t kBest = 100;
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
  bool all = true;
  for (const std::int64_t score : scores) {
    const bool scored = score != kNotScored;
    all = all && scored;
    least = std::min(least, scored ? score : least);
    most = std::max(most, score);
  }
  if (most == 0) {
    for (std::int64_t& score : scores) score = score == kNotScored ? 0 : kBest;
    return;
  }
  const auto normal = [&](std::int64_t score) { return kBest * (most + least - score) / most; };
  // Scores repeat: they follow from few small numbers. A division costs more than a look at a table.
  const auto range = static_cast<std::uint64_t>(most - least);
  if (range < scores.size() / 2) {
    std::vector<std::int64_t> table(range + 1);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = normal(least + static_cast<std::int64_t>(i));
    if (all) {
      for (std::int64_t& score : scores) score = table[static_cast<std::size_t>(score - least)];
    } else {
      for (std::int64_t& score : scores)
        score = score == kNotScored ? 0 : table[static_cast<std::size_t>(score - least)];
    }
    return;
  }
  for (std::int64_t& score : scores) score = score == kNotScored ? 0 : normal(score);
}

}  // namespace koord::scheduling::pod_topology_spread
