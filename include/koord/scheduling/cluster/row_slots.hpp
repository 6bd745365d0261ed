// RowSlots: what a plugin keeps with each row, beside the table.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "koord/scheduling/cluster/node_table.hpp"

namespace koord::scheduling {

/// A T{} for each row until it is written, and again once the row has been given up: the next node there, or
/// pod, is somebody else's. What follows from it is looked at again when the plugin marks the row.
template <class T>
class RowSlots {
 public:
  explicit RowSlots(const NodeTable& nodes) : nodes_(nodes) {}

  T& operator[](Row row) {
    if (row >= slots_.size()) slots_.resize(nodes_.rows());
    Kept& kept = slots_[row];
    if (const std::uint32_t now = nodes_.generation(row); kept.generation != now) kept = {T{}, now};
    return kept.value;
  }
  /// nullptr: nothing was written.
  const T* find(Row row) const {
    return row < slots_.size() && slots_[row].generation == nodes_.generation(row) ? &slots_[row].value
                                                                                   : nullptr;
  }
  std::size_t bytes() const { return slots_.capacity() * sizeof(Kept); }

 private:
  struct Kept {
    T value{};
    std::uint32_t generation = 0;
  };
  const NodeTable& nodes_;
  std::vector<Kept> slots_;
};

}  // namespace koord::scheduling
