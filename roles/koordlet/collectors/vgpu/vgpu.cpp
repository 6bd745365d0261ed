// The collector of virtual GPUs: what containers use of the parts that HAMi-core holds them to, as it says so
// itself to whoever looks into its files; under the names of HAMi's own monitor.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "framework/audit/auditor.hpp"
#include "framework/devices/device_terms.hpp"
#include "framework/devices/gpu_driver.hpp"
#include "framework/devices/vgpu_folders.hpp"
#include "framework/sampler/asking.hpp"
#include "framework/sampler/sampler.hpp"
#include "koord/async/offload.hpp"

namespace koord::koordlet {

namespace {

using host::VgpuRegion;
using metrics::Type;

constexpr nanoseconds kPeriod = std::chrono::seconds(10);
constexpr int kAuditVerbosity = 3;
constexpr std::string_view kAuditReason = "HamiCoreVGPUMonitor";
constexpr metrics::Labels kOfContainers = {"namespace", "pod", "container", "vdevice_index", "device_uuid"};

constexpr metrics::Metric kUsed{.name = "hami_vgpu_memory_used_bytes",
                                .type = Type::gauge,
                                .help = "Memory of its part of a GPU that a container has.",
                                .labels = kOfContainers};
constexpr metrics::Metric kLimit{.name = "hami_vgpu_memory_limit_bytes",
                                 .type = Type::gauge,
                                 .help = "Memory that its part of a GPU has.",
                                 .labels = kOfContainers};
constexpr metrics::Metric kMemory{.name = "hami_container_device_memory_bytes",
                                  .type = Type::gauge,
                                  .help = "The same as hami_vgpu_memory_used_bytes.",
                                  .labels = kOfContainers};
constexpr metrics::Metric kSm{.name = "hami_container_device_utilization_ratio",
                              .type = Type::gauge,
                              .help = "Percent of a GPU's time that it computes for a container.",
                              .labels = kOfContainers};
constexpr metrics::Metric kLastKernel{.name = "hami_container_last_kernel_elapsed_seconds",
                                      .type = Type::gauge,
                                      .help = "How long ago a container had a GPU compute.",
                                      .labels = kOfContainers};
constexpr metrics::Metric kContext{.name = "hami_vgpu_memory_context_bytes",
                                   .type = Type::gauge,
                                   .help = "Of the memory, that of contexts.",
                                   .labels = kOfContainers};
constexpr metrics::Metric kModule{.name = "hami_vgpu_memory_module_bytes",
                                  .type = Type::gauge,
                                  .help = "Of the memory, that of modules.",
                                  .labels = kOfContainers};
constexpr metrics::Metric kBuffer{.name = "hami_vgpu_memory_buffer_bytes",
                                  .type = Type::gauge,
                                  .help = "Of the memory, that of buffers.",
                                  .labels = kOfContainers};
constexpr metrics::Table kShown = {&kUsed,       &kLimit,   &kMemory, &kSm,
                                   &kLastKernel, &kContext, &kModule, &kBuffer};

/// What the containers' files said.
struct VgpuUse {
  struct Container {
    std::string ns, pod, name;
    VgpuRegion region;
  };
  std::vector<Container> containers;
  std::set<std::string> problems;
  std::vector<std::string> taken;  // names of folders that are there no more
  WallTime at;
};

class VgpuCollector final : public AskingCollector<VgpuUse> {
 public:
  explicit VgpuCollector(const CollectorContext& context)
      : context_(context), folders_(context.root, context.config.hami_library) {
    for (const metrics::Metric* const row : kShown) families_.push_back(context.metrics.gauges(*row));
  }

 private:
  Task<Result<VgpuUse>> answer(std::shared_ptr<const Inventory> inventory) override {
    std::function<Result<VgpuUse>()> look = [this, &inventory]() -> Result<VgpuUse> {
      return read(*inventory);
    };
    co_return co_await offload(*context_.loop.workers, std::move(look));
  }
  void came(const VgpuUse& use, MonoTime now) override;
  VgpuUse read(const Inventory& inventory) const;
  std::set<std::string> cards() const;
  metrics::Family<metrics::Gauge> family(const metrics::Metric& row) const {
    return families_[static_cast<std::size_t>(std::ranges::find(kShown, &row) - kShown.begin())];
  }
  void expose(const VgpuUse::Container& container, WallTime now) const;

  const CollectorContext& context_;
  VgpuFolders folders_;
  std::vector<metrics::Family<metrics::Gauge>> families_;  // in the order of kShown
  std::set<std::string> told_;
};

/// The driver's, by uuid. Empty: nobody may ask it, or it does not answer.
std::set<std::string> VgpuCollector::cards() const {
  std::set<std::string> uuids;
  GpuDriver* const driver = context_.loop.gpus;
  if (driver == nullptr || !driver->is_there()) return uuids;
  const auto said = driver->ask(kPeriod);
  if (!said) return uuids;
  for (const host::GpuCard& card : (*said)->answer.cards) uuids.insert(card.uuid);
  return uuids;
}

/// A container may write any name: one that is no card's, neither by the driver's word nor by the
/// scheduler's, is not shown.
void keep_known(VgpuRegion& region, const std::set<std::string>& cards, const PodInfo& pod) {
  const DeviceTerms* const terms = pod.terms.find<DeviceTerms>();
  for (VgpuRegion::Device& device : region.devices) {
    const bool given = terms != nullptr &&
                       std::ranges::find(terms->gpus, device.uuid, &GivenDevice::id) != terms->gpus.end();
    if (!given && !cards.contains(device.uuid)) device.uuid.clear();
  }
}

VgpuUse VgpuCollector::read(const Inventory& inventory) const {
  VgpuUse use;
  use.at = context_.loop.clock->now();
  std::optional<std::set<std::string>> known;  // asked for where there is something to compare
  std::set<std::string_view> there;
  for (const auto& pod : inventory.all_pods) there.insert(pod->uid);
  for (const auto& pod : inventory.pods) {
    there.insert(pod->uid);
    for (const ContainerInfo& container : pod->containers) {
      const std::string name = vgpu_folder_name(pod->uid, container.name);
      if (name.empty()) continue;
      auto region = folders_.read(name);
      if (region) {
        if (!known) known = cards();
        keep_known(*region, *known, *pod);
        use.containers.push_back({pod->ns, pod->name, container.name, std::move(*region)});
      } else if (region.error().code() != Code::not_found) {
        use.problems.insert(region.error().message());
      }
    }
  }
  if (inventory.pods_known)
    use.taken = folders_.sweep([&there](std::string_view uid) { return there.contains(uid); }, use.at);
  return use;
}

void VgpuCollector::expose(const VgpuUse::Container& container, WallTime now) const {
  const VgpuRegion& region = container.region;
  const auto since = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  for (std::size_t i = 0; i < region.devices.size(); ++i) {
    const VgpuRegion::Device& device = region.devices[i];
    if (device.uuid.empty()) continue;
    const std::string index = fmt::to_string(i);
    const auto set = [&](const metrics::Metric& row, std::uint64_t value) {
      family(row)
          .with({container.ns, container.pod, container.name, index, device.uuid})
          .set(static_cast<double>(value));
    };
    set(kUsed, device.total);
    set(kMemory, device.total);
    set(kLimit, device.limit);
    set(kSm, device.sm);
    set(kContext, device.context);
    set(kModule, device.module);
    set(kBuffer, device.buffer);
    if (region.last_kernel > 0)
      set(kLastKernel, static_cast<std::uint64_t>(std::max<std::int64_t>(0, since - region.last_kernel)));
  }
}

void VgpuCollector::came(const VgpuUse& use, MonoTime) {
  if (context_.loop.auditor != nullptr)
    for (const std::string& name : use.taken)
      context_.loop.auditor->record(
          kAuditVerbosity, {"node", "", "", "", kAuditReason,
                            fmt::format("{}/{} removed: its pod has gone", folders_.folder(), name)});
  for (const auto& family : families_) family.clear();
  for (const VgpuUse::Container& container : use.containers) expose(container, use.at);
  for (const std::string& problem : use.problems)
    if (!told_.contains(problem))
      context_.log.warn("what a container says of its part of a GPU cannot be read", kv("problem", problem));
  told_ = use.problems;
}

/// Without an event loop, as in a bench.
class NoVgpus final : public Collector {
  void sample(const TickView&) override {}
};

std::unique_ptr<Collector> make(const CollectorContext& context) {
  if (context.loop.workers == nullptr || context.loop.clock == nullptr ||
      vgpu_home(context.config.hami_library).empty())
    return std::make_unique<NoVgpus>();
  return std::make_unique<VgpuCollector>(context);
}

}  // namespace

extern const CollectorEntry kVgpu;
const CollectorEntry kVgpu{.name = "vgpu",
                           .gate = "HamiCoreVGPUMonitor",
                           .period = kPeriod,
                           .patience = std::chrono::seconds(30),
                           .metrics = kShown,
                           .make = &make};

}  // namespace koord::koordlet
