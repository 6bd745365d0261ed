// Following the inventory.
#include "collectors/groups/tracked_groups.hpp"

#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace koord::koordlet {

namespace {

constexpr metrics::Metric kApplicationUsage{
    .name = "koordlet_host_application_resource_usage",
    .type = metrics::Type::gauge,
    .help = "What a host application uses: CPUs, or bytes of memory",
    .labels = {"host_application_name", "resource", "priority_class", "qos"}};

}  // namespace

const metrics::Table TrackedGroups::kMetrics = {&kApplicationUsage};

TrackedGroups::TrackedGroups(const CollectorContext& context, GroupSampler& sampler)
    : context_(context), sampler_(sampler), application_usage_(context.metrics.gauges(kApplicationUsage)) {}

TrackedGroups::~TrackedGroups() {
  for (auto& pod : pods) close(*pod);
  for (SampledApplication& application : applications) close(application);
}

bool TrackedGroups::stays_inside(std::string_view group) {
  const auto folder = context_.cgroups.folder(host::Knob::cpu_stat, group);
  if (folder || folder.error().code() != Code::invalid) return true;
  context_.faults.garbled("cgroup", group, folder.error());
  return false;
}

void TrackedGroups::open(GroupState& state, const GroupMetrics& metrics, std::string_view entity,
                         std::string_view group) {
  sampler_.open(state, metrics, entity);
  state.readable = stays_inside(group);
}

void TrackedGroups::close(SampledPod& pod) {
  for (SampledContainer& container : pod.containers) sampler_.close(container.state);
  sampler_.close(pod.state);
}

void TrackedGroups::close(SampledApplication& application) {
  sampler_.close(application.state);
  const HostApplication& info = application.info;
  for (const std::string_view resource : {"cpu", "memory"})
    application_usage_.remove({info.name, resource, to_string(info.priority_class), to_string(info.qos)});
}

void TrackedGroups::follow(const Inventory& inventory) {
  follow_pods(inventory);
  follow_applications(inventory);
  groups_ = pods.size() + applications.size();
  for (const auto& pod : pods) {
    groups_ += pod->containers.size();
    pod->in_best_effort = inventory.in_best_effort(pod->info->group);
  }
  for (SampledApplication& application : applications)
    application.in_best_effort = inventory.in_best_effort(application.info.group);
}

void TrackedGroups::follow_pods(const Inventory& inventory) {
  // Both are ascending by uid.
  std::vector<std::unique_ptr<SampledPod>> before = std::exchange(pods, {});
  pods.reserve(inventory.pods.size());
  auto old = before.begin();
  for (const auto& info : inventory.pods) {
    for (; old != before.end() && (*old)->info->uid < info->uid; ++old) close(**old);
    if (old != before.end() && (*old)->info->uid == info->uid) {
      SampledPod& pod = **old;
      if (pod.info != info) {
        if (pod.info->group != info->group) {
          sampler_.moved(pod.state);
          pod.state.readable = stays_inside(info->group);
        }
        pod.info = info;
        follow_containers(pod);
      }
      pods.push_back(std::move(*old++));
      continue;
    }
    auto pod = std::make_unique<SampledPod>();
    pod->info = info;
    open(pod->state, kPodMetrics, info->uid, info->group);
    follow_containers(*pod);
    pods.push_back(std::move(pod));
  }
  for (; old != before.end(); ++old) close(**old);
}

void TrackedGroups::follow_containers(SampledPod& pod) {
  std::vector<SampledContainer> before = std::exchange(pod.containers, {});
  std::multimap<std::string_view, SampledContainer*> known;
  for (SampledContainer& container : before) known.emplace(container.id, &container);
  for (const ContainerInfo& info : pod.info->containers) {
    const auto at = known.find(info.id);
    if (at == known.end()) {
      SampledContainer& fresh = pod.containers.emplace_back(SampledContainer{info.id, info.group, {}});
      open(fresh.state, kContainerMetrics, info.id, info.group);
      continue;
    }
    SampledContainer& old = *at->second;
    known.erase(at);
    if (old.group != info.group) {
      sampler_.moved(old.state);
      old.group = info.group;
      old.state.readable = stays_inside(info.group);
    }
    pod.containers.push_back(std::move(old));
  }
  for (const auto& [id, gone] : known) sampler_.close(gone->state);
}

void TrackedGroups::follow_applications(const Inventory& inventory) {
  std::vector<SampledApplication> before = std::exchange(applications, {});
  const auto key = [](const HostApplication& of) {
    return std::tuple(std::string_view(of.name), std::string_view(of.group), of.qos, of.priority_class);
  };
  std::multimap<decltype(key(std::declval<const HostApplication&>())), SampledApplication*> known;
  for (SampledApplication& application : before) known.emplace(key(application.info), &application);
  for (const HostApplication& info : inventory.host_applications) {
    if (const auto old = known.find(key(info)); old != known.end()) {
      SampledApplication& application = *old->second;
      known.erase(old);
      applications.push_back(std::move(application));
      continue;
    }
    applications.push_back(
        SampledApplication{.info = info, .state = {}, .in_best_effort = false, .cpu = {}, .memory = {}});
  }
  for (const auto& [name, gone] : known) close(*gone);
  // After the old ones: one that changed has the same name, and so the same series.
  for (SampledApplication& application : applications) {
    const HostApplication& info = application.info;
    if (application.state.cpu_series) continue;
    open(application.state, kHostApplicationMetrics, info.name, info.group);
    application.cpu =
        application_usage_.with({info.name, "cpu", to_string(info.priority_class), to_string(info.qos)});
    application.memory =
        application_usage_.with({info.name, "memory", to_string(info.priority_class), to_string(info.qos)});
  }
}

}  // namespace koord::koordlet
