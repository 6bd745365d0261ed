// What Koordinator makes of nodes and pods: see transforms.hpp.
#include "koord/scheduling/cluster/transforms.hpp"
#include "koord/api/koordinator/devices.hpp"
#include "koord/api/koordinator/node.hpp"
#include "koord/api/koordinator/renamed_resources.hpp"
#include "koord/api/koordinator/scheduling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/host/cpuset.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"

namespace koord::scheduling {

namespace {

constexpr std::size_t kMaxComplained = 4096;

using Renamed = api::RenamedResource;
constexpr Renamed kBatch[] = {{api::kOldBatchCpu, api::kBatchCpu}, {api::kOldBatchMemory, api::kBatchMemory}};
constexpr Renamed kDevices[] = {{api::kOldRdma, api::kRdma},
                                {api::kOldFpga, api::kFpga},
                                {api::kOldGpu, api::kGpu},
                                {api::kOldGpuCore, api::kGpuCore},
                                {api::kOldGpuMemory, api::kGpuMemory},
                                {api::kOldGpuMemoryRatio, api::kGpuMemoryRatio}};

/// What the annotation keeps back; nothing where it does not say.
Result<api::ResourceList> kept_back(const api::SymbolMap& annotations) {
  KOORD_TRY(reservation, api::read_annotation<api::NodeReservation>(annotations));
  if (!reservation || !api::reduces_allocatable(*reservation)) return api::ResourceList();
  if (!reservation->reserved_cpus.empty()) {
    const auto cpus = host::CpuSet::parse(reservation->reserved_cpus);
    if (!cpus)
      return Error(Code::invalid, fmt::format("{}: reservedCPUs: {}", api::NodeReservation::kAnnotation,
                                              cpus.error().message()));
    reservation->resources["cpu"] = api::Quantity::from_int(cpus->size());
  }
  return std::move(reservation->resources);
}

bool is_zero(const api::ResourceList& list) {
  return std::all_of(list.begin(), list.end(), [](const auto& entry) { return entry.value.is_zero(); });
}

void keep_back(api::ResourceList& allocatable, const api::ResourceList& kept) {
  for (const auto& [name, quantity] : kept) {
    // The manager has subtracted it from these already.
    if (name == api::kBatchCpu || name == api::kBatchMemory) continue;
    api::Quantity& left = allocatable[name];
    left -= quantity;
    if (left.sign() < 0) left = api::Quantity();
  }
}

/// The annotation of what a pod was given, with the present names; nothing where they are so already.
Result<std::optional<std::string>> renamed_devices(std::string_view text) {
  if (text.size() > api::kMaxAnnotation) return Error(Code::invalid, "longer than 64 KiB");
  KOORD_TRY(document, json::parse(text));
  const auto wrong = [] { return Error(Code::invalid, "expected lists of devices by their type"); };
  if (document.is_null()) return std::optional<std::string>();
  if (!document.is_object()) return wrong();
  bool changed = false;
  for (json::Member& type : document.members()) {
    if (!type.value.is_array() && !type.value.is_null()) return wrong();
    for (json::Value& device : type.value.elements()) {
      if (!device.is_object() && !device.is_null()) return wrong();
      json::Value* const resources = json::find(device, "resources");
      if (resources == nullptr || resources->is_null()) continue;
      if (!resources->is_object()) return wrong();
      for (const Renamed& r : kDevices) {
        json::Value* const old = json::find(*resources, r.from);
        if (old == nullptr || json::find(*resources, r.to) != nullptr) continue;
        json::Value value = std::move(*old);
        json::remove(*resources, r.from);
        resources->append(r.to, std::move(value), document.arena());
        changed = true;
      }
    }
  }
  if (!changed) return std::optional<std::string>();
  return std::optional(json::to_text(document));
}

std::int32_t priority_of(const api::Pod& pod) {
  if (pod.spec.priority.value_or(0) != 0) return *pod.spec.priority;
  const api::KoordQos qos = api::with_default(api::koord_qos(pod), api::kube_qos(pod));
  return api::default_priority(api::with_default(api::koord_priority(pod), qos));
}

std::string_view preemption_policy_of(const api::Pod& pod) {
  const std::string_view said = api::value_or(pod.metadata.labels, api::kPreemptionPolicyLabel);
  return said == "PreemptLowerPriority" ? said : "Never";
}

/// What complaints call it.
std::string_view called(const api::Pod& pod) { return is_placeholder(pod) ? placed_name(pod).word : "Pod"; }

/// A pod that is copied as soon as something of it changes.
class Edited {
 public:
  explicit Edited(std::shared_ptr<const api::Pod> pod) : now_(std::move(pod)) {}
  const api::Pod& operator*() const { return *now_; }
  const api::Pod* operator->() const { return now_.get(); }
  api::Pod& edit() {
    if (copy_ == nullptr) {
      auto copy = std::make_shared<api::Pod>(*now_);
      copy_ = copy.get();
      now_ = std::move(copy);
    }
    return *copy_;
  }
  std::shared_ptr<const api::Pod> take() { return std::move(now_); }

 private:
  std::shared_ptr<const api::Pod> now_;
  api::Pod* copy_ = nullptr;
};

}  // namespace

std::string_view meant_for(const api::Pod& pod) {
  const Symbol* const label = pod.metadata.labels.find(api::kSchedulerNameLabel);
  return label != nullptr ? label->view() : pod.spec.scheduler_name.view();
}

void Transforms::complain(std::string_view kind, const api::ObjectMeta& object, std::string_view what) {
  if (!complain_ || complained_.size() >= kMaxComplained) return;
  if (complained_.insert(object.uid.empty() ? object.name : object.uid).second) complain_(kind, object, what);
}

void Transforms::gone(const api::ObjectMeta& object) {
  if (!complained_.empty()) complained_.erase(object.uid.empty() ? object.name : object.uid);
}

std::shared_ptr<const api::Node> Transforms::node(std::shared_ptr<const api::Node> node) {
  api::ResourceList kept;
  if (auto read = kept_back(node->metadata.annotations))
    kept = std::move(*read);
  else
    complain("Node", node->metadata, read.error().message());
  const auto old_names = [](const api::ResourceList& list) {
    return has_any(list, kBatch) || has_any(list, kDevices);
  };
  if (is_zero(kept) && !old_names(node->status.allocatable) && !old_names(node->status.capacity)) return node;
  auto copy = std::make_shared<api::Node>(*node);
  for (api::ResourceList* list : {&copy->status.allocatable, &copy->status.capacity, &kept}) {
    rename(*list, kBatch);
    rename(*list, kDevices);
  }
  if (!is_zero(kept)) keep_back(copy->status.allocatable, kept);
  return copy;
}

std::shared_ptr<const api::Pod> Transforms::pod(std::shared_ptr<const api::Pod> given) {
  Edited pod(std::move(given));
  for (const std::span<const Renamed> names : {std::span<const Renamed>(kBatch), {kDevices}})
    if (api::has_any(*pod, names)) rename(pod.edit(), names);
  const api::SymbolMap& annotations = pod->metadata.annotations;
  if (const Symbol* const text = annotations.find(api::DeviceAllocations::kAnnotation)) {
    if (auto renamed = renamed_devices(*text); !renamed)
      complain(called(*pod), pod->metadata,
               fmt::format("{}: {}", api::DeviceAllocations::kAnnotation, renamed.error().message()));
    else if (*renamed)
      pod.edit().metadata.annotations[api::DeviceAllocations::kAnnotation] = **renamed;
  }
  if (gates_.replace_resources) {
    const std::string text(api::value_or(pod->metadata.annotations, api::kReplaceResources));
    if (text.size() > api::kMaxAnnotation) {
      complain(called(*pod), pod->metadata, fmt::format("{}: longer than 64 KiB", api::kReplaceResources));
    } else if (const std::vector<Renamed> names = api::replaced_resources(text); api::has_any(*pod, names)) {
      rename(pod.edit(), names);
    }
  }
  if (gates_.priority)
    if (const std::int32_t priority = priority_of(*pod); pod->spec.priority != priority)
      pod.edit().spec.priority = priority;
  if (gates_.preemption_policy)
    if (const std::string_view policy = preemption_policy_of(*pod); pod->spec.preemption_policy != policy)
      pod.edit().spec.preemption_policy = policy;
  if (const std::string_view name = meant_for(*pod); pod->spec.scheduler_name != name) {
    const Symbol meant(name);  // the name may lie in what is copied
    api::Pod& edited = pod.edit();
    edited.metadata.annotations[api::kOriginalSchedulerName] = edited.spec.scheduler_name;
    edited.spec.scheduler_name = meant;
  }
  return pod.take();
}

}  // namespace koord::scheduling
