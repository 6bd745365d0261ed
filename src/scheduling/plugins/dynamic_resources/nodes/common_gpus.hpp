// CommonGpus: what claims have of GPUs that DeviceShare gives out, too, and what DeviceShare has given of
// them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "scheduling/common_devices/common_devices.hpp"
#include "scheduling/plugins/dynamic_resources/nodes/device_names.hpp"
#include "scheduling/plugins/dynamic_resources/nodes/slice_watcher.hpp"
#include "scheduling/plugins/dynamic_resources/pools/slice.hpp"

namespace koord::scheduling::dynamic_resources {

/// The claims' side of CommonDevices. A device that is, or is a part of, a GPU of which DeviceShare has given
/// something counts as taken. One for all profiles; belongs to the engine's thread.
class CommonGpus final : public SliceWatcher, private CommonDevices::Side {
 public:
  /// No claim gets the device from now on, or it can be had again.
  using Withhold = std::function<void(DeviceNumber device, bool withheld)>;

  /// `common` outlives it.
  CommonGpus(CommonDevices& common, NamingAttributes attributes, Withhold withhold);

  const NamingAttributes& attributes() const { return attributes_; }

  // SliceWatcher
  void before_change(const std::string& node) override;
  void after_change(const std::string& node, std::span<const std::shared_ptr<const Slice>> slices) override;

  void given(DeviceNumber device, const DeviceId& id, const api::AllocationResult& allocation);
  void given_back(DeviceNumber device) { common_.release(device); }

 private:
  void others_changed(std::string_view node) override;

  CommonDevices& common_;
  const NamingAttributes attributes_;
  const Withhold withhold_;
  struct OfNode {
    std::vector<DeviceNumber> offered;
    std::vector<DeviceNumber> withheld;  // of these
  };
  std::unordered_map<std::string, OfNode> nodes_;  // that have slices
};

}  // namespace koord::scheduling::dynamic_resources
