// Slice: a ResourceSlice, read once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/rules/node_selector.hpp"
#include "koord/api/types/resource_v1/resource_slice.hpp"
#include "koord/base/result.hpp"
#include "scheduling/plugins/dynamic_resources/pools/device_numbers.hpp"

namespace koord::scheduling::dynamic_resources {

/// The node for which devices are looked for. What it refers to outlives the call.
struct Node {
  std::string_view name;
  const api::SymbolMap& labels;
};

/// One version of a slice. Immutable; a change is another Slice.
class Slice {
 public:
  /// Holds numbers for its devices; `numbers` outlives it. `numa_attributes`: those that say on which memory
  /// node a device is; one without a domain is the driver's own.
  Slice(std::shared_ptr<const api::ResourceSlice> object, DeviceNumbers& numbers,
        std::span<const std::string> numa_attributes = {});
  Slice(const Slice&) = delete;
  Slice& operator=(const Slice&) = delete;
  ~Slice();

  const api::ResourceSlice& object() const { return *object_; }
  const api::ResourceSliceSpec& spec() const { return object_->spec; }
  std::string_view name() const { return object_->metadata.name; }
  const api::SliceDevice& device(std::size_t index) const { return spec().devices[index]; }
  DeviceNumber number(std::size_t index) const { return held_[index]; }
  DeviceId id(std::size_t index) const { return {spec().driver, spec().pool.name, device(index).name}; }
  /// No other slice, and no other version of this one, has the same.
  std::uint64_t serial() const { return serial_; }
  bool per_device() const { return spec().per_device_node_selection.value_or(false); }
  /// Whether a device has conditions that must be met before its pod is bound.
  bool has_binding_conditions() const { return has_binding_conditions_; }

  /// The memory node of the device, from 0 to 63; -1: it is on none that is known.
  int numa_node(std::size_t index) const { return numa_nodes_.empty() ? -1 : numa_nodes_[index]; }
  /// Of one of its devices it is known.
  bool knows_numa() const { return !numa_nodes_.empty(); }

  /// Whether the slice, by its own selection of nodes, is for the node. Of one whose devices say that each:
  /// whether one of them is. Nothing: it says nothing that this version knows. The error (Code::invalid): a
  /// node selector that cannot be read.
  Result<std::optional<bool>> is_for(const Node& node) const;
  /// The same of a device of a slice with per_device().
  Result<bool> device_is_for(std::size_t index, const Node& node) const;

 private:
  /// A node selector, read at once.
  struct Selector {
    explicit Selector(const api::NodeSelector& selector);
    std::optional<api::CompiledNodeSelector> compiled;
    std::string error;  // empty if there is none
  };

  std::shared_ptr<const api::ResourceSlice> object_;
  DeviceNumbers& numbers_;
  std::vector<DeviceNumber> held_;
  std::uint64_t serial_;
  bool has_binding_conditions_ = false;
  std::vector<std::int8_t> numa_nodes_;  // by device; empty: of none
  std::optional<Selector> nodes_;
  std::vector<std::optional<Selector>> device_nodes_;  // empty unless per_device()
};

}  // namespace koord::scheduling::dynamic_resources
