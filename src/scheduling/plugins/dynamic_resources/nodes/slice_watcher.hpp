// SliceWatcher: who wants to know of the slices of each node.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "scheduling/plugins/dynamic_resources/pools/slice.hpp"

namespace koord::scheduling::dynamic_resources {

class SliceWatcher {
 public:
  virtual ~SliceWatcher() = default;
  /// A slice that names the node comes, goes or changes: numbers of its devices are good for the last time.
  virtual void before_change(const std::string& node) = 0;
  /// All slices that name the node, as they are now.
  virtual void after_change(const std::string& node,
                            std::span<const std::shared_ptr<const Slice>> slices) = 0;
};

}  // namespace koord::scheduling::dynamic_resources
