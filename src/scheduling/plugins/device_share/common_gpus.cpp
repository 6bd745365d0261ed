// See common_gpus.hpp.
#include "scheduling/plugins/device_share/common_gpus.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>

#include "koord/api/types/scheduling_v1alpha1/device.hpp"

namespace koord::scheduling::device_share {

constexpr metrics::Metric kGivenTwice{
    .name = "scheduler_gpus_given_twice",
    .type = metrics::Type::gauge,
    .help = "GPUs of a node that pods have by DeviceShare and claims have, too: another program gave them.",
    .labels = {"node_name"},
    .max_series = 20'000};

constexpr metrics::Metric kNameless{
    .name = "scheduler_gpus_without_common_name",
    .type = metrics::Type::gauge,
    .help = "1 for a node whose Device and ResourceSlices both list GPUs that have no name in common.",
    .labels = {"node_name"},
    .max_series = 20'000};

std::vector<CommonDevices::Gpu> gpu_names(const DeviceShape& shape, const api::Device& device) {
  std::vector<CommonDevices::Gpu> names(shape.of(DeviceType::gpu).devices.size());
  for (const api::DeviceInfo& info : device.spec.devices) {
    if (info.type.view() != to_string(DeviceType::gpu) || !info.minor) continue;
    const std::size_t place = shape.place(DeviceType::gpu, *info.minor);
    if (place >= names.size()) continue;
    names[place] = {info.id, info.topology ? info.topology->bus_id : std::string()};
  }
  return names;
}

SharedGpus shared_gpus(const DeviceLedger& ledger) {
  const NodeDevices& devices = ledger.devices();
  SharedGpus shared{devices.taken[index(DeviceType::gpu)], devices.gone[index(DeviceType::gpu)] > 0};
  for (const DeviceLedger::Holder& holder : ledger.holders())
    if (holder.given->unclear[index(DeviceType::gpu)]) shared.unlisted = true;
  return shared;
}

void GpuDoubts::measure(metrics::Registry& registry) {
  twice_ = registry.gauges(kGivenTwice);
  nameless_ = registry.gauges(kNameless);
  measured_ = true;
  for (const auto& [node, doubt] : doubts_) count(node, doubt);
}

void GpuDoubts::look(const DeviceShape& shape, const api::Device& device) {
  const std::string& node = device.metadata.name;
  const Doubt now{common_.twice(node), common_.nameless(node)};
  const auto before = doubts_.find(node);
  if (now == (before != doubts_.end() ? before->second : Doubt{})) return;
  if (now == Doubt{}) return forget(node);
  doubts_[node] = now;
  count(node, now);
  if (now.twice != 0) {
    std::vector<std::int32_t> minors;
    for (CommonDevices::Gpus rest = now.twice; rest != 0; rest &= rest - 1)
      minors.push_back(
          shape.of(DeviceType::gpu).devices[static_cast<std::size_t>(std::countr_zero(rest))].minor);
    complaints_.say(
        "Device", device.metadata,
        fmt::format("pods have GPUs by DeviceShare that ResourceClaims have, too (minors {}): nobody is "
                    "evicted, and nothing more of these is given until one side has given them back",
                    fmt::join(minors, ", ")));
  }
  if (now.nameless)
    complaints_.say(
        "Device", device.metadata,
        "this Device and ResourceSlices both list GPUs of the node, and no name says which are the same, "
        "so that both may be given to different pods: have the driver publish the attribute uuid or "
        "resource.kubernetes.io/pciBusID, or give out the node's GPUs in one way only");
}

void GpuDoubts::forget(const std::string& node) {
  if (doubts_.erase(node) != 0) count(node, {});
}

void GpuDoubts::count(const std::string& node, const Doubt& doubt) const {
  if (!measured_) return;
  const auto set = [&](const metrics::Family<metrics::Gauge>& family, int value) {
    if (value != 0)
      family.with({node}).set(value);
    else
      family.remove({node});
  };
  set(twice_, std::popcount(doubt.twice));
  set(nameless_, doubt.nameless ? 1 : 0);
}

}  // namespace koord::scheduling::device_share
