// Block I/O: what the NodeSLO and pods say of disks, volume groups and volumes becomes limits of the disks
// that these are on. What nobody says any more goes back to what was found.
#include <fmt/format.h>

#include <chrono>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/model/claim_volumes.hpp"
#include "framework/qos/plugin.hpp"
#include "framework/tick/local_storage.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/base/text.hpp"
#include "plugins/blkio/limits.hpp"
#include "plugins/blkio/terms.hpp"

namespace koord::koordlet {

namespace blkio {
namespace {

constexpr std::string_view kReason = "UpdateBlkIO";  // upstream's, in the audit
constexpr std::string_view kBeSays = "the NodeSLO's beClass", kRootSays = "the NodeSLO's cgroupRoot",
                           kPodSays = "the pod's koordinator.sh/blkioQOS";
/// More is no oversight but an attack on our time.
constexpr std::size_t kMostProblems = 64, kMostOfName = 256;
/// How long limits of volumes stay as they are while nobody says which volume a claim has.
constexpr nanoseconds kClaimPatience = std::chrono::minutes(2);

using Disks = std::map<host::DeviceNumber, api::IoConfig>;

class BlkIo final : public Strategy {
 public:
  explicit BlkIo(const PluginContext& context) : context_(context) {}
  StrategyStatus status() const override { return status_; }
  void release(const Inventory&, Plan&) override {
    asked_ = false;
    status_ = {false, "off: no NodeSLO, or its gate is off"};
  }

  bool look(const TickView& view) override {
    const auto* const storage = view.find<LocalStorage>();
    return asked_ && storage != nullptr && storage->version != version_;
  }

  void plan(const TickView& view, Plan& plan) override {
    const Inventory& inventory = *view.inventory;
    const api::ResourceQosStrategy* const qos = inventory.slo->resource_qos_strategy.get();
    problems_.clear();
    disks_ = settings_ = groups_ = 0;
    asked_ = qos != nullptr && asks(inventory, *qos);
    if (!asked_) {
      tell();
      status_ = {false, "nothing is said of block I/O"};
      return;
    }
    storage_ = view.find<LocalStorage>();
    if (storage_ == nullptr) {
      status_ = {false, "waiting: the node's disks are not known"};
      return plan.hold();
    }
    version_ = storage_->version;
    pending_ = false;
    if (has_blocks(qos->lsr_class) || has_blocks(qos->ls_class))
      problem(
          "lsrClass and lsClass have no group of their own: limits of block I/O are for beClass, cgroupRoot "
          "and pods");
    Disks best_effort;
    if (has_blocks(qos->be_class)) {
      best_effort = resolve("beClass", qos->be_class->blkio_qos->blocks, &drop_latencies);
      for (const std::string& root : inventory.be_roots) limit(plan, root, best_effort, kBeSays);
    }
    if (has_blocks(qos->cgroup_root))
      set_costs(plan, resolve("cgroupRoot", qos->cgroup_root->blkio_qos->blocks));
    for (const auto& pod : inventory.pods) {
      Disks own = limit_pod(inventory, *pod, plan);
      if (context_.cgroup_version == host::CgroupVersion::v1)
        limit_containers(inventory, *pod, std::move(own), best_effort, plan);
    }
    if (pending_ && !pending_since_) pending_since_ = view.at;
    if (!pending_) pending_since_.reset();
    if (pending_ && view.at - *pending_since_ < kClaimPatience) plan.hold();
    tell();
    say();
  }

 private:
  static bool has_blocks(const api::Box<api::ResourceQos>& of) {
    return of && of->blkio_qos && of->blkio_qos->enable.value_or(false) && !of->blkio_qos->blocks.empty();
  }
  static const PodBlocks* blocks_of(const PodInfo& pod) {
    return pod.qos != Qos::none && pod.phase == PodPhase::running ? pod.terms.find<PodBlocks>() : nullptr;
  }
  static bool asks(const Inventory& inventory, const api::ResourceQosStrategy& qos) {
    for (const auto* of : {&qos.be_class, &qos.cgroup_root, &qos.lsr_class, &qos.ls_class})
      if (has_blocks(*of)) return true;
    for (const auto& pod : inventory.pods)
      if (blocks_of(*pod) != nullptr) return true;
    return false;
  }

  void problem(std::string what) {
    if (problems_.size() < kMostProblems) problems_.insert(std::move(what));
  }
  /// One block that cannot be found costs that block alone.
  void unresolved(std::string_view who, const api::BlockConfig& block, const Error& error) {
    problem(fmt::format("{}: block \"{}\" of type \"{}\": {}", who, utf8_prefix(block.name, kMostOfName),
                        utf8_prefix(block.type.view(), kMostOfName), error.message()));
  }

  Result<host::DeviceNumber> disk_of(const api::BlockConfig& block) const {
    if (block.type == kDevice) return storage_->devices.disk_of_device(block.name);
    if (block.type == kVolumeGroup) return storage_->devices.disk_of_volume_group(block.name);
    if (block.type == kPodVolume) return Error(Code::invalid, "volumes are pods': only a pod can say this");
    return Error(Code::invalid, "expected device, volumegroup or podvolume");
  }

  using Sieve = std::vector<std::string> (*)(api::IoConfig& io);
  /// `sieve` takes out, and names, what these blocks are not given; null: nothing.
  Disks resolve(std::string_view who, const std::vector<api::BlockConfig>& blocks, Sieve sieve = nullptr) {
    Disks disks;
    for (const api::BlockConfig& block : blocks) {
      const auto disk = disk_of(block);
      if (!disk) {
        unresolved(who, block, disk.error());
        continue;
      }
      api::IoConfig io = block.io_cfg;
      for (const std::string& wrong : drop_nonsense(io))
        unresolved(who, block, Error(Code::invalid, fmt::format("ioCfg{}", wrong)));
      if (sieve != nullptr)
        for (const std::string& left : sieve(io))
          unresolved(who, block, Error(Code::unsupported, fmt::format("ioCfg{}", left)));
      merge(disks[*disk], io);
    }
    return disks;
  }

  Result<host::DeviceNumber> disk_of_volume(const Inventory& inventory, const PodInfo& pod,
                                            const PodBlock& block) {
    std::string_view volume = block.volume;
    if (!block.claim.empty()) {
      if (inventory.claims != nullptr)
        if (const auto it = inventory.claims->volumes.find({pod.ns, block.claim});
            it != inventory.claims->volumes.end())
          volume = it->second;
      pending_ = pending_ || volume.empty();
      if (volume.empty())
        return Error(Code::unavailable,
                     fmt::format("which PersistentVolume the claim \"{}\" has is not known", block.claim));
    }
    if (volume.empty()) return Error(Code::not_found, "the pod has no such volume of a claim, or of CSI");
    const host::VolumeMount* const mount = host::find_volume(storage_->volumes, pod.uid, volume);
    if (mount == nullptr)
      return Error(Code::not_found, fmt::format("\"{}\" is not mounted for the pod", volume));
    return host::disk_of(*mount, storage_->devices);
  }

  /// What the pod itself says.
  Disks limit_pod(const Inventory& inventory, const PodInfo& pod, Plan& plan) {
    Disks disks;
    const PodBlocks* const blocks = blocks_of(pod);
    if (blocks == nullptr) return disks;
    for (const PodBlock& block : blocks->blocks) {
      const auto disk =
          block.said.type == kPodVolume ? disk_of_volume(inventory, pod, block) : disk_of(block.said);
      if (disk)
        merge(disks[*disk], block.said.io_cfg);
      else
        unresolved(fmt::format("pod {}/{}", pod.ns, pod.name), block.said, disk.error());
    }
    limit(plan, pod.group, disks, kPodSays);
    return disks;
  }

  /// cgroup v1's throttles hold back who is in the group, not who is below it: and that is a container's.
  /// Each then has the whole of what its pod and its tier have.
  void limit_containers(const Inventory& inventory, const PodInfo& pod, Disks disks, const Disks& best_effort,
                        Plan& plan) {
    const std::string_view reason = disks.empty() ? kBeSays : kPodSays;
    if (inventory.in_best_effort(pod.group))
      for (const auto& [disk, io] : best_effort) tighten(disks[disk], io);
    for (const ContainerInfo& container : pod.containers)
      for (const auto& [disk, io] : disks)
        want(plan, container.group, throttles(io, disk, context_.cgroup_version), reason);
  }

  void want(Plan& plan, std::string_view group, std::vector<Setting> settings, std::string_view reason) {
    for (Setting& setting : settings) {
      Intent& intent = plan.want(setting.knob, group, std::move(setting.value), reason);
      intent.key = std::move(setting.key);
      intent.audit_reason = kReason;
      ++settings_;
    }
  }
  void limit(Plan& plan, std::string_view group, const Disks& disks, std::string_view reason) {
    groups_ += disks.empty() ? 0 : 1;
    for (const auto& [disk, io] : disks)
      want(plan, group, group_settings(io, disk, context_.cgroup_version), reason);
  }
  void set_costs(Plan& plan, const Disks& disks) {
    for (const auto& [disk, io] : disks) {
      std::string lacking;
      want(plan, "", machine_settings(io, disk, lacking), kRootSays);
      ++disks_;
      if (!lacking.empty())
        problem(fmt::format("cgroupRoot: the model of {} stays as it is: {} is missing",
                            host::to_string(disk), lacking));
    }
  }

  /// What is wrong now and was not before.
  void tell() {
    for (const std::string& what : problems_)
      if (!told_.contains(what))
        context_.log.warn("limits of block I/O are left out in part", kv("what", what));
    told_ = problems_;
  }
  void say() {
    status_.active = settings_ > 0;
    status_.summary.clear();
    const auto summary = std::back_inserter(status_.summary);
    fmt::format_to(summary, "{} settings of {} groups, costs of {} disks", settings_, groups_, disks_);
    if (!problems_.empty())
      fmt::format_to(summary, "; {} problems: {}", problems_.size(), *problems_.begin());
  }

  const PluginContext& context_;
  StrategyStatus status_;
  const LocalStorage* storage_ = nullptr;  // within a call
  std::uint64_t version_ = 0;              // of the storage that the plan is of
  bool asked_ = false, pending_ = false;
  std::optional<MonoTime> pending_since_;
  std::set<std::string> problems_, told_;
  std::size_t disks_ = 0, settings_ = 0, groups_ = 0;
};

constexpr std::string_view kGates[] = {"BlkIOReconcile"};

}  // namespace
}  // namespace blkio

extern const StrategyEntry kBlkIo{
    .name = "BlkIOReconcile",
    .gates = blkio::kGates,
    .interval = "reconcile-interval-seconds",
    .replan = Replan::on_change,
    .terms = &read_block_terms,
    .make = &make<blkio::BlkIo>,
};

}  // namespace koord::koordlet
