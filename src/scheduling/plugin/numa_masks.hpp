// The masks of memory nodes that providers of hints look at, in the order in which NumaHintList has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace koord::scheduling {

/// Of so many memory nodes, at most 64: bit i is the i-th. Of eight and fewer all masks; of more those of
/// one, of two, and of all. They live forever. For any thread.
const std::vector<std::uint64_t>& numa_masks(std::size_t nodes);

}  // namespace koord::scheduling
