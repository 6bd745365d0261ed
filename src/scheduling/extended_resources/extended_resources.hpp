// ExtendedResources: which resources of pods are devices of a class, and what nodes have of these.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "koord/api/types/resource_v1/device_class.hpp"
#include "koord/base/symbol.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "koord/scheduling/scoring/resource_score.hpp"

namespace koord::scheduling {

/// With the gate DRAExtendedResource a pod need not name a claim to get devices: a resource that it asks for
/// may be backed by a DeviceClass, by the name that the class says (spec.extendedResourceName) or as
/// deviceclass.resource.kubernetes.io/CLASS. On nodes that list the resource it is the device plugin's all
/// the same. Of classes with one name the newest backs it, of those as old the first by name.
/// One for all profiles; belongs to the engine's thread.
class ExtendedResources {
 public:
  static constexpr std::string_view kGate = "DRAExtendedResource",
                                    kOfClass = "deviceclass.resource.kubernetes.io/";

  /// nullptr: the gate is off.
  static ExtendedResources* of(const PluginContext& context);
  /// Only where the gate is on, by SharedParts.
  explicit ExtendedResources(const PluginContext& context);

  /// The class that backs the resource; nullptr: none does.
  const api::DeviceClass* class_of(std::string_view resource) const;
  const api::DeviceClass* class_of(ResourceId resource) const {
    return class_of(nodes_.resources().name(resource));
  }
  /// Whether the resource is to be had on the row as devices: a class backs it, and the node lists none.
  bool is_devices(ResourceId resource, Row row) const {
    return nodes_.allocatable(resource, row) <= 0 && class_of(resource) != nullptr;
  }
  ObjectStore<api::DeviceClass>& classes() { return classes_; }
  /// Grows with each change of a class.
  std::uint64_t version() const { return classes_.generation(); }

  struct Devices {
    std::int64_t there = 0, taken = 0;
  };
  using Count = std::function<Devices(Row row, const api::DeviceClass& device_class)>;
  /// Who knows what nodes have of a class, and marks rows when that changes while counts().
  void count_by(Count count) { count_ = std::move(count); }
  /// A score follows from such counts. From now on.
  void want_counts() { counts_ = true; }
  bool counts() const { return counts_; }
  /// Of the class that backs the resource, on the row; nothing where the node lists it itself, or nobody
  /// counts.
  Devices devices(ResourceId resource, Row row) const;

 private:
  using Class = std::shared_ptr<const api::DeviceClass>;
  void changed();
  void read() const;

  NodeTable& nodes_;
  ObjectStore<api::DeviceClass>& classes_;
  Count count_;
  bool counts_ = false;
  mutable bool stale_ = true;
  mutable std::unordered_map<Symbol, Class> by_resource_;
};

/// With the gate on the scorer counts devices, where nodes do not list a resource.
void score_devices(ResourceScorer& scorer, const PluginContext& context);

}  // namespace koord::scheduling
