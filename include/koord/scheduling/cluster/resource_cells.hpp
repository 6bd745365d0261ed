// ResourceCells: what each node has of each resource, and what its pods take of it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "koord/scheduling/cluster/resources.hpp"

namespace koord::scheduling {

using Row = std::uint32_t;
constexpr Row kNoRow = UINT32_MAX;

/// A resource that many of the nodes have is two columns of integers. The names come from pods and are not to
/// be trusted: what few nodes have, or none, takes memory only where it occurs. The sums are exact, however
/// large they grow, and are read saturated. Belongs to the engine's thread.
class ResourceCells {
 public:
  ResourceCells();
  /// Now there are so many rows; never fewer than before.
  void resize(std::size_t rows);
  /// From now on it has columns, whoever has it: for what a configuration names.
  void keep(ResourceId resource);

  /// Negative amounts count as none.
  void set_allocatable(ResourceId resource, Row row, std::int64_t amount);
  void add_used(ResourceId resource, Row row, std::int64_t amount, bool take_back);

  std::int64_t allocatable(ResourceId resource, Row row) const { return cell(resource, row).allocatable; }
  std::int64_t used(ResourceId resource, Row row) const { return cell(resource, row).used; }
  /// The rows that have any of it.
  std::uint32_t holders(ResourceId resource) const {
    return resource < columns_.size() ? columns_[resource].holders : 0;
  }
  /// One entry a row; nullptr: it has no columns.
  const std::int64_t* allocatable_column(ResourceId resource) const {
    return has_columns(resource) ? columns_[resource].allocatable.data() : nullptr;
  }
  const std::int64_t* used_column(ResourceId resource) const {
    return has_columns(resource) ? columns_[resource].used.data() : nullptr;
  }
  /// Sets the entries of those that a node has, that a pod on a node takes, or that have columns.
  void mark_used(std::vector<bool>& used) const;
  /// Numbers for columns, and single ones beside them, for tests of what names may cost.
  std::size_t stored() const { return 2 * dense_.size() * rows_ + 2 * rare_.size(); }

 private:
  struct Column {
    std::vector<std::int64_t> allocatable, used;
    std::uint32_t holders = 0;
    bool dense = false, kept = false;
  };
  struct Cell {
    std::int64_t allocatable = 0, used = 0;
  };
  using Key = std::uint64_t;
  static Key key(ResourceId resource, Row row) { return Key{resource} << 32 | row; }

  bool has_columns(ResourceId resource) const {
    return resource < columns_.size() && columns_[resource].dense;
  }
  Cell cell(ResourceId resource, Row row) const {
    if (has_columns(resource)) return {columns_[resource].allocatable[row], columns_[resource].used[row]};
    const auto it = rare_.find(key(resource, row));
    return it == rare_.end() ? Cell{} : it->second;
  }
  Column& column(ResourceId resource);
  void spread(ResourceId resource);
  void gather(ResourceId resource);
  void add(std::int64_t& sum, Key key, std::int64_t amount, bool take_back);

  std::size_t rows_ = 0;
  std::vector<Column> columns_;    // by resource
  std::vector<ResourceId> dense_;  // those that have columns
  std::unordered_map<Key, Cell> rare_;
  __extension__ using Exact = __int128;
  std::unordered_map<Key, Exact> beyond_;  // the sums that do not fit 64 bits
};

}  // namespace koord::scheduling
