// ContainerEvents: see container_events.hpp.
#include "framework/states/container_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "koord/host/file.hpp"

namespace koord::koordlet {

namespace {

constexpr std::uint32_t kMask = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR;
/// The kubelet's files have their name once they are whole.
constexpr std::uint32_t kKubeletMask = IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR;
/// Which resources of containers it means to write, which are in force, which CPUs are given out.
constexpr std::string_view kCheckpoints[] = {"allocated_pods_state", "actuated_pods_state",
                                             "cpu_manager_state"};

/// "pod<uid>", or "kubepods-besteffort-pod<uid>.slice", behind a root of the kubelet's as it may be.
bool is_pod_folder(std::string_view name) {
  const auto kubepods = name.find("kubepods");
  return name.starts_with("pod") ||
         (kubepods != std::string_view::npos && name.find("-pod", kubepods) != std::string_view::npos);
}

}  // namespace

ContainerEvents::ContainerEvents(boost::asio::any_io_executor executor, const host::CgroupFs& cgroups,
                                 std::function<void()> changed)
    : executor_(std::move(executor)), cgroups_(cgroups), changed_(std::move(changed)) {
  if (auto opened = FileWatch::open(executor_)) files_.emplace(std::move(*opened));
}

Result<> ContainerEvents::add(const std::string& folder, Holds holds) {
  if (watches_.contains(folder)) return {};
  auto watch = files_->add(folder, holds == Holds::checkpoints ? kKubeletMask : kMask);
  if (!watch && watch.error().code() == Code::not_found) return {};
  if (!watch) return std::move(watch).error();
  watches_[folder] = *watch;
  folders_[*watch] = {folder, holds};
  return holds == Holds::pods ? add_pods(folder) : Result<>();
}

void ContainerEvents::look_again() {
  const auto before = std::exchange(folders_, {});
  watches_.clear();
  // A folder has its number still, another one of its name has a new one, what has gone has none.
  for (const auto& [watch, folder] : before) (void)add(folder.path, folder.holds);
  for (const auto& [watch, folder] : before)
    if (!folders_.contains(watch)) files_->remove(watch);
}

Result<> ContainerEvents::add_pods(const std::string& folder) {
  const auto names = host::list_folders(folder);
  if (!names) return {};  // it has just gone
  for (const std::string& name : *names)
    if (is_pod_folder(name)) KOORD_CHECK(add(fmt::format("{}/{}", folder, name), Holds::containers));
  return {};
}

Result<> ContainerEvents::watch(host::CgroupDriver driver, std::string_view kubelet_root) {
  if (!files_) return Error(Code::io, "inotify: the kernel has no room for another watcher");
  using host::KubeQos;
  for (const KubeQos qos : {KubeQos::guaranteed, KubeQos::burstable, KubeQos::besteffort}) {
    KOORD_TRY(folder,
              cgroups_.folder(host::Knob::cpu_quota, host::kubepods_folder(driver, qos, kubelet_root)));
    KOORD_CHECK(add(folder, Holds::pods));
  }
  return {};
}

Result<> ContainerEvents::watch_kubelet(std::string_view folder) {
  if (!files_) return {};
  return add(std::string(folder), Holds::checkpoints);
}

int ContainerEvents::pod_folders() const {
  int classes = 0, pods = 0;
  for (const auto& [watch, folder] : folders_) {
    classes += folder.holds == Holds::pods ? 1 : 0;
    pods += folder.holds == Holds::containers ? 1 : 0;
  }
  return classes > 0 ? pods : -1;
}

void ContainerEvents::take(const std::vector<FileEvent>& events) {
  bool changed = false;
  for (const FileEvent& event : events) {
    if (event.watch < 0) {  // events were lost
      changed = true;
      look_again();
      continue;
    }
    const auto it = folders_.find(event.watch);
    if (it == folders_.end()) continue;
    if ((event.mask & IN_IGNORED) != 0) {
      watches_.erase(it->second.path);
      folders_.erase(it);
      changed = true;
      continue;
    }
    if (it->second.holds == Holds::checkpoints) {
      changed = changed || std::ranges::find(kCheckpoints, event.name) != std::ranges::end(kCheckpoints);
      continue;
    }
    if ((event.mask & IN_ISDIR) == 0) continue;
    changed = true;
    if (it->second.holds == Holds::pods && (event.mask & (IN_CREATE | IN_MOVED_TO)) != 0 &&
        is_pod_folder(event.name)) {
      const std::string path = fmt::format("{}/{}", it->second.path, event.name);
      (void)add(path, Holds::containers);  // where it cannot be watched, its containers are found later
    }
  }
  if (changed) changed_();
}

Task<Result<>> ContainerEvents::run() {
  if (!files_) co_return Result<>();
  for (;;) {
    KOORD_CO_TRY(events, co_await files_->next());
    take(events);
  }
}

}  // namespace koord::koordlet
