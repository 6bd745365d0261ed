// DeviceShape: see device_shape.hpp.
#include "scheduling/plugins/device_share/devices/device_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "koord/api/koordinator/devices.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"

namespace koord::scheduling::device_share {

namespace {

constexpr std::int32_t kMaxNumaNode = 63;
constexpr std::size_t kMostFunctions = 4096, kMostGroups = 64;  // of one device
constexpr std::size_t kMostTexts = 8;

Places bit(std::size_t place) { return Places{1} << place; }

/// What cannot be used, the first few things of it.
class Unread {
 public:
  void add(const std::string& text) {
    if (texts_ > kMostTexts) return;
    if (!text_.empty()) text_ += "; ";
    text_ += texts_ == kMostTexts ? "and more" : text;
    ++texts_;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::size_t texts_ = 0;
};

class Maker {
 public:
  explicit Maker(DeviceShape& shape) : shape_(shape) {}

  void read(const api::Device& device) {
    for (const DeviceType type : kAllDeviceTypes) read_type(device, type);
    make_gpu_tree();
    if (const auto label = device.metadata.labels.find(api::kSecondaryDeviceWellPlannedLabel);
        label != nullptr && (*label == "true" || *label == "false"))
      shape_.secondary_well_planned = *label == "true";
    read_partitions(device);
  }

  void read(const api::Node& node) {
    const api::SymbolMap& labels = node.metadata.labels;
    shape_.vendor = api::value_or(labels, api::kGpuVendorLabel);
    shape_.model = api::value_or(labels, api::kGpuModelLabel);
    shape_.isolation_provider = api::value_or(labels, api::kGpuIsolationProviderLabel);
    if (shape_.has_partitions) return;
    const std::string_view model = shape_.model;
    const bool nvidia = shape_.vendor.empty() || shape_.vendor == "nvidia";
    shape_.honors_partitions = api::honors_gpu_partitions(labels);
    if (!nvidia || (model != "H100" && model != "H800" && model != "H20")) return;
    shape_.has_partitions = true;
    for (const std::int32_t size : {1, 2, 4, 8}) {
      DeviceShape::Partitions& of = shape_.partitions.emplace_back();
      of.size = size;
      for (std::int32_t first = 0; first < 8; first += size) {
        std::vector<std::int32_t> minors(static_cast<std::size_t>(size));
        std::iota(minors.begin(), minors.end(), first);
        of.partitions.push_back(partition(minors, 1, {}));
      }
      of.best = of.partitions.size();
    }
  }

  std::string unread() { return unread_.take(); }

 private:
  void read_type(const api::Device& device, DeviceType type) {
    DeviceShape::OfType& of = shape_.types[index(type)];
    std::map<std::int32_t, const api::DeviceInfo*> infos;
    for (const api::DeviceInfo& info : device.spec.devices)
      if (info.type == to_string(type)) {
        // A device without a minor is the first one.
        const std::int32_t minor = info.minor.value_or(0);
        if (minor >= 0) infos[minor] = &info;
      }
    if (infos.size() > kMostPlaces) {
      unread_.add(fmt::format("spec.devices: {} of type {}: the first {} by minor count", infos.size(),
                              to_string(type), kMostPlaces));
      infos.erase(std::next(infos.begin(), kMostPlaces), infos.end());
    }
    of.first = static_cast<std::uint32_t>(shape_.devices);
    for (const auto& [minor, info] : infos) {
      DeviceShape::Device& made = of.devices.emplace_back();
      made.minor = minor;
      made.total = read_amounts(type, info->resources);
      made.labels = info->labels;
      place_on_machine(*info, made);
      read_functions(*info, of, made);
      of.all |= bit(of.devices.size() - 1);
    }
    shape_.devices += of.devices.size();
  }

  void place_on_machine(const api::DeviceInfo& info, DeviceShape::Device& to) {
    if (!info.topology) return;
    const api::DeviceTopology& topology = *info.topology;
    to.has_topology = true;
    if (topology.node_id >= 0 && topology.node_id <= kMaxNumaNode) to.numa_node = topology.node_id;
    const auto known = std::ranges::find(switches_, topology.pcie_id);
    to.pcie = static_cast<std::int32_t>(known - switches_.begin());
    if (known == switches_.end()) switches_.push_back(topology.pcie_id);
    shape_.switches = switches_.size();
  }

  void read_functions(const api::DeviceInfo& info, DeviceShape::OfType& of, DeviceShape::Device& to) {
    std::size_t groups = 0;
    for (const api::VirtualFunctionGroup& group : info.vf_groups) {
      of.has_functions = true;
      if (++groups > kMostGroups) {
        unread_.add(fmt::format("spec.devices: {} {}: the first {} groups of virtual functions count",
                                info.type.view(), to.minor, kMostGroups));
        break;
      }
      const auto known = std::ranges::find(of.function_labels, group.labels);
      const auto number = static_cast<std::uint32_t>(known - of.function_labels.begin());
      if (known == of.function_labels.end()) of.function_labels.push_back(group.labels);
      for (const api::VirtualFunction& function : group.vfs) {
        if (to.functions.size() == kMostFunctions) {
          unread_.add(fmt::format("spec.devices: {} {}: the first {} virtual functions count",
                                  info.type.view(), to.minor, kMostFunctions));
          break;
        }
        to.functions.push_back({function.bus_id, function.minor, number});
      }
    }
    std::ranges::stable_sort(to.functions, {}, &DeviceShape::Function::bus_id);
    to.first_word = static_cast<std::uint32_t>(shape_.words);
    shape_.words += (to.functions.size() + 63) / 64;
  }

  void make_gpu_tree() {
    const DeviceShape::OfType& gpus = shape_.of(DeviceType::gpu);
    std::map<std::int32_t, std::map<std::string_view, Places>> tree;
    for (std::size_t i = 0; i < gpus.devices.size(); ++i) {
      const DeviceShape::Device& gpu = gpus.devices[i];
      if (!gpu.has_topology) return;
      tree[gpu.numa_node][switches_[static_cast<std::size_t>(gpu.pcie)]] |= bit(i);
    }
    for (const auto& [numa_node, of_node] : tree) {
      DeviceShape::Group& node = shape_.gpu_tree.emplace_back();
      for (const auto& [name, places] : of_node) {
        node.gpus |= places;
        node.inner.push_back({places, {}});
      }
    }
  }

  DeviceShape::Partition partition(std::span<const std::int32_t> minors, std::int32_t score,
                                   std::optional<api::Quantity> bandwidth) const {
    DeviceShape::Partition made;
    for (const std::int32_t minor : minors) {
      const std::size_t place = shape_.place(DeviceType::gpu, minor);
      if (place == kMostPlaces) {
        made.whole = false;
        continue;
      }
      if ((made.mask & bit(place)) != 0) continue;
      made.gpus.push_back(static_cast<std::uint8_t>(place));
      made.mask |= bit(place);
    }
    made.score = score;
    made.bandwidth = std::move(bandwidth);
    return made;
  }

  void read_partitions(const api::Device& device) {
    shape_.honors_partitions = api::honors_gpu_partitions(device.metadata.labels);
    auto table = api::read_annotation<api::GpuPartitions>(device.metadata.annotations);
    if (!table) return unread_.add(table.error().message());
    if (!*table) return;
    shape_.has_partitions = true;
    for (const auto& [key, partitions] : (*table)->by_size) {
      DeviceShape::Partitions of;
      // The annotation's keys are whole numbers, or it could not be read.
      std::from_chars(key.view().data(), key.view().data() + key.size(), of.size);
      for (const api::GpuPartition& each : partitions) {
        // A GPU that is written twice is one.
        const std::set<std::int32_t> minors(each.minors.begin(), each.minors.end());
        const std::size_t written = each.minors.size();
        if (std::cmp_equal(written, of.size) && minors.size() == written)
          of.partitions.push_back(partition(each.minors, each.allocation_score, each.ring_bus_bandwidth));
        else
          unread_.add(fmt::format("{}: [{}]: a partition of {} GPUs is not given",
                                  api::GpuPartitions::kAnnotation, key.view(),
                                  std::cmp_equal(written, of.size) ? minors.size() : written));
      }
      if (of.partitions.empty()) continue;
      std::ranges::stable_sort(of.partitions, std::ranges::greater(), &DeviceShape::Partition::score);
      of.best = static_cast<std::size_t>(
          std::ranges::count(of.partitions, of.partitions.front().score, &DeviceShape::Partition::score));
      shape_.partitions.push_back(std::move(of));
    }
  }

  DeviceShape& shape_;
  std::vector<std::string> switches_;
  Unread unread_;
};

/// All that a shape follows from, and nothing else: not which devices are healthy, nor their ids.
std::string key_of(const api::Device* device, const api::Node* node) {
  fmt::memory_buffer key;
  const auto out = std::back_inserter(key);
  const auto text = [&](std::string_view what) { fmt::format_to(out, "{}:{}", what.size(), what); };
  const auto map = [&](const api::SymbolMap& labels) {
    fmt::format_to(out, "{{{}", labels.size());
    for (const auto& [name, value] : labels) {
      text(name.view());
      text(value.view());
    }
  };
  if (node != nullptr)
    for (const std::string_view label : {api::kGpuVendorLabel, api::kGpuModelLabel,
                                         api::kGpuIsolationProviderLabel, api::kGpuPartitionPolicyLabel})
      text(api::value_or(node->metadata.labels, label));
  fmt::format_to(out, "|{}{}", node != nullptr ? 1 : 0, device != nullptr ? 1 : 0);
  if (device == nullptr) return fmt::to_string(key);
  for (const std::string_view label : {api::kSecondaryDeviceWellPlannedLabel, api::kGpuPartitionPolicyLabel})
    text(api::value_or(device->metadata.labels, label));
  // What is too long to be read is not kept as a key either.
  text(api::value_or(device->metadata.annotations, api::GpuPartitions::kAnnotation)
           .substr(0, api::kMaxAnnotation + 1));
  for (const api::DeviceInfo& info : device->spec.devices) {
    text(info.type.view());
    fmt::format_to(out, "m{}", info.minor.value_or(0));
    map(info.labels);
    for (const auto& [name, amount] : info.resources) {
      text(name.view());
      fmt::format_to(out, "{}", amount.value());
    }
    if (info.topology) {
      fmt::format_to(out, "t{}", info.topology->node_id);
      text(info.topology->pcie_id);
    }
    for (const api::VirtualFunctionGroup& group : info.vf_groups) {
      map(group.labels);
      for (const api::VirtualFunction& function : group.vfs) {
        fmt::format_to(out, "v{}", function.minor);
        text(function.bus_id);
      }
    }
    fmt::format_to(out, ";");
  }
  return fmt::to_string(key);
}

}  // namespace

std::size_t DeviceShape::place(DeviceType type, std::int32_t minor) const {
  const auto& of = this->of(type).devices;
  const auto it = std::ranges::lower_bound(of, minor, {}, &Device::minor);
  return it != of.end() && it->minor == minor ? static_cast<std::size_t>(it - of.begin()) : kMostPlaces;
}

Places DeviceShape::on(DeviceType type, NumaMask nodes) const {
  if (nodes == 0) return of(type).all;
  Places on = 0;
  const auto& devices = of(type).devices;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Device& device = devices[i];
    if (device.has_topology && (device.numa_node == kNowhere || (nodes >> device.numa_node & 1U) != 0))
      on |= bit(i);
  }
  return on;
}

NumaMask DeviceShape::numa_nodes() const {
  NumaMask nodes = 0;
  for (const OfType& of : types)
    for (const Device& device : of.devices)
      if (device.numa_node != kNowhere) nodes |= NumaMask{1} << device.numa_node;
  return nodes;
}

const DeviceShape::Partitions* DeviceShape::partitions_of(int gpus) const {
  const auto it = std::ranges::find(partitions, gpus, &Partitions::size);
  return it != partitions.end() ? &*it : nullptr;
}

std::shared_ptr<const DeviceShape> KnownShapes::read(const api::Device* device, const api::Node* node) {
  auto& known = known_[key_of(device, node)];
  if (auto shape = known.lock()) return shape;
  auto made = std::make_shared<DeviceShape>();
  Maker maker(*made);
  if (device != nullptr) maker.read(*device);
  if (node != nullptr) maker.read(*node);
  made->unread = maker.unread();
  known = made;
  if (known_.size() >= sweep_at_) {
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = 2 * known_.size() + 64;
  }
  return made;
}

}  // namespace koord::scheduling::device_share
