// SliceIndex: see slice_index.hpp.
#include "scheduling/plugins/dynamic_resources/nodes/slice_index.hpp"

#include <algorithm>
#include <utility>

namespace koord::scheduling::dynamic_resources {

Symbol node_of(const Slice& slice) { return slice.spec().node_name.value_or(Symbol()); }

std::shared_ptr<const Slice> SliceIndex::find(std::string_view slice) const {
  const auto known = by_name_.find(std::string(slice));
  return known != by_name_.end() ? known->second : nullptr;
}

SlicePool* SliceIndex::find(const Symbol& driver, const Symbol& pool) {
  const auto known = pools_.find({driver, pool});
  return known != pools_.end() ? &known->second : nullptr;
}

SlicePool& SliceIndex::put(std::shared_ptr<const Slice> slice) {
  remove(slice->name());
  const Key key{slice->spec().driver, slice->spec().pool.name};
  SlicePool& pool = pools_[key];
  pool.driver = key.driver;
  pool.name = key.pool;
  const Symbol node = node_of(*slice);
  if (node.empty()) {
    if (pool.wide++ == 0) wide_.push_back(&pool);
  } else {
    std::vector<SlicePool*>& there = by_node_[node];
    if (std::ranges::find(there, &pool) == there.end()) there.push_back(&pool);
  }
  by_name_.emplace(slice->name(), slice);
  pool.slices.push_back(std::move(slice));
  return pool;
}

void SliceIndex::remove(std::string_view name) {
  const auto known = by_name_.find(std::string(name));
  if (known == by_name_.end()) return;
  const std::shared_ptr<const Slice> slice = std::move(known->second);
  by_name_.erase(known);
  const auto of = pools_.find({slice->spec().driver, slice->spec().pool.name});
  SlicePool& pool = of->second;
  std::erase(pool.slices, slice);
  const Symbol node = node_of(*slice);
  if (node.empty()) {
    if (--pool.wide == 0) std::erase(wide_, &pool);
  } else if (std::ranges::none_of(pool.slices, [&](const auto& other) { return node_of(*other) == node; })) {
    const auto there = by_node_.find(node);
    std::erase(there->second, &pool);
    if (there->second.empty()) by_node_.erase(there);
  }
  if (pool.slices.empty()) pools_.erase(of);
}

}  // namespace koord::scheduling::dynamic_resources
