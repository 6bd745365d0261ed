// What a pod asks for of devices: see request.hpp.
#include "support/reference/devices/request.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "koord/api/koordinator/scheduling.hpp"
#include "koord/api/rules/pod_requests.hpp"

namespace koord::reference {

namespace {

const std::string kKoordGpu(api::kGpu), kShared(api::kGpuShared), kCore(api::kGpuCore),
    kMemory(api::kGpuMemory), kRatio(api::kGpuMemoryRatio), kRdma(api::kRdma), kFpga(api::kFpga),
    kNpuCore(api::kNpuCore), kNpuCpu(api::kNpuCpu), kNpuDvpp(api::kNpuDvpp), kNvidia(api::kNvidiaGpu),
    kAmd(api::kAmdGpu), kDcu(api::kHygonDcu);

std::string type_of(const std::string& resource) {
  if (resource == kRdma) return "rdma";
  if (resource == kFpga) return "fpga";
  static const std::set<std::string> kGpus{kKoordGpu, kShared,  kCore,   kMemory, kRatio, kNpuCore,
                                           kNpuCpu,   kNpuDvpp, kNvidia, kAmd,    kDcu};
  return kGpus.contains(resource) ? "gpu" : "";
}

bool may_be_together(const std::set<std::string>& names) {
  static const std::set<std::set<std::string>> kTable{{kNvidia},
                                                      {kAmd},
                                                      {kDcu},
                                                      {kKoordGpu},
                                                      {kMemory},
                                                      {kRatio},
                                                      {kCore, kMemory},
                                                      {kCore, kRatio},
                                                      {kNpuCore, kRatio},
                                                      {kShared, kMemory},
                                                      {kShared, kRatio},
                                                      {kShared, kCore, kMemory},
                                                      {kShared, kCore, kRatio},
                                                      {kShared, kNpuCore, kNpuCpu, kMemory},
                                                      {kShared, kNpuCore, kNpuCpu, kNpuDvpp, kMemory},
                                                      {kRdma},
                                                      {kFpga}};
  return kTable.contains(names);
}

bool in_hundreds(std::int64_t n) { return n <= 100 || n % 100 == 0; }
bool several(std::int64_t n) { return n > 100 && n % 100 == 0; }

}  // namespace

DeviceAmounts device_amounts(const std::string& type, const api::ResourceList& list) {
  static const std::map<std::string, std::set<std::string>> kHas{
      {"gpu", {kCore, kMemory, kRatio, kNpuCore, kNpuCpu, kNpuDvpp}}, {"rdma", {kRdma}}, {"fpga", {kFpga}}};
  DeviceAmounts out;
  for (const auto& [name, amount] : list)
    if (kHas.at(type).contains(name.str())) out[name.str()] = amount.value();
  return out;
}

std::int64_t amount_of(const DeviceAmounts& amounts, std::string_view name) {
  const auto at = amounts.find(std::string(name));
  return at != amounts.end() ? at->second : 0;
}

std::map<std::string, DeviceAmounts> device_requests(const api::Pod& pod) {
  std::map<std::string, DeviceAmounts> requests;
  for (const auto& [name, amount] : api::pod_requests(pod))
    if (const std::string type = type_of(name.str()); !type.empty() && amount.value() != 0)
      requests[type][name.str()] = amount.value();
  return requests;
}

DeviceRequest::DeviceRequest(const Config& config, const api::Pod& pod) { rejected = read(config, pod); }

std::string DeviceRequest::read(const Config& config, const api::Pod& pod) {
  const std::map<std::string, DeviceAmounts> requests = device_requests(pod);
  for (const char* type : kDeviceTypes)
    if (requests.contains(type))
      if (std::string wrong = add(type, requests.at(type)); !wrong.empty()) return wrong;
  const auto had = api::read_annotation<api::DeviceAllocations>(pod.metadata.annotations);
  if (!had) return had.error().message();
  if (types.empty()) return {};
  if (std::string wrong = read_hints(pod); !wrong.empty()) return wrong;
  for (auto& [type, of] : types) {
    if (type == "gpu") continue;
    std::int64_t& asked = of.asked.begin()->second;
    of.each = of.asked;
    if (several(asked)) {
      of.count = asked / 100;
      of.strategy.clear();
      of.each.begin()->second = 100;
    } else if (of.strategy == "RequestsAsCount") {
      of.count = asked;
      of.each.begin()->second = of.alone ? 100 : 1;
    }
  }
  if (wants("gpu"))
    if (std::string wrong = read_gpus(config, pod); !wrong.empty()) return wrong;
  const std::string_view hint = api::value_or(pod.metadata.annotations, api::kSchedulingHint);
  if (hint.find("\"extensions\":{\"DeviceShare\"") != std::string_view::npos && *had) {
    const auto has_any = [&](const char* type) {
      const auto* const of = (*had)->devices.find(type);
      return of != nullptr && !of->empty();
    };
    if (std::ranges::any_of(kDeviceTypes, has_any)) again = **had;
  }
  return {};
}

/// The combinations that there are, and what they come to.
std::string DeviceRequest::add(const std::string& type, const DeviceAmounts& requests) {
  std::set<std::string> names;
  for (const auto& [name, amount] : requests) names.insert(name);
  for (const auto& [name, amount] : requests)
    if ((name == kKoordGpu || name == kRdma || name == kFpga) && !in_hundreds(amount))
      return fmt::format("invalid resource unit {}: {}", name, amount);
  std::string wrong = fmt::format("invalid resource device requests: [{}]", fmt::join(names, " "));
  if (!may_be_together(names)) return wrong;
  DeviceAmounts asked;
  for (const auto& [name, amount] : requests) {
    if (name == kShared) {
      shared_ = amount;
    } else if (name == kNvidia || name == kAmd || name == kDcu || name == kKoordGpu) {
      asked[kCore] = asked[kRatio] = name == kKoordGpu ? amount : 100 * amount;
    } else {
      asked[name] = amount;
    }
  }
  const std::int64_t core = amount_of(asked, kCore), ratio = amount_of(asked, kRatio);
  if (names.contains(kNpuCpu)) {
    if (shared_ > 1 || amount_of(asked, kNpuDvpp) > 100) return wrong;
  } else if (names.contains(kShared)) {
    for (const std::int64_t part : {core, ratio})
      if (part % shared_ != 0 || part / shared_ > 100) return wrong;
  } else if (!in_hundreds(core) || !in_hundreds(ratio)) {
    return wrong;
  }
  types[type].asked = asked;
  return {};
}

std::string DeviceRequest::read_hints(const api::Pod& pod) {
  const auto hints = api::read_annotation<api::DeviceHints>(pod.metadata.annotations);
  if (!hints) return "invalid DeviceAllocateHint annotation, err: " + std::string(hints.error().message());
  if (*hints)
    for (const auto& [type, hint] : (*hints)->hints) {
      if (!wants(type.str())) continue;
      OfType& of = types.at(type.str());
      of.strategy = hint.allocate_strategy.str();
      of.alone = hint.exclusive_policy == "DeviceLevel";
      if (hint.selector) of.selector = Selector::of(&*hint.selector);
      if (hint.vf_selector) of.functions = Selector::of(&*hint.vf_selector);
      if (type == "gpu") scope = hint.required_topology_scope.str();
    }
  const auto together = api::read_annotation<api::DeviceJointAllocate>(pod.metadata.annotations);
  if (!together)
    return "invalid DeviceJointAllocate annotation, err: " + std::string(together.error().message());
  if (!*together) return {};
  for (const Symbol& type : (*together)->device_types)
    if (wants(type.str()) && types.at(type.str()).strategy != "ApplyForAll" &&
        std::ranges::find(joint, type.str()) == joint.end())
      joint.push_back(type.str());
  same_pcie = (*together)->required_scope == "SamePCIe";
  return {};
}

std::string DeviceRequest::read_gpus(const Config& config, const api::Pod& pod) {
  const auto partition = api::read_annotation<api::GpuPartitionSpec>(pod.metadata.annotations);
  if (!partition)
    return "invalid GPUPartitionSpec annotation, err: " + std::string(partition.error().message());
  if (*partition) {
    by_partition = true;
    highest_only = (*partition)->allocate_policy == "Restricted";
    bandwidth = (*partition)->ring_bus_bandwidth;
  }
  isolation = api::value_or(pod.metadata.labels, api::kGpuIsolationProviderLabel);
  OfType& of = types.at("gpu");
  const std::int64_t ratio = amount_of(of.asked, kRatio);
  of.count = shared_ > 0 ? shared_ : several(ratio) ? ratio / 100 : 1;
  for (const auto& [name, amount] : of.asked)
    if (name != kMemory || !of.asked.contains(kRatio)) of.each[name] = amount / of.count;
  shares = of.each.contains(kRatio) ? of.each.at(kRatio) < 100 : of.each.contains(kMemory);
  if (!shares) return {};
  for (const auto& [name, amount] : of.each)
    if (config.devices.template_resources.contains(name)) by_template = true;
  if (!by_template) return {};
  for (const auto& [model, all] : config.devices.templates.by_model)
    for (const auto& [name, resources] : all)
      if (resources.size() == of.each.size() && device_amounts("gpu", resources) == of.each)
        templates[model.str()].push_back(name.str());
  return templates.empty() ? "no matched GPU shared resource template" : "";
}

}  // namespace koord::reference
