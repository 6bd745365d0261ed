// How histograms of four buckets an octave are shown as metrics: every second octave, 1 us, 4 us, ... 1.05 s.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "koord/base/metrics.hpp"
#include "koord/host/fine_histogram.hpp"

namespace koord::koordlet {

inline constexpr std::size_t kOctaves = 11;
inline constexpr metrics::Bounds kOctaveBounds = metrics::exponential_bounds(1e-6, 4, kOctaves);

/// For Histogram::add_counts.
inline std::array<std::uint64_t, kOctaves + 1> by_octaves(const host::FineHistogram& fine) {
  std::array<std::uint64_t, kOctaves + 1> counts{};
  for (std::size_t i = 0; i < host::FineHistogram::kBuckets; ++i) {
    const std::size_t octave = (i + 3) / 4;
    counts[std::min((octave + 1) / 2, kOctaves)] += fine.counts[i];
  }
  return counts;
}

}  // namespace koord::koordlet
