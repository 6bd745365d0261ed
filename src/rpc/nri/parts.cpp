// Parts of NRI's messages: see parts.hpp.
#include "parts.hpp"

#include <algorithm>
#include <utility>

namespace koord::rpc::nri {

namespace {

using Pairs = google::protobuf::RepeatedPtrField<wire::KeyValue>;

/// Of a key that stands twice the last counts, as in every map of the wire.
Map map_of(Pairs& from) {
  Map map;
  map.reserve(static_cast<std::size_t>(from.size()));
  for (wire::KeyValue& one : from)
    map.emplace_back(std::move(*one.mutable_key()), std::move(*one.mutable_value()));
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  std::stable_sort(map.begin(), map.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  map.erase(map.begin(), std::unique(map.rbegin(), map.rend(), same).base());
  return map;
}

void put(const Map& from, Pairs& to) {
  for (const auto& [key, value] : from) {
    wire::KeyValue& one = *to.Add();
    one.set_key(key);
    one.set_value(value);
  }
}

Mount mount_of(wire::Mount&& from) {
  Mount mount{std::move(*from.mutable_source()),
              std::move(*from.mutable_destination()),
              std::move(*from.mutable_type()),
              {}};
  for (std::string& option : *from.mutable_options()) mount.options.push_back(std::move(option));
  return mount;
}

void put(const Mount& mount, wire::Mount& to) {
  to.set_source(mount.source);
  to.set_destination(mount.destination);
  to.set_type(mount.type);
  for (const std::string& option : mount.options) to.add_options(option);
}

Device device_of(wire::LinuxDevice&& from) {
  Device device{
      std::move(*from.mutable_path()), std::move(*from.mutable_type()), from.major(), from.minor(), {}};
  if (from.has_file_mode()) device.file_mode = from.file_mode().value();
  return device;
}

void put(const Device& device, wire::LinuxDevice& to) {
  to.set_path(device.path);
  to.set_type(device.type);
  to.set_major(device.major);
  to.set_minor(device.minor);
  if (device.file_mode) to.mutable_file_mode()->set_value(*device.file_mode);
}

}  // namespace

Pod pod_of(wire::PodSandbox&& from) {
  Pod pod;
  pod.id = std::move(*from.mutable_id());
  pod.name = std::move(*from.mutable_name());
  pod.uid = std::move(*from.mutable_uid());
  pod.ns = std::move(*from.mutable_ns());
  pod.labels = map_of(*from.mutable_labels());
  pod.annotations = map_of(*from.mutable_annotations());
  pod.runtime_handler = std::move(*from.mutable_runtime_handler());
  if (!from.has_on_linux()) return pod;
  wire::LinuxPodSandbox& linux_pod = *from.mutable_on_linux();
  pod.cgroup_parent = std::move(*linux_pod.mutable_cgroup_parent());
  if (linux_pod.has_pod_overhead()) pod.overhead = resources_of(std::move(*linux_pod.mutable_pod_overhead()));
  if (linux_pod.has_pod_resources())
    pod.resources = resources_of(std::move(*linux_pod.mutable_pod_resources()));
  return pod;
}

Container container_of(wire::Container&& from) {
  Container container;
  container.id = std::move(*from.mutable_id());
  container.pod_id = std::move(*from.mutable_pod_sandbox_id());
  container.name = std::move(*from.mutable_name());
  container.state = static_cast<State>(std::clamp(from.state(), 0, 4));
  container.labels = map_of(*from.mutable_labels());
  container.annotations = map_of(*from.mutable_annotations());
  for (std::string& one : *from.mutable_env()) container.env.push_back(std::move(one));
  for (wire::Mount& mount : *from.mutable_mounts()) container.mounts.push_back(mount_of(std::move(mount)));
  if (!from.has_on_linux()) return container;
  wire::LinuxContainer& of_linux = *from.mutable_on_linux();
  for (wire::LinuxDevice& one : *of_linux.mutable_devices())
    container.devices.push_back(device_of(std::move(one)));
  container.resources = resources_of(std::move(*of_linux.mutable_resources()));
  if (of_linux.has_oom_score_adj()) container.oom_score_adj = of_linux.oom_score_adj().value();
  container.cgroups_path = std::move(*of_linux.mutable_cgroups_path());
  return container;
}

Container container_of(wire::ContainerState&& from) {
  Container container;
  container.id = std::move(*from.mutable_id());
  container.pod_id = std::move(*from.mutable_pod_sandbox_id());
  container.name = std::move(*from.mutable_name());
  container.state = static_cast<State>(std::clamp(from.state(), 0, 4));
  if (!from.has_on_linux()) return container;
  container.resources = resources_of(std::move(*from.mutable_on_linux()->mutable_resources()));
  if (from.on_linux().has_oom_score_adj()) container.oom_score_adj = from.on_linux().oom_score_adj().value();
  return container;
}

Resources resources_of(wire::LinuxResources&& from) {
  Resources resources;
  if (from.has_memory()) {
    if (from.memory().has_limit()) resources.memory_limit = from.memory().limit().value();
    if (from.memory().has_swap()) resources.memory_swap = from.memory().swap().value();
  }
  if (from.has_cpu()) {
    wire::LinuxCPU& cpu = *from.mutable_cpu();
    if (cpu.has_shares()) resources.cpu_shares = cpu.shares().value();
    if (cpu.has_quota()) resources.cpu_quota = cpu.quota().value();
    if (cpu.has_period()) resources.cpu_period = cpu.period().value();
    resources.cpuset_cpus = std::move(*cpu.mutable_cpus());
    resources.cpuset_mems = std::move(*cpu.mutable_mems());
  }
  if (from.has_rdt_class()) resources.rdt_class = std::move(*from.mutable_rdt_class()->mutable_value());
  resources.unified = map_of(*from.mutable_unified());
  return resources;
}

Update update_of(wire::ContainerUpdate&& from) {
  Update update;
  update.container_id = std::move(*from.mutable_container_id());
  update.resources = resources_of(std::move(*from.mutable_on_linux()->mutable_resources()));
  update.ignore_failure = from.ignore_failure();
  return update;
}

Adjustment adjustment_of(wire::ContainerAdjustment&& from) {
  Adjustment adjustment;
  adjustment.annotations = map_of(*from.mutable_annotations());
  for (wire::KeyValue& one : *from.mutable_env())
    adjustment.env.emplace_back(std::move(*one.mutable_key()), std::move(*one.mutable_value()));
  for (wire::Mount& mount : *from.mutable_mounts()) adjustment.mounts.push_back(mount_of(std::move(mount)));
  for (wire::CDIDevice& one : *from.mutable_cdi_devices())
    adjustment.cdi_devices.push_back(std::move(*one.mutable_name()));
  if (!from.has_on_linux()) return adjustment;
  wire::LinuxContainerAdjustment& of_linux = *from.mutable_on_linux();
  for (wire::LinuxDevice& one : *of_linux.mutable_devices())
    adjustment.devices.push_back(device_of(std::move(one)));
  adjustment.resources = resources_of(std::move(*of_linux.mutable_resources()));
  if (of_linux.has_oom_score_adj()) adjustment.oom_score_adj = of_linux.oom_score_adj().value();
  return adjustment;
}

void put(const Pod& pod, wire::PodSandbox& to) {
  to.set_id(pod.id);
  to.set_name(pod.name);
  to.set_uid(pod.uid);
  to.set_ns(pod.ns);
  put(pod.labels, *to.mutable_labels());
  put(pod.annotations, *to.mutable_annotations());
  to.set_runtime_handler(pod.runtime_handler);
  to.mutable_on_linux()->set_cgroup_parent(pod.cgroup_parent);
  if (pod.overhead) put(*pod.overhead, *to.mutable_on_linux()->mutable_pod_overhead());
  if (pod.resources) put(*pod.resources, *to.mutable_on_linux()->mutable_pod_resources());
}

void put(const Container& container, wire::Container& to) {
  to.set_id(container.id);
  to.set_pod_sandbox_id(container.pod_id);
  to.set_name(container.name);
  to.set_state(static_cast<int>(container.state));
  put(container.labels, *to.mutable_labels());
  put(container.annotations, *to.mutable_annotations());
  for (const std::string& one : container.env) to.add_env(one);
  for (const Mount& mount : container.mounts) put(mount, *to.add_mounts());
  wire::LinuxContainer& of_linux = *to.mutable_on_linux();
  for (const Device& device : container.devices) put(device, *of_linux.add_devices());
  put(container.resources, *of_linux.mutable_resources());
  if (container.oom_score_adj) of_linux.mutable_oom_score_adj()->set_value(*container.oom_score_adj);
  of_linux.set_cgroups_path(container.cgroups_path);
}

void put(const Container& container, wire::ContainerState& to) {
  to.set_id(container.id);
  to.set_pod_sandbox_id(container.pod_id);
  to.set_name(container.name);
  to.set_state(static_cast<int>(container.state));
  put(container.resources, *to.mutable_on_linux()->mutable_resources());
  if (container.oom_score_adj)
    to.mutable_on_linux()->mutable_oom_score_adj()->set_value(*container.oom_score_adj);
}

void put(const Resources& resources, wire::LinuxResources& to) {
  if (resources.memory_limit) to.mutable_memory()->mutable_limit()->set_value(*resources.memory_limit);
  if (resources.memory_swap) to.mutable_memory()->mutable_swap()->set_value(*resources.memory_swap);
  if (resources.cpu_shares) to.mutable_cpu()->mutable_shares()->set_value(*resources.cpu_shares);
  if (resources.cpu_quota) to.mutable_cpu()->mutable_quota()->set_value(*resources.cpu_quota);
  if (resources.cpu_period) to.mutable_cpu()->mutable_period()->set_value(*resources.cpu_period);
  if (!resources.cpuset_cpus.empty()) to.mutable_cpu()->set_cpus(resources.cpuset_cpus);
  if (!resources.cpuset_mems.empty()) to.mutable_cpu()->set_mems(resources.cpuset_mems);
  if (resources.rdt_class) to.mutable_rdt_class()->set_value(*resources.rdt_class);
  put(resources.unified, *to.mutable_unified());
}

void put(const Update& update, wire::ContainerUpdate& to) {
  to.set_container_id(update.container_id);
  put(update.resources, *to.mutable_on_linux()->mutable_resources());
  to.set_ignore_failure(update.ignore_failure);
}

void put(const Adjustment& adjustment, wire::ContainerAdjustment& to) {
  put(adjustment.annotations, *to.mutable_annotations());
  put(adjustment.env, *to.mutable_env());
  for (const Mount& mount : adjustment.mounts) put(mount, *to.add_mounts());
  for (const Device& device : adjustment.devices) put(device, *to.mutable_on_linux()->add_devices());
  if (!adjustment.resources.empty()) put(adjustment.resources, *to.mutable_on_linux()->mutable_resources());
  if (adjustment.oom_score_adj)
    to.mutable_on_linux()->mutable_oom_score_adj()->set_value(*adjustment.oom_score_adj);
  for (const std::string& name : adjustment.cdi_devices) to.add_cdi_devices()->set_name(name);
}

}  // namespace koord::rpc::nri
