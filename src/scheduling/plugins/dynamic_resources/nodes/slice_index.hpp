// SliceIndex: the slices of the cluster by pool, and which pools a node has to look at.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "scheduling/plugins/dynamic_resources/pools/slice.hpp"

namespace koord::scheduling::dynamic_resources {

/// All slices of a driver's pool.
struct SlicePool {
  Symbol driver, name;
  std::vector<std::shared_ptr<const Slice>> slices;
  std::size_t wide = 0;  // of these, those that name no node
  /// By row: the pool, which is wide, has been found there.
  std::vector<bool> reached;
};

/// A pool whose slices all name nodes concerns these nodes alone; any other one every node. One thread.
class SliceIndex {
 public:
  /// In place of one of that name; the pool that it is in now, which lives until its last slice goes.
  SlicePool& put(std::shared_ptr<const Slice> slice);
  /// nullptr: there is none of that name.
  std::shared_ptr<const Slice> find(std::string_view slice) const;
  void remove(std::string_view slice);
  /// nullptr: no slice is of it.
  SlicePool* find(const Symbol& driver, const Symbol& pool);
  /// Those that a node of that name may reach: its own, then the wide ones; each once.
  template <class Visit>
  void of_node(const Symbol& node, Visit&& visit) const {
    if (const auto own = by_node_.find(node); own != by_node_.end())
      for (const SlicePool* pool : own->second)
        if (pool->wide == 0) visit(*pool);
    for (const SlicePool* pool : wide_) visit(*pool);
  }

 private:
  struct Key {
    Symbol driver, pool;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept { return key.driver.hash() * 31 + key.pool.hash(); }
  };

  std::unordered_map<std::string, std::shared_ptr<const Slice>> by_name_;
  std::unordered_map<Key, SlicePool, Hash> pools_;
  std::unordered_map<Symbol, std::vector<SlicePool*>> by_node_;
  std::vector<SlicePool*> wide_;
};

/// The node that all devices of the slice are at; the empty one: it names none.
Symbol node_of(const Slice& slice);

}  // namespace koord::scheduling::dynamic_resources
