// The scores of PodTopologySpread in kube-scheduler's arithmetic: doubles, in its order of operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace koord::scheduling::pod_topology_spread {

/// ln(domains + 2): what a count is multiplied with, so that few domains weigh no less than many. To the last
/// bit as Go computes it on amd64, which is not always the double nearest to the logarithm.
double domain_weight(std::size_t domains);

/// What a constraint adds to the raw score of a node, if so many pods are in its domain: the fewer the
/// better.
inline double part(std::int64_t pods, std::int32_t max_skew, double weight) {
#pragma STDC FP_CONTRACT OFF
  // Less than the smallest number is the largest: only what no API server lets through comes that far.
  const auto tolerated = static_cast<std::int32_t>(static_cast<std::uint32_t>(max_skew) - 1);
  return static_cast<double>(pods) * weight + static_cast<double>(tolerated);
}

/// Sums of parts as raw scores: to the nearest number, halves away from zero.
void round_all(std::span<const double> sums, std::span<std::int64_t> out);

/// A raw score that stands for a node without a score: it gets 0.
constexpr std::int64_t kNotScored = -1;

/// Makes 0..100 of raw scores: 100 is the best of a node, which has the fewest pods.
void normalize(std::span<std::int64_t> scores);

}  // namespace koord::scheduling::pod_topology_spread
