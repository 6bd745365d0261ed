// DeviceDemand: what a pod asks for of devices, read off it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/api/rules/selector.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/plugins/device_share/request/amounts.hpp"
#include "scheduling/plugins/device_share/request/given.hpp"

namespace koord::api {
struct GpuShareTemplates;
}

namespace koord::scheduling::device_share {

/// Of a hint: how the number of devices follows from the amount that is asked for.
enum class Strategy : std::uint8_t { none, apply_for_all, requests_as_count };
/// How near the GPUs must be to one another. `device` is nearer than any two can be: no node has it.
enum class Scope : std::uint8_t { none, node, numa_node, pcie, device };

/// What a pod asks for of the devices of one type.
struct TypeDemand {
  bool wanted = false;
  Amounts asked;       // in all
  Amounts per_device;  // of each that it gets
  int count = 1;       // so many; of apply_for_all the node says how many
  Strategy strategy = Strategy::none;
  std::optional<api::Selector> selector;  // of devices; absent: all
  /// Set: of each device it gets a virtual function, of a group that this selects.
  std::optional<api::Selector> vf_selector;
};

/// What a pod asks for of GPUs besides amounts.
struct GpuDemand {
  bool shared = false;                     // less than whole ones
  bool by_partition = false;               // of the node's partitions alone, whatever the node says
  bool best_partition = false;             // of those with the highest score alone
  std::optional<api::Quantity> bandwidth;  // of a partition's ring, at least
  bool scoped = false;                     // a scope is written, known or not
  Scope scope = Scope::none;               // none also for one that nobody knows
  std::string isolation_provider;          // of pods that share; empty: any
  /// Shared in fixed parts only: the names of the parts that are what is asked for, by
  /// api::gpu_model_key().
  bool by_template = false;
  std::vector<std::pair<std::string, std::vector<std::string>>> templates;
};

/// All that the plugin reads of a pod. Immutable once read; shared by the pods of a class.
struct DeviceDemand {
  std::array<TypeDemand, kDeviceTypes> types;
  GpuDemand gpu;  // of pods that want GPUs

  /// These come from the same places of the machine, the first is chosen first. Without apply_for_all's and
  /// those that are not wanted.
  std::vector<DeviceType> joint;
  bool same_pcie = false;  // and must: on each PCIe switch one of each, and on no other
  /// What comes after the first of `joint` is not looked for before Reserve on nodes that are planned so.
  bool secondary_can_wait = false;

  /// Set: this, and nothing else (a hint that is replayed).
  std::optional<Given> designated;

  /// Set: no node will do, and this is why, in Koordinator's words.
  std::string rejected;
  StatusCode code = StatusCode::unresolvable;

  const TypeDemand& of(DeviceType type) const { return types[index(type)]; }
  /// It asks for no device.
  bool none() const;
  bool is_rejected() const { return !rejected.empty(); }
  bool has_selectors() const;
};

/// What the configuration says to it.
struct DemandRules {
  /// nullptr: none are known.
  const api::GpuShareTemplates* templates = nullptr;
  /// Who shares a GPU and asks for one of these gets a template's part (huawei.com/npu-core).
  std::span<const std::string> template_resources = {};
};

/// Names and amounts that a pod asks for in all, with its overhead; none is 0.
using DeviceRequests = std::vector<std::pair<std::string_view, std::int64_t>>;

/// The combination of resources is one of Koordinator's table, or the pod is rejected: "invalid resource
/// device requests: [...]", "invalid resource unit NAME: AMOUNT". `designated` is not read.
DeviceDemand read_demand(const DeviceRequests& requests, const api::SymbolMap& labels,
                         const api::SymbolMap& annotations, const DemandRules& rules);
/// The same of a pod, and `designated` where its hint wants it.
DeviceDemand read_demand(const PodInfo& pod, const ResourceNames& names, const DemandRules& rules);
/// Which of the templates that there are now are what a demand by template asks for.
void match_templates(DeviceDemand& demand, const DemandRules& rules);
/// Of which types it asks for devices, whatever else makes sense of it.
std::array<bool, kDeviceTypes> asked_types(const PodInfo& pod, const ResourceNames& names);
/// Which of the resources by which it asks for devices are not Koordinator's own (nvidia.com/gpu).
std::vector<ResourceId> vendor_resources(const PodInfo& pod, const ResourceNames& names);
/// A pod that does not ask for these.
PodInfo without(const PodInfo& pod, const std::vector<ResourceId>& resources);
/// What read_demand() follows from. Nothing but a number for pods without devices.
void sign_demand(const PodInfo& pod, const ResourceNames& names, Signature& signature);

}  // namespace koord::scheduling::device_share
