// DeviceDemand: see demand.hpp.
#include "scheduling/plugins/device_share/request/demand.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/koordinator/admission.hpp"
#include "koord/api/koordinator/devices.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/json/value.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "scheduling/plugin/pod_hint.hpp"
#include "scheduling/plugins/device_share/request/combinations.hpp"

namespace koord::scheduling::device_share {

namespace {

constexpr std::int64_t kMostCount = 1'000'000;
constexpr std::string_view kNoTemplate = "no matched GPU shared resource template";

Strategy parse_strategy(std::string_view text) {
  if (text == "ApplyForAll") return Strategy::apply_for_all;
  return text == "RequestsAsCount" ? Strategy::requests_as_count : Strategy::none;
}

Scope parse_scope(std::string_view text) {
  if (text == "Node") return Scope::node;
  if (text == "NUMANode") return Scope::numa_node;
  if (text == "PCIe") return Scope::pcie;
  return text == "Device" ? Scope::device : Scope::none;
}

bool in_several(std::int64_t percent) { return percent > 100 && percent % 100 == 0; }
int as_count(std::int64_t count) { return static_cast<int>(std::min(count, kMostCount)); }

/// Of RDMA and FPGA.
void divide(TypeDemand& demand, bool device_level) {
  const std::int64_t asked = demand.asked[Unit::core];
  demand.per_device = demand.asked;
  if (in_several(asked)) {
    demand.count = as_count(asked / 100);
    demand.strategy = Strategy::none;
    demand.per_device.set(Unit::core, 100);
  } else if (demand.strategy == Strategy::requests_as_count) {
    demand.count = as_count(asked);
    demand.per_device.set(Unit::core, device_level ? 100 : 1);
  }
}

/// Of GPUs: the number follows from what is shared, else from the memory ratio.
void divide_gpus(TypeDemand& demand, GpuDemand& gpu, std::int64_t shared) {
  const Amounts& asked = demand.asked;
  const std::int64_t ratio = asked[Unit::memory_ratio];
  const std::int64_t count = shared > 0 ? shared : in_several(ratio) ? ratio / 100 : 1;
  demand.count = as_count(count);
  // With a ratio no memory is asked for.
  const bool has_ratio = asked.has(Unit::memory_ratio);
  for (std::size_t i = 0; i < kUnits; ++i) {
    const auto unit = static_cast<Unit>(i);
    if (!asked.has(unit) || (unit == Unit::memory && has_ratio)) continue;
    demand.per_device.set(unit, asked[unit] / count);
  }
  gpu.shared = has_ratio ? demand.per_device[Unit::memory_ratio] < 100 : demand.per_device.has(Unit::memory);
}

class Reader {
 public:
  Reader(const api::SymbolMap& labels, const api::SymbolMap& annotations, const DemandRules& rules)
      : labels_(labels), annotations_(annotations), rules_(rules) {}

  DeviceDemand read(const DeviceRequests& requests) {
    if (auto done = read_all(requests); !done) {
      demand_.rejected = done.error().message();
      demand_.code = StatusCode::unresolvable;
    }
    return std::move(demand_);
  }

 private:
  Result<> read_all(const DeviceRequests& requests) {
    std::int64_t shared = 0;
    for (const DeviceType type : kAllDeviceTypes) {
      DeviceRequests of;
      for (const auto& each : requests)
        if (is_of(type, each.first)) of.push_back(each);
      if (of.empty()) continue;
      KOORD_TRY(made, combine(type, of));
      demand_.types[index(type)].wanted = true;
      demand_.types[index(type)].asked = made.asked;
      shared = type == DeviceType::gpu ? made.shared : shared;
    }
    // Whoever wrote it: nobody can tell what such a pod has.
    if (auto said = api::read_annotation<api::DeviceAllocations>(annotations_); !said)
      return std::move(said).error();
    if (demand_.none()) return {};
    KOORD_CHECK(read_hints());
    KOORD_CHECK(read_joint());
    for (const DeviceType type : {DeviceType::rdma, DeviceType::fpga})
      if (TypeDemand& of = demand_.types[index(type)]; of.wanted) divide(of, device_level_[index(type)]);
    if (demand_.of(DeviceType::gpu).wanted) KOORD_CHECK(read_gpu(shared));
    return {};
  }

  Result<> read_hints() {
    auto said = api::read_annotation<api::DeviceHints>(annotations_);
    if (!said) return bad("DeviceAllocateHint", said.error());
    static const api::DeviceHints kNone;
    const api::DeviceHints& hints = *said ? **said : kNone;
    for (const auto& [name, hint] : hints.hints) {
      KOORD_TRY(selector, selector_of(hint.selector, "Selector", name.view()));
      KOORD_TRY(vf_selector, selector_of(hint.vf_selector, "VFSelector", name.view()));
      const auto type = parse_device_type(name.view());
      if (!type) continue;
      TypeDemand& of = demand_.types[index(*type)];
      of.strategy = parse_strategy(hint.allocate_strategy.view());
      of.selector = std::move(selector);
      of.vf_selector = std::move(vf_selector);
      device_level_[index(*type)] = hint.exclusive_policy == "DeviceLevel";
      if (*type != DeviceType::gpu) continue;
      demand_.gpu.scoped = !hint.required_topology_scope.empty();
      demand_.gpu.scope = parse_scope(hint.required_topology_scope.view());
    }
    return {};
  }

  Result<> read_joint() {
    auto said = api::read_annotation<api::DeviceJointAllocate>(annotations_);
    if (!said) return bad("DeviceJointAllocate", said.error());
    if (!*said) return {};
    for (const Symbol& name : (*said)->device_types) {
      const auto type = parse_device_type(name.view());
      if (!type || !demand_.of(*type).wanted || demand_.of(*type).strategy == Strategy::apply_for_all)
        continue;
      if (std::ranges::find(demand_.joint, *type) == demand_.joint.end()) demand_.joint.push_back(*type);
    }
    demand_.same_pcie = (*said)->required_scope == "SamePCIe";
    return {};
  }

  Result<> read_gpu(std::int64_t shared) {
    auto said = api::read_annotation<api::GpuPartitionSpec>(annotations_);
    if (!said) return bad("GPUPartitionSpec", said.error());
    GpuDemand& gpu = demand_.gpu;
    TypeDemand& of = demand_.types[index(DeviceType::gpu)];
    divide_gpus(of, gpu, shared);
    if (*said) {
      gpu.by_partition = true;
      gpu.best_partition = (*said)->allocate_policy == "Restricted";
      gpu.bandwidth = (*said)->ring_bus_bandwidth;
    }
    gpu.isolation_provider = api::value_or(labels_, api::kGpuIsolationProviderLabel);
    demand_.secondary_can_wait = !gpu.shared;
    if (!gpu.shared) return {};
    for (std::size_t i = 0; i < kUnits; ++i) {
      const auto unit = static_cast<Unit>(i);
      gpu.by_template = gpu.by_template ||
                        (of.per_device.has(unit) &&
                         std::ranges::find(rules_.template_resources, resource_name(DeviceType::gpu, unit)) !=
                             rules_.template_resources.end());
    }
    if (!gpu.by_template) return {};
    match_templates(demand_, rules_);
    if (gpu.templates.empty()) return Error(Code::invalid, std::string(kNoTemplate));
    return {};
  }

  static Result<std::optional<api::Selector>> selector_of(const api::Box<api::LabelSelector>& said,
                                                          std::string_view what, std::string_view type) {
    if (!said) return std::optional<api::Selector>();
    auto selector = api::Selector::from(said.get());
    if (!selector)
      return Error(Code::invalid, fmt::format("invalid {} of DeviceHint, deviceType: {}, err: {}", what, type,
                                              selector.error().message()));
    return std::optional<api::Selector>(std::move(*selector));
  }

  static Error bad(std::string_view what, const Error& error) {
    return Error(Code::invalid, fmt::format("invalid {} annotation, err: {}", what, error.message()));
  }

  const api::SymbolMap& labels_;
  const api::SymbolMap& annotations_;
  const DemandRules& rules_;
  DeviceDemand demand_;
  std::array<bool, kDeviceTypes> device_level_{};
};

/// Its hint wants it where its annotations say that it was.
bool is_designated(const api::Pod& pod) {
  if (!has_hint(pod)) return false;
  const auto hint = hint_of(pod);
  if (!hint || !*hint || (*hint)->extensions.text.empty()) return false;
  const auto extensions = json::parse((*hint)->extensions.text);
  return extensions && json::find(*extensions, "DeviceShare") != nullptr;
}

bool is_of_devices(std::string_view name) {
  return std::ranges::any_of(kAllDeviceTypes, [name](DeviceType type) { return is_of(type, name); });
}

DeviceRequests device_requests(const PodInfo& pod, const ResourceNames& names) {
  DeviceRequests requests;
  for (const Amount& scalar : pod.requests.scalars) {
    const std::string_view name = names.name(scalar.resource);
    if (is_of_devices(name)) requests.emplace_back(name, scalar.amount);
  }
  return requests;
}

}  // namespace

bool DeviceDemand::none() const {
  return std::ranges::none_of(types, [](const TypeDemand& of) { return of.wanted; });
}

bool DeviceDemand::has_selectors() const {
  return std::ranges::any_of(types, [](const TypeDemand& of) { return of.wanted && of.selector; });
}

DeviceDemand read_demand(const DeviceRequests& requests, const api::SymbolMap& labels,
                         const api::SymbolMap& annotations, const DemandRules& rules) {
  return Reader(labels, annotations, rules).read(requests);
}

DeviceDemand read_demand(const PodInfo& info, const ResourceNames& names, const DemandRules& rules) {
  const api::Pod& pod = *info.pod;
  DeviceDemand demand =
      read_demand(device_requests(info, names), pod.metadata.labels, pod.metadata.annotations, rules);
  if (!demand.none() && !demand.is_rejected() && is_designated(pod))
    if (const auto given = given_by_annotations(pod); given && *given != nullptr) demand.designated = **given;
  return demand;
}

std::array<bool, kDeviceTypes> asked_types(const PodInfo& info, const ResourceNames& names) {
  std::array<bool, kDeviceTypes> asked{};
  for (const auto& [name, amount] : device_requests(info, names))
    for (const DeviceType type : kAllDeviceTypes) asked[index(type)] |= is_of(type, name);
  return asked;
}

std::vector<ResourceId> vendor_resources(const PodInfo& info, const ResourceNames& names) {
  std::vector<ResourceId> found;
  for (const Amount& scalar : info.requests.scalars)
    if (const std::string_view name = names.name(scalar.resource);
        is_of_devices(name) && !name.starts_with(api::kKoordinatorDomain))
      found.push_back(scalar.resource);
  return found;
}

PodInfo without(const PodInfo& info, const std::vector<ResourceId>& resources) {
  PodInfo less{.pod = info.pod, .requests = info.requests, .ports = {}};
  std::erase_if(less.requests.scalars, [&](const Amount& amount) {
    return std::ranges::find(resources, amount.resource) != resources.end();
  });
  return less;
}

/// Exactly as much of exactly these.
void match_templates(DeviceDemand& demand, const DemandRules& rules) {
  auto& matching = demand.gpu.templates;
  matching.clear();
  if (rules.templates == nullptr) return;
  const api::ResourceList wanted =
      write_amounts(DeviceType::gpu, demand.types[index(DeviceType::gpu)].per_device);
  for (const auto& [model, templates] : rules.templates->by_model) {
    std::vector<std::string> names;
    for (const auto& [name, resources] : templates)
      if (resources == wanted) names.push_back(name.str());
    if (!names.empty()) matching.emplace_back(model.str(), std::move(names));
  }
}

void sign_demand(const PodInfo& info, const ResourceNames& names, Signature& signature) {
  const api::Pod& pod = *info.pod;
  const api::SymbolMap& annotations = pod.metadata.annotations;
  const DeviceRequests requests = device_requests(info, names);
  const auto text = [&](std::string_view name) { return api::value_or(annotations, name); };
  const std::string_view allocated = text(api::DeviceAllocations::kAnnotation);
  signature.add(static_cast<std::int64_t>(requests.size()));
  // What cannot be read of it rejects the pod, also where it asks for nothing.
  signature.add(allocated);
  if (requests.empty()) return;
  for (const auto& [name, amount] : requests) {
    signature.add(name);
    signature.add(amount);
  }
  signature.add(is_designated(pod) ? 1 : 0);
  for (const std::string_view name : {api::DeviceHints::kAnnotation, api::DeviceJointAllocate::kAnnotation,
                                      api::GpuPartitionSpec::kAnnotation})
    signature.add(text(name));
  signature.add(api::value_or(pod.metadata.labels, api::kGpuIsolationProviderLabel));
}

}  // namespace koord::scheduling::device_share
