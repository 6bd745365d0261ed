// The collector of GPUs: what the node, pods and containers use of NVIDIA's, as their driver says it.
#include <fmt/format.h>

#include <initializer_list>
#include <set>
#include <string>

#include "collectors/gpu/attribution.hpp"
#include "framework/devices/gpu_driver.hpp"
#include "framework/sampler/asking.hpp"
#include "framework/sampler/sampler.hpp"
#include "koord/async/offload.hpp"
#include "koord/base/file.hpp"

namespace koord::koordlet {

namespace {

constexpr nanoseconds kPeriod = std::chrono::seconds(1);
constexpr std::size_t kMostCgroups = std::size_t{64} << 10;

using metrics::Type;

constexpr metrics::Metric kNodeCore{
    .name = "koordlet_node_gpu_core_usage",
    .type = Type::gauge,
    .help = "Percent of its time that a GPU computes, all processes' together.",
    .labels = {"gpu_minor", "gpu_device_uuid"}};
constexpr metrics::Metric kNodeMemory{.name = "koordlet_node_gpu_memory_usage",
                                      .type = Type::gauge,
                                      .help = "Bytes of a GPU's memory that processes which compute have.",
                                      .labels = {"gpu_minor", "gpu_device_uuid"}};
constexpr metrics::Metric kNodeTotal{.name = "koordlet_node_gpu_memory_total",
                                     .type = Type::gauge,
                                     .help = "Bytes of memory that a GPU has.",
                                     .labels = {"gpu_minor", "gpu_device_uuid"}};
constexpr metrics::Metric kPodCore{
    .name = "koordlet_pod_gpu_core_usage",
    .type = Type::gauge,
    .help = "Percent of its time that a GPU computes for a pod.",
    .labels = {"pod_uid", "pod_name", "pod_namespace", "gpu_minor", "gpu_device_uuid"}};
constexpr metrics::Metric kPodMemory{
    .name = "koordlet_pod_gpu_memory_usage",
    .type = Type::gauge,
    .help = "Bytes of a GPU's memory that a pod has.",
    .labels = {"pod_uid", "pod_name", "pod_namespace", "gpu_minor", "gpu_device_uuid"}};
constexpr metrics::Metric kContainerCore{.name = "koordlet_container_gpu_core_usage",
                                         .type = Type::gauge,
                                         .help = "Percent of its time that a GPU computes for a container.",
                                         .labels = {"container_id", "container_name", "pod_uid", "pod_name",
                                                    "pod_namespace", "gpu_minor", "gpu_device_uuid"}};
constexpr metrics::Metric kContainerMemory{.name = "koordlet_container_gpu_memory_usage",
                                           .type = Type::gauge,
                                           .help = "Bytes of a GPU's memory that a container has.",
                                           .labels = {"container_id", "container_name", "pod_uid", "pod_name",
                                                      "pod_namespace", "gpu_minor", "gpu_device_uuid"}};

// Those of HAMi's monitor, with the gate HamiCoreVGPUMonitor.
constexpr metrics::Metric kHostMemory{.name = "hami_host_gpu_memory_used_bytes",
                                      .type = Type::gauge,
                                      .help = "Memory of a GPU that is used, by whomever.",
                                      .labels = {"device_index", "device_uuid", "device_type"}};
constexpr metrics::Metric kHostCores{.name = "hami_host_gpu_utilization_ratio",
                                     .type = Type::gauge,
                                     .help = "Percent of its time that a GPU computes.",
                                     .labels = {"device_index", "device_uuid", "device_type"}};
constexpr metrics::Metric kHostController{
    .name = "hami_host_gpu_memory_controller_utilization_ratio",
    .type = Type::gauge,
    .help = "Percent of its time that a GPU's memory is read or written.",
    .labels = {"device_index", "device_uuid", "device_type"}};

constexpr metrics::Table kShown = {&kNodeCore,  &kNodeMemory,    &kNodeTotal,       &kPodCore,
                                   &kPodMemory, &kContainerCore, &kContainerMemory, &kHostMemory,
                                   &kHostCores, &kHostController};

/// The gauges and series of a kind of users.
struct Sink {
  metrics::Family<metrics::Gauge> core, memory;
  Sink(metrics::Registry& registry, const metrics::Metric& core_row, const metrics::Metric& memory_row)
      : core(registry.gauges(core_row)), memory(registry.gauges(memory_row)) {}
  void clear() const {
    core.clear();
    memory.clear();
  }
  void set(std::initializer_list<std::string_view> labels, const GpuPart& part) const {
    core.with(labels).set(part.core);
    memory.with(labels).set(part.memory);
  }
};

class GpuCollector final : public AskingCollector<GpuUse> {
 public:
  explicit GpuCollector(const CollectorContext& context)
      : context_(context),
        driver_(*context.loop.gpus),
        node_(context.metrics, kNodeCore, kNodeMemory),
        pods_(context.metrics, kPodCore, kPodMemory),
        containers_(context.metrics, kContainerCore, kContainerMemory),
        total_(context.metrics.gauges(kNodeTotal)),
        as_hami_(context.config.is_on && context.config.is_on("HamiCoreVGPUMonitor")),
        host_memory_(context.metrics.gauges(kHostMemory)),
        host_cores_(context.metrics.gauges(kHostCores)),
        host_controller_(context.metrics.gauges(kHostController)) {}
  void follow(const Inventory& inventory) override;

 private:
  Task<Result<GpuUse>> answer(std::shared_ptr<const Inventory> inventory) override;
  void came(const GpuUse& use, MonoTime now) override;
  Result<GpuUse> look(const Inventory& inventory) const;
  void keep(koordlet::Metric core, koordlet::Metric memory, const std::string& entity, const GpuPart& part,
            MonoTime now);
  void forget(koordlet::Metric core, koordlet::Metric memory, const std::string& entity);
  void expose_host(const GpuUse& use) const;
  void expose(const GpuUse& use, const Inventory& inventory) const;

  const CollectorContext& context_;
  GpuDriver& driver_;
  Sink node_, pods_, containers_;
  metrics::Family<metrics::Gauge> total_;
  bool as_hami_;
  metrics::Family<metrics::Gauge> host_memory_, host_cores_, host_controller_;
  std::shared_ptr<const Inventory> inventory_;                          // of the last question
  std::set<std::string, std::less<>> there_;                            // pods of the inventory now
  std::set<std::string, std::less<>> cards_;                            // by uuid: whose series are open
  std::map<std::string, std::set<std::string>, std::less<>> entities_;  // by pod: the names of its series
  MonoTime kept_{};  // of the last answer that is in the series
};

Result<GpuUse> GpuCollector::look(const Inventory& inventory) const {
  if (!driver_.is_there()) return GpuUse();
  // Whoever else has just asked has asked for this one, too.
  KOORD_TRY(said, driver_.ask(kPeriod / 2));
  GpuUse use = attribute(said->answer, inventory, [this](pid_t pid) {
    auto text = read_file(fmt::format("{}{}/cgroup", context_.root.proc, pid), kMostCgroups);
    return text ? std::move(*text) : std::string();
  });
  use.at = said->at;
  return use;
}

Task<Result<GpuUse>> GpuCollector::answer(std::shared_ptr<const Inventory> inventory) {
  inventory_ = inventory;
  std::function<Result<GpuUse>()> question = [this, &inventory] { return look(*inventory); };
  co_return co_await offload(*context_.loop.workers, std::move(question));
}

void GpuCollector::keep(koordlet::Metric core, koordlet::Metric memory, const std::string& entity,
                        const GpuPart& part, MonoTime now) {
  context_.series.append(context_.open(core, entity), now, part.core);
  context_.series.append(context_.open(memory, entity), now, part.memory);
}

void GpuCollector::forget(koordlet::Metric core, koordlet::Metric memory, const std::string& entity) {
  context_.series.close(context_.series.find(core, entity));
  context_.series.close(context_.series.find(memory, entity));
}

void GpuCollector::follow(const Inventory& inventory) {
  there_.clear();
  for (const auto& pod : inventory.pods) there_.insert(pod->uid);
  std::erase_if(entities_, [&](const auto& of) {
    if (there_.contains(of.first)) return false;
    for (const std::string& entity : of.second)
      forget(koordlet::Metric::pod_gpu_core, koordlet::Metric::pod_gpu_memory, entity);
    return true;
  });
}

void GpuCollector::came(const GpuUse& use, MonoTime now) {
  if (as_hami_) expose_host(use);
  expose(use, *inventory_);
  if (use.at == kept_) return;  // the driver rests: it is the answer that there was
  kept_ = use.at;
  std::set<std::string, std::less<>> seen;
  for (const GpuUse::Card& card : use.cards) {
    seen.insert(card.uuid);
    keep(koordlet::Metric::node_gpu_core, koordlet::Metric::node_gpu_memory, gpu_entity(card.uuid),
         card.computing, now);
  }
  for (const std::string& uuid : cards_)
    if (use.complete && !seen.contains(uuid))
      forget(koordlet::Metric::node_gpu_core, koordlet::Metric::node_gpu_memory, gpu_entity(uuid));
    else
      seen.insert(uuid);
  cards_ = std::move(seen);
  for (const auto& [uid, parts] : use.pods) {
    if (!there_.contains(uid)) continue;  // it has gone since it was asked
    for (const auto& [card, part] : parts) {
      std::string entity = gpu_entity(use.cards[card].uuid, uid);
      keep(koordlet::Metric::pod_gpu_core, koordlet::Metric::pod_gpu_memory, entity, part, now);
      entities_[uid].insert(std::move(entity));
    }
  }
}

void GpuCollector::expose_host(const GpuUse& use) const {
  for (const auto& family : {host_memory_, host_cores_, host_controller_}) family.clear();
  for (std::size_t i = 0; i < use.cards.size(); ++i) {
    const GpuUse::Card& card = use.cards[i];
    const std::string index = fmt::to_string(i), type = fmt::format("NVIDIA-{}", card.model);
    const auto set = [&](const metrics::Family<metrics::Gauge>& family, double value) {
      family.with({index, card.uuid, type}).set(value);
    };
    set(host_memory_, static_cast<double>(card.used));
    set(host_cores_, card.cores);
    set(host_controller_, card.memory_controller);
  }
}

void GpuCollector::expose(const GpuUse& use, const Inventory& inventory) const {
  for (const Sink* const sink : {&node_, &pods_, &containers_}) sink->clear();
  total_.clear();
  std::vector<std::string> minors;
  for (const GpuUse::Card& card : use.cards) {
    minors.push_back(fmt::to_string(card.minor));
    node_.set({minors.back(), card.uuid}, card.computing);
    total_.with({minors.back(), card.uuid}).set(static_cast<double>(card.memory));
  }
  if (use.pods.empty()) return;
  for (const auto& pod : inventory.pods) {
    if (!there_.contains(pod->uid)) continue;
    if (const auto of = use.pods.find(pod->uid); of != use.pods.end())
      for (const auto& [card, part] : of->second)
        pods_.set({pod->uid, pod->name, pod->ns, minors[card], use.cards[card].uuid}, part);
    for (const ContainerInfo& container : pod->containers)
      if (const auto of = use.containers.find(container.id); of != use.containers.end())
        for (const auto& [card, part] : of->second)
          containers_.set({container.full_id, container.name, pod->uid, pod->name, pod->ns, minors[card],
                           use.cards[card].uuid},
                          part);
  }
}

/// Where nobody may ask, as with --xpu-enforce-collect-from-device-infos.
class NoGpus final : public Collector {
  void sample(const TickView&) override {}
};

std::unique_ptr<Collector> make(const CollectorContext& context) {
  if (context.loop.gpus == nullptr || context.loop.workers == nullptr) return std::make_unique<NoGpus>();
  return std::make_unique<GpuCollector>(context);
}

}  // namespace

extern const CollectorEntry kGpu;
const CollectorEntry kGpu{.name = "gpu",
                          .gate = "Accelerators",
                          .period = kPeriod,
                          .patience = std::chrono::seconds(15),
                          .metrics = kShown,
                          .make = &make};

}  // namespace koord::koordlet
