// numa_masks: see numa_masks.hpp.
#include "scheduling/plugin/numa_masks.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace koord::scheduling {

namespace {

constexpr std::size_t kAllMasks = 8;  // so many memory nodes have 255

/// Fewer nodes first, then lower ones: {0,1}, {0,2}, {1,2}.
std::vector<std::uint64_t> make_masks(std::size_t nodes) {
  std::vector<std::uint64_t> masks;
  if (nodes <= kAllMasks) {
    for (std::uint64_t mask = 1; mask < std::uint64_t{1} << nodes; ++mask) masks.push_back(mask);
    std::ranges::sort(masks, [](std::uint64_t a, std::uint64_t b) {
      if (std::popcount(a) != std::popcount(b)) return std::popcount(a) < std::popcount(b);
      const std::uint64_t differ = a ^ b;
      return (a & (differ & -differ)) != 0;
    });
    return masks;
  }
  for (std::size_t i = 0; i < nodes; ++i) masks.push_back(std::uint64_t{1} << i);
  for (std::size_t i = 0; i < nodes; ++i)
    for (std::size_t j = i + 1; j < nodes; ++j)
      masks.push_back(std::uint64_t{1} << i | std::uint64_t{1} << j);
  masks.push_back(nodes == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << nodes) - 1);
  return masks;
}

}  // namespace

const std::vector<std::uint64_t>& numa_masks(std::size_t nodes) {
  static const auto kMasks = [] {
    std::array<std::vector<std::uint64_t>, 65> all;
    for (std::size_t n = 0; n < all.size(); ++n) all[n] = make_masks(n);
    return all;
  }();
  return kMasks.at(nodes);
}

}  // namespace koord::scheduling
