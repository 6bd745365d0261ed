// Hook: what a pod or container is guaranteed, as a pure function of what is known of it. How its answer gets
// to the kernel is a transport's: the reconciler's here; another may hand it to the container runtime, which
// asks before it makes the container.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "framework/hooks/hook_terms.hpp"
#include "framework/hooks/runtime_request.hpp"
#include "framework/model/inventory.hpp"
#include "framework/model/shared_pools.hpp"
#include "framework/plan/strategy.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/metrics.hpp"

namespace koord::koordlet {

struct NodeDevices;  // framework/devices/node_devices.hpp

/// What a hook's values are about. Those of the machine are in force before any other is written.
enum class HookLevel : std::uint8_t {
  machine,
  qos_folder,
  best_effort_root,  // one that is no folder of the kubelet's: without Kubernetes
  pod,
  sandbox,
  container,
  host_application
};

struct HookTarget {
  HookLevel level{};
  std::string_view group;                    // empty for the machine
  const PodInfo* pod = nullptr;              // of pods, sandboxes and containers
  const ContainerInfo* container = nullptr;  // of containers
  const HostApplication* application = nullptr;
  host::KubeQos folder{};  // of qos_folder
  /// What the runtime is about to do; null: nothing of it is known, the group is there already.
  const RuntimeRequest* request = nullptr;
};

/// What hooks may look at beside their target. Valid during the call.
struct HookFacts {
  const Inventory& inventory;  // its NodeSLO may be null
  const FeatureGates& gates;
  host::CgroupVersion cgroup_version{};
  const host::Topology* topology = nullptr;  // null, both: the machine's CPUs are not known yet
  const SharedPools* pools = nullptr;
  const NodeDevices* devices = nullptr;  // null: they were not looked at yet, or nobody looks
  /// Whether this kernel has the knob for groups, or has this setting of the machine.
  std::function<bool(host::Knob knob)> has;
  std::function<std::optional<std::int64_t>(host::Knob knob, std::string_view name)> setting;
  std::function<bool(std::string_view flag)> is_set;
};

struct HookValue {
  host::Knob knob{};
  KnobValue value;
  std::string_view reason;  // static text, for the audit and `koord top`
  /// What sets the group free, where that is not what was found there.
  std::optional<KnobValue> undo = {};
  LevelRange reach = {};
  /// Only where the file has had a limit before koord came: the kubelet may be told to set no quotas.
  bool where_limited = false;
  std::string_view name = {};  // of a setting of the machine
};

/// What a target shall have. All but the knobs can be given to a container only when it is made: a transport
/// that comes afterwards leaves them alone. Each wins over what the runtime has of the same name or path.
struct HookAnswer {
  std::vector<HookValue> knobs;
  std::vector<RuntimePair> env, annotations;
  std::vector<RuntimeDevice> devices;
  std::vector<RuntimeMount> mounts;
  std::vector<std::string> cdi_devices;  // whole names; only where the request says that they are taken
  /// What the pod asked for in vain, and why: for the log and an event of the pod.
  std::vector<std::string> warnings;
  std::optional<std::int64_t> oom_score_adj;  // of its first process, and so of all that it starts
  /// The memory stays, to be used again.
  void clear();
};

struct Hook {
  std::string_view audit_reason;  // upstream's name of it
  /// Adds what the target shall have. Of what no hook says nothing is changed.
  void (*answer)(const HookFacts& facts, const HookTarget& target, HookAnswer& answer);
  /// Why it leaves alone what somebody else owns; empty: it does not. Said once, in the log.
  std::string_view (*stands_back)(const HookFacts& facts) = nullptr;
  /// Shows what it goes by, in these gauges.
  void (*show)(const HookFacts& facts, metrics::Registry& metrics) = nullptr;
  metrics::Table metrics = {};
};

/// What the pod says to hooks, which may be nothing.
const HookTerms& terms_of(const PodInfo& pod);

}  // namespace koord::koordlet
