// StartedContainers: see started_containers.hpp.
#include "framework/states/started_containers.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "framework/objects/pod_info.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::koordlet {

namespace {

bool names(const api::List<api::Container>& containers, std::string_view name) {
  return std::ranges::any_of(containers, [&](const api::Container& one) { return one.name == name; });
}

/// Where the container's status is, or would be; null: the pod has none of that name.
api::List<api::ContainerStatus>* statuses_of(api::Pod& pod, std::string_view name) {
  if (names(pod.spec.containers, name)) return &pod.status.container_statuses;
  if (names(pod.spec.init_containers, name)) return &pod.status.init_container_statuses;
  if (names(pod.spec.ephemeral_containers, name)) return &pod.status.ephemeral_container_statuses;
  return nullptr;
}

/// Whether the kubelet has said anything of this very container: then that counts, be it that it has ended.
bool is_told(const api::Pod& pod, std::string_view full_id) {
  for (const auto* statuses : {&pod.status.container_statuses, &pod.status.init_container_statuses,
                               &pod.status.ephemeral_container_statuses})
    for (const api::ContainerStatus& one : *statuses) {
      const auto& last = one.last_state.terminated;
      if (one.container_id == full_id || (last && last->container_id == full_id)) return true;
    }
  return false;
}

/// The pod as the kubelet would tell of it; null: as it tells.
std::shared_ptr<const api::Pod> with(const api::Pod& pod, std::span<const StartedContainer> started) {
  std::shared_ptr<api::Pod> changed;
  for (const StartedContainer& one : started) {
    if (is_told(pod, one.full_id) || !host::parse_container_id(one.full_id)) continue;
    if (!changed) changed = std::make_shared<api::Pod>(pod);
    auto* const statuses = statuses_of(*changed, one.name);
    if (statuses == nullptr) continue;
    auto status = std::find_if(statuses->begin(), statuses->end(),
                               [&](const api::ContainerStatus& had) { return had.name == one.name; });
    if (status == statuses->end()) {
      api::ContainerStatus fresh;
      fresh.name = Symbol(one.name);
      statuses->push_back(std::move(fresh));
      status = std::prev(statuses->end());
    }
    // One that goes on beside it, as the runtime says, is not taken away.
    if (!status->container_id.empty() &&
        std::ranges::find(started, status->container_id, &StartedContainer::full_id) != started.end())
      continue;
    status->container_id = one.full_id;
    status->state = {};
    status->state.running.emplace();
  }
  if (!changed || changed->status == pod.status) return nullptr;
  return changed;
}

auto place_of(StartedContainers::Pods& pods, std::string_view uid) {
  return std::ranges::lower_bound(pods, uid, {}, [](const auto& pod) { return std::string_view(pod->uid); });
}

}  // namespace

bool StartedContainers::take(std::vector<StartedContainer> running, MonoTime now) {
  std::ranges::sort(running);
  if (running.size() > kMost) running.resize(kMost);
  taken_ = now;
  if (running == running_) return false;
  running_ = std::move(running);
  return true;
}

bool StartedContainers::is_old(MonoTime now) const {
  return now - taken_ > kBehind &&
         std::ranges::any_of(made_, [](const auto& one) { return one.second.with != nullptr; });
}

void StartedContainers::add_to(Pods& pods, Pods& all, host::CgroupDriver driver,
                               std::string_view kubelet_root, PodTermsReaders readers) {
  std::map<std::string, Made, std::less<>> made;
  for (auto first = running_.begin(); first != running_.end();) {
    const auto last =
        std::find_if(first, running_.end(), [&](const auto& one) { return one.pod_uid != first->pod_uid; });
    const std::span<const StartedContainer> started(first, last);
    first = last;
    const auto place = place_of(all, started.front().pod_uid);
    if (place == all.end() || (*place)->uid != started.front().pod_uid || !(*place)->object) continue;
    Made one{*place, nullptr, {started.begin(), started.end()}};
    const auto before = made_.find(one.of->uid);
    if (before != made_.end() && before->second.of == one.of && before->second.started == one.started) {
      one.with = before->second.with;
    } else if (auto object = with(*one.of->object, started)) {
      auto read = read_pod(std::move(object), driver, kubelet_root, readers);
      if (read && read->runs && !read->ended) {
        const bool named = std::ranges::any_of(read->info.containers, [&](const ContainerInfo& container) {
          return container.group == one.of->sandbox_group;
        });
        if (!named) read->info.sandbox_group = one.of->sandbox_group;
        one.with = std::make_shared<const PodInfo>(std::move(read->info));
      }
    }
    if (one.with) {
      const auto running = place_of(pods, one.of->uid);
      if (running != pods.end() && (*running)->uid == one.of->uid)
        *running = one.with;
      else
        pods.insert(running, one.with);
      *place = one.with;
    }
    made.emplace(one.of->uid, std::move(one));
  }
  made_ = std::move(made);
}

}  // namespace koord::koordlet
