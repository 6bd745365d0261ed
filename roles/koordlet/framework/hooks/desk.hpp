// Desk: where a runtime's request is answered, whoever brought it: it asks every hook that is on, in the
// order of the table, and says what the runtime shall set, what it cannot set, and what is wrong.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/hooks/births.hpp"
#include "framework/hooks/carriage.hpp"
#include "framework/hooks/hook.hpp"
#include "framework/hooks/runtime_request.hpp"
#include "framework/model/inventory.hpp"
#include "framework/qos/ahead.hpp"
#include "framework/qos/plugin.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

/// What the runtime shall set. Nothing: it stays as the request has it.
struct RuntimeSettings {
  std::optional<std::int64_t> cpu_period, cpu_quota;  // microseconds; a quota of -1: none
  std::optional<std::int64_t> cpu_shares;
  std::optional<std::int64_t> memory_limit;  // bytes; -1: none
  std::optional<std::int64_t> oom_score_adj;
  std::optional<std::string> cpuset_cpus;  // the kernel's list, never empty

  bool empty() const { return *this == RuntimeSettings{}; }
  friend bool operator==(const RuntimeSettings&, const RuntimeSettings&) = default;
};

/// A value that the transport cannot carry: the reconciler writes it when the group is there.
struct LaterValue {
  std::string group;  // empty: of a container that has no id yet
  host::Knob knob{};
  KnobValue value;
  std::string_view reason, strategy;  // static texts
};

struct Verdict {
  RuntimeSettings settings;  // of the container, or of the sandbox's own one
  /// Each wins over what the request has of the same name or path. Only when a container is made.
  std::vector<RuntimePair> env, annotations;
  std::vector<RuntimeDevice> devices;
  std::vector<RuntimeMount> mounts;
  std::vector<std::string> cdi_devices;
  std::vector<LaterValue> later;
  /// What was left out of the answer, and why: for the log.
  std::vector<std::string> warnings;
  /// What its pod asked for in vain: for an event, too.
  std::vector<std::string> vain;

  /// The request may pass as it is.
  bool unchanged() const {
    return settings.empty() && env.empty() && annotations.empty() && devices.empty() && mounts.empty() &&
           cdi_devices.empty();
  }
};

/// Used on the event loop's thread. Blocks for nothing.
class Desk {
 public:
  static const metrics::Table kMetrics;
  struct Parts {
    StrategyTable strategies;
    const FeatureGates& gates;
    const InventoryHub& hub;
    host::CgroupVersion cgroup_version{};
    std::function<std::shared_ptr<const host::Topology>()> topology;  // null until the CPUs were read
    /// Whether the group has the knob; the present setting of the machine.
    std::function<bool(host::Knob knob, std::string_view group)> has;
    std::function<std::optional<std::int64_t>(host::Knob knob, std::string_view name)> setting;
    std::function<bool(std::string_view flag)> is_set;
    /// Null until they were looked at; may be empty: nobody looks.
    std::function<std::shared_ptr<const NodeDevices>()> devices = {};
    /// Tells a pod of what it asked for in vain, by an event; may be empty.
    std::function<void(const RuntimeSandbox& pod, const std::string& why)> tell = {};
    /// Makes ready on the host what a mount needs; an error leaves the mount out. May be empty. It may block
    /// for as long as it takes to make a folder.
    std::function<Result<>(const RuntimeMount& mount)> prepare = {};
    /// Births have come that their file does not know yet; may be empty.
    std::function<void()> bears = {};
    Clock& clock;
    Logger log;
    metrics::Registry& metrics;
  };
  struct Options {
    std::vector<std::string> dry_run;          // strategies that only show what they would do
    std::vector<std::string> disabled_stages;  // "PreCreateContainer": --runtime-hooks-disable-stages
    /// --runtime-hooks-plugin-failure-policy=Fail: what cannot be answered as it should be is refused.
    bool fail = false;
    BootFile::Place births;
  };
  /// Code::invalid for a stage that there is not.
  static Result<std::unique_ptr<Desk>> make(Parts parts, Options options);
  ~Desk();
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  /// What the runtime shall do about the request. A pod that the inventory has is answered by what is known
  /// of it, another one by what the request says. Of what cannot be known yet nothing is said, so that
  /// nothing gets wider by it. Moments that no hook has a say in, and stages that are off, leave all
  /// unchanged.
  ///
  /// An error refuses the request, and only with the policy Fail: Code::invalid, its pod cannot be read;
  /// Code::unavailable, the pod has a class of Koordinator's and the agent does not know enough yet.
  Result<Verdict> answer(const RuntimeRequest& request, Transport transport);

  /// Whether a hook has a say at that moment, and its stage is not off.
  bool asked_at(RuntimeMoment moment) const;
  /// The names of the stages of asked_at(), in the order of the service: for the proxy's registration.
  std::vector<std::string_view> stages() const;
  /// What has to be known before everything can be answered, in words; empty: it is.
  std::string missing() const;
  /// Of containers that were to be made with values of an answer, and that the inventory knows by now: what
  /// these are, and would be otherwise. Each once, for QosManager::note_given().
  std::vector<Ahead::Given> born();
  /// Whose file is the caller's to load and to save.
  Births& births();
  /// When it last answered an update of a running container: what the runtime writes then may be other than
  /// what strategies want, whose files are to be looked at again for some seconds.
  std::optional<MonoTime> last_update() const;

 private:
  class Impl;
  explicit Desk(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::koordlet
