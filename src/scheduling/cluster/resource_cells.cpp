// ResourceCells: see resource_cells.hpp.
#include "koord/scheduling/cluster/resource_cells.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace koord::scheduling {

namespace {

// A resource gets columns when one row in so many has it, and loses them when it is fewer than that. What is
// between stays as it is, so that a node more or less does not turn it over and over.
constexpr std::size_t kMany = 16, kFew = 64;

}  // namespace

ResourceCells::ResourceCells() {
  for (ResourceId fixed = 0; fixed < kFirstScalar; ++fixed) keep(fixed);
}

void ResourceCells::resize(std::size_t rows) {
  // Looked at only now and then: what was much among few nodes may be little among many.
  const bool grown = (rows & (rows - 1)) == 0;
  rows_ = rows;
  if (grown)
    for (const ResourceId resource : std::vector<ResourceId>(dense_))
      if (!columns_[resource].kept && columns_[resource].holders * kFew < rows_) gather(resource);
  for (const ResourceId resource : dense_) {
    columns_[resource].allocatable.resize(rows, 0);
    columns_[resource].used.resize(rows, 0);
  }
}

void ResourceCells::keep(ResourceId resource) {
  column(resource).kept = true;
  if (!columns_[resource].dense) spread(resource);
}

ResourceCells::Column& ResourceCells::column(ResourceId resource) {
  if (columns_.size() <= resource) columns_.resize(resource + std::size_t{1});
  return columns_[resource];
}

/// From the rows that have it to columns.
void ResourceCells::spread(ResourceId resource) {
  Column& c = columns_[resource];
  c.dense = true;
  dense_.push_back(resource);
  c.allocatable.assign(rows_, 0);
  c.used.assign(rows_, 0);
  if (rare_.empty()) return;
  for (Row row = 0; row < rows_; ++row) {
    const auto it = rare_.find(key(resource, row));
    if (it == rare_.end()) continue;
    c.allocatable[row] = it->second.allocatable;
    c.used[row] = it->second.used;
    rare_.erase(it);
  }
}

/// And back.
void ResourceCells::gather(ResourceId resource) {
  Column& c = columns_[resource];
  c.dense = false;
  std::erase(dense_, resource);
  for (Row row = 0; row < c.used.size(); ++row)
    if (c.allocatable[row] != 0 || c.used[row] != 0)
      rare_[key(resource, row)] = {c.allocatable[row], c.used[row]};
  c.allocatable = {};
  c.used = {};
}

void ResourceCells::set_allocatable(ResourceId resource, Row row, std::int64_t amount) {
  amount = std::max<std::int64_t>(amount, 0);
  Column& c = column(resource);
  std::int64_t before = 0;
  if (c.dense) {
    before = std::exchange(c.allocatable[row], amount);
  } else {
    const auto it = rare_.try_emplace(key(resource, row)).first;
    before = std::exchange(it->second.allocatable, amount);
    if (amount == 0 && it->second.used == 0) rare_.erase(it);
  }
  c.holders += (amount != 0);
  c.holders -= (before != 0);
  if (!c.dense && c.holders * kMany >= rows_ && c.holders > 0) spread(resource);
  if (c.dense && !c.kept && c.holders * kFew < rows_) gather(resource);
}

void ResourceCells::mark_used(std::vector<bool>& used) const {
  for (const ResourceId resource : dense_) used[resource] = true;
  for (const auto& [at, cell] : rare_) used[at >> 32] = true;
}

void ResourceCells::add_used(ResourceId resource, Row row, std::int64_t amount, bool take_back) {
  if (amount == 0) return;
  const Key at = key(resource, row);
  if (has_columns(resource)) return add(columns_[resource].used[row], at, amount, take_back);
  const auto it = rare_.try_emplace(at).first;
  add(it->second.used, at, amount, take_back);
  if (it->second.used == 0 && it->second.allocatable == 0) rare_.erase(it);
}

void ResourceCells::add(std::int64_t& sum, Key at, std::int64_t amount, bool take_back) {
  std::int64_t fits;
  const bool over =
      take_back ? __builtin_sub_overflow(sum, amount, &fits) : __builtin_add_overflow(sum, amount, &fits);
  if (!over && beyond_.empty()) {
    sum = fits;
    return;
  }
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min(),
                         kMax = std::numeric_limits<std::int64_t>::max();
  const auto it = beyond_.find(at);
  Exact exact = it == beyond_.end() ? Exact{sum} : it->second;
  exact += take_back ? -Exact{amount} : Exact{amount};
  sum = static_cast<std::int64_t>(std::clamp(exact, Exact{kMin}, Exact{kMax}));
  if (exact != Exact{sum}) {
    beyond_[at] = exact;
  } else if (it != beyond_.end()) {
    beyond_.erase(it);
  }
}

}  // namespace koord::scheduling
