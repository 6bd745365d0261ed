// Memory QoS: what the NodeSLO and the pods say of memory.min, memory.low, memory.high and their relatives,
// at the kubelet's folders, pods and containers; and relief for containers that stand still at their
// memory.high.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "framework/objects/slo.hpp"
#include "framework/qos/plugin.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/host/cgroup_paths.hpp"
#include "koord/host/pressure.hpp"
#include "koord/host/text.hpp"
#include "plugins/memory_qos/formula.hpp"
#include "plugins/memory_qos/relief.hpp"
#include "plugins/memory_qos/terms.hpp"

namespace koord::koordlet {

namespace memory_qos {
namespace {

using host::Knob;
using host::KubeQos;

constexpr std::string_view kReason = "cgroup reconcile";  // upstream's, in the audit
constexpr std::string_view kRelieved = "memory.high relief";
constexpr std::string_view kSaid = "memory QoS of its class or pod";
/// At it: charges go over by little, and reclaim takes little more than it has to.
constexpr double kAtHigh = 0.95;
constexpr std::size_t kMostNamed = 3;

constexpr Knob kKnobs[] = {Knob::memory_min,
                           Knob::memory_low,
                           Knob::memory_high,
                           Knob::memory_wmark_ratio,
                           Knob::memory_wmark_scale_factor,
                           Knob::memory_wmark_min_adj,
                           Knob::memory_priority,
                           Knob::memory_use_priority_oom,
                           Knob::memory_oom_group,
                           Knob::page_cache_enable,
                           Knob::page_cache_size,
                           Knob::page_cache_sync};

const api::MemoryQosConfig* of_class(const api::ResourceQosStrategy& slo, Qos qos) {
  const api::ResourceQos* one = nullptr;
  if (qos == Qos::lse || qos == Qos::lsr) one = slo.lsr_class.get();
  if (qos == Qos::ls) one = slo.ls_class.get();
  if (qos == Qos::be) one = slo.be_class.get();
  if (qos == Qos::system) one = slo.system_class.get();
  return one != nullptr ? one->memory_qos.get() : nullptr;
}

/// The class that stands for one of the kubelet's folders.
Qos class_of(KubeQos qos) {
  if (qos == KubeQos::guaranteed) return Qos::lsr;
  return qos == KubeQos::burstable ? Qos::ls : Qos::be;
}

/// Those that run for as long as their pod.
bool lasts(const ContainerInfo& container) {
  return container.kind == ContainerKind::main || container.kind == ContainerKind::sidecar;
}

/// Of a share of nothing known nothing follows.
bool protects(Knob knob) { return knob == Knob::memory_min || knob == Knob::memory_low; }

class MemoryQosStrategy final : public Strategy {
 public:
  explicit MemoryQosStrategy(const PluginContext& context) : context_(context) {}

  StrategyStatus status() const override {
    if (!status_.active) return status_;
    StrategyStatus told = status_;
    told.summary.append(lifted_text());
    told.summary.append(others_text());
    return told;
  }

  void release(const Inventory&, Plan&) override {  // the journal knows what was there before
    wanted_.clear();
    held_back_.clear();
    slo_ = nullptr;
    status_ = {false, "off: no NodeSLO, or its gate is off"};
  }

  bool look(const TickView& view) override { return is_another(*view.inventory) || relieve(view); }

  void plan(const TickView& view, Plan& plan) override {
    const Inventory& inventory = *view.inventory;
    if (!inventory.pods_known) {
      status_ = {false, "waiting: the pods are not known"};
      return plan.hold();
    }
    if (is_another(inventory)) {
      generation_ = inventory.generation;
      slo_ = inventory.slo;
      follow(inventory, slo_->resource_qos_strategy.get());
    }
    relieve(view);
    for (const Wanted& wanted : wanted_) want(plan, wanted.knob, wanted.group, wanted.value, kSaid);
    for (const auto& [id, one] : held_back_) throttle(one, plan);
  }

 private:
  struct Wanted {
    Knob knob{};
    std::string group;
    std::int64_t value = 0;
  };
  /// A container with a memory.high.
  struct HeldBack {
    std::string group, name;  // "NAMESPACE/POD/CONTAINER"
    std::int64_t base = 0, most = 0;
    Relief relief;
    std::string reason;
    bool stepped = false;  // in the last tick
  };

  bool is_another(const Inventory& inventory) const {
    return generation_ != inventory.generation || slo_ != inventory.slo;
  }

  static Intent& want(Plan& plan, Knob knob, const std::string& group, std::int64_t value,
                      std::string_view reason) {
    Intent& intent = plan.want(knob, group, value, reason);
    intent.audit_reason = kReason;
    intent.yields = true;
    return intent;
  }

  /// Which of the knobs this kernel has: asked when pods come and go, in the folder of all pods or, without
  /// Kubernetes, in a pod's.
  void probe(const Inventory& inventory) {
    const std::string root =
        host::kubepods_folder(inventory.driver, KubeQos::guaranteed, inventory.kubelet_root);
    for (std::size_t i = 0; i < std::size(kKnobs); ++i)
      has_[i] = context_.knobs.original(kKnobs[i], root).has_value() ||
                (!inventory.pods.empty() &&
                 context_.knobs.original(kKnobs[i], inventory.pods.front()->group).has_value());
  }
  bool has(Knob knob) const {
    const auto* at = std::find(std::begin(kKnobs), std::end(kKnobs), knob);
    return at != std::end(kKnobs) && has_[static_cast<std::size_t>(at - std::begin(kKnobs))];
  }

  void add(const std::string& group, const Values& values) {
    for (const Value& value : values)
      if (has(value.knob)) wanted_.push_back({value.knob, group, value.value});
  }

  void follow(const Inventory& inventory, const api::ResourceQosStrategy* slo) {
    wanted_.clear();
    std::map<std::string, HeldBack, std::less<>> before = std::exchange(held_back_, {});
    if (slo == nullptr) {
      status_ = {false, "off: the NodeSLO says nothing of it"};
      return;
    }
    probe(inventory);
    std::map<const PodInfo*, api::MemoryQos> asked;
    std::map<KubeQos, Protection> folders;
    for (const auto& pod : inventory.all_pods) {
      const Qos qos = api::with_default(pod->qos, pod->kube_qos);
      const api::MemoryQosConfig* usual = of_class(*default_slo().resource_qos_strategy, qos);
      const auto terms = effective(of_class(*slo, qos), usual ? usual->qos : api::MemoryQos{},
                                   pod->terms.find<api::PodMemoryQos>());
      if (!terms) continue;
      asked.emplace(pod.get(), *terms);
      if (!pod->requests_unknown) folders[pod->kube_qos].add(*terms, request_of(*pod));
    }
    Protection& top = folders[KubeQos::guaranteed];
    for (const KubeQos below : {KubeQos::burstable, KubeQos::besteffort}) top.add(folders[below]);
    for (const KubeQos qos : {KubeQos::guaranteed, KubeQos::burstable, KubeQos::besteffort})
      add_folder(inventory, qos, folders[qos], of_class(*slo, class_of(qos)));
    std::size_t pods = 0;
    for (const auto& pod : inventory.pods) {
      const auto terms = asked.find(pod.get());
      if (terms == asked.end()) continue;
      ++pods;
      Values values = pod_values(terms->second, {request_of(*pod), pod->memory_limit});
      if (pod->requests_unknown)
        std::erase_if(values, [](const Value& value) { return protects(value.knob); });
      add(pod->group, values);
      for (const ContainerInfo& container : pod->containers)
        if (lasts(container)) add_container(inventory, *pod, container, terms->second, before);
    }
    status_.active = !wanted_.empty() || !held_back_.empty();
    status_.summary = status_.active
                          ? fmt::format("{} pods, {} containers with a memory.high", pods, held_back_.size())
                          : "off: no class and no pod asks for it";
  }

  static std::int64_t request_of(const PodInfo& pod) {
    return pod.qos == Qos::be ? pod.requests.batch_memory : pod.requests.memory;
  }

  void add_folder(const Inventory& inventory, KubeQos qos, const Protection& sum,
                  const api::MemoryQosConfig* config) {
    Values values;
    if (sum.min) values.push_back({Knob::memory_min, *sum.min});
    if (sum.low) values.push_back({Knob::memory_low, *sum.low});
    if (config != nullptr && config->enable == true) {
      // Of what is said as it stands a folder has these two. Not memory.oom.group: with it, one pod's lack of
      // memory would end all of them.
      api::MemoryQos folder;
      folder.priority = config->qos.priority;
      folder.priority_enable = config->qos.priority_enable;
      for (const Value& value : pod_values(folder, {})) values.push_back(value);
    }
    add(host::kubepods_folder(inventory.driver, qos, inventory.kubelet_root), values);
  }

  void add_container(const Inventory& inventory, const PodInfo& pod, const ContainerInfo& container,
                     const api::MemoryQos& qos, std::map<std::string, HeldBack, std::less<>>& before) {
    const std::int64_t node = inventory.node.allocatable_memory;
    Values values = container_values(qos, {container.memory_request, container.memory_limit}, node);
    const auto high = std::find_if(values.begin(), values.end(), [](const Value& value) {
      return value.knob == Knob::memory_high && value.value != host::kUnlimited;
    });
    if (high != values.end() && has(Knob::memory_high)) {
      HeldBack one;
      if (const auto old = before.find(container.id); old != before.end()) one.relief = old->second.relief;
      one.group = container.group;
      one.name = fmt::format("{}/{}/{}", pod.ns, pod.name, container.name);
      one.base = high->value;
      one.most = container.memory_limit && *container.memory_limit > 0 ? *container.memory_limit : node;
      held_back_.emplace(container.id, std::move(one));
      values.erase(high);
    }
    add(container.group, values);
  }

  /// Whether a container's memory.high is lifted, or comes back. Once a tick.
  bool relieve(const TickView& view) {
    if (relieved_at_ == view.at) return false;
    relieved_at_ = view.at;
    bool stepped = false;
    for (auto& [id, one] : held_back_) {
      const int before = one.relief.steps();
      if (one.most > one.base) see(view.at, one.relief.high(one.base, one.most), one);
      const int steps = one.relief.steps();
      one.stepped = steps != before;
      stepped = stepped || one.stepped;
      if (!one.stepped && !one.reason.empty()) continue;
      one.reason =
          steps == 0
              ? std::string(kSaid)
              : fmt::format("lifted by {} of {} steps: all of it waited for memory {:.0f}% of the time",
                            steps, Relief::kSteps, one.relief.stalled() * 100);
    }
    return stepped;
  }

  /// The container's memory.high, lifted where it stands still.
  static void throttle(const HeldBack& one, Plan& plan) {
    Intent& intent =
        want(plan, Knob::memory_high, one.group, one.relief.high(one.base, one.most), one.reason);
    if (one.relief.steps() != 0 || one.stepped) intent.audit_reason = kRelieved;
  }

  /// A file that cannot be read leaves all as it is.
  void see(MonoTime at, std::int64_t present, HeldBack& one) {
    const auto text = context_.knobs.reading(Knob::memory_pressure, one.group);
    if (!text) return;
    const auto pressure = host::parse_pressure(*text);
    if (!pressure || !pressure->has_full) return;
    std::int64_t used = 0;
    const auto usage = context_.knobs.reading(Knob::memory_usage, one.group);
    if (!usage || !host::to_number(host::trimmed(*usage), used)) return;
    one.relief.see(at, pressure->full.total_us,
                   static_cast<double>(used) >= static_cast<double>(present) * kAtHigh);
  }

  std::string lifted_text() const {
    std::string names;
    std::size_t lifted = 0;
    for (const auto& [id, one] : held_back_) {
      if (one.relief.steps() == 0) continue;
      if (++lifted <= kMostNamed)
        names.append(fmt::format("{}{} ({} of {})", names.empty() ? "" : ", ", one.name, one.relief.steps(),
                                 Relief::kSteps));
    }
    if (lifted == 0) return {};
    if (lifted > kMostNamed) names.append(fmt::format(" and {} more", lifted - kMostNamed));
    return fmt::format("; memory.high lifted, they stood still: {}", names);
  }

  std::string others_text() const {
    std::size_t others = 0;
    std::string first;
    const auto count = [&](Knob knob, const std::string& group) {
      if (context_.knobs.is_others(knob, group) && others++ == 0)
        first = fmt::format("{} of {}", host::row(knob).name, group);
    };
    for (const Wanted& wanted : wanted_) count(wanted.knob, wanted.group);
    for (const auto& [id, one] : held_back_) count(Knob::memory_high, one.group);
    if (others == 0) return {};
    return fmt::format(
        "; {} files left to another program, which writes them, too (the kubelet's MemoryQoS?): {}", others,
        first);
  }

  const PluginContext& context_;
  StrategyStatus status_;
  std::uint64_t generation_ = 0;
  std::optional<MonoTime> relieved_at_;  // the tick of the last look
  std::shared_ptr<const api::NodeSloSpec> slo_;
  bool has_[std::size(kKnobs)] = {};
  std::vector<Wanted> wanted_;                              // all but memory.high where it is one
  std::map<std::string, HeldBack, std::less<>> held_back_;  // by container's id
};

constexpr std::string_view kGates[] = {"CgroupReconcile"};

}  // namespace
}  // namespace memory_qos

extern const StrategyEntry kMemoryQos{
    .name = "CgroupReconcile",
    .gates = memory_qos::kGates,
    .interval = "reconcile-interval-seconds",
    .replan = Replan::on_change,
    .terms = &read_memory_terms,
    .make = &make<memory_qos::MemoryQosStrategy>,
};

}  // namespace koord::koordlet
