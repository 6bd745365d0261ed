// Looking for the sandbox among the folders of a pod.
#include "framework/states/sandbox.hpp"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/host/file.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

constexpr std::string_view kConmon = "conmon-";  // CRI-O's monitor of a container

bool is_named(const api::PodStatus& status, std::string_view folder, host::CgroupDriver driver) {
  const auto names = [&](std::string_view full) {
    const auto container = host::parse_container_id(full);
    return container && host::container_folder(driver, *container) == folder;
  };
  for (const auto* statuses :
       {&status.container_statuses, &status.init_container_statuses, &status.ephemeral_container_statuses})
    for (const api::ContainerStatus& one : *statuses) {
      if (names(one.container_id)) return true;
      // It may take a moment to go after another one has come.
      const auto& last = one.last_state.terminated;
      if (last && names(last->container_id)) return true;
    }
  return false;
}

bool has_processes(const host::CgroupFs& cgroups, const std::string& group) {
  const auto path = cgroups.read_path(host::Knob::procs, group);
  if (!path) return false;
  host::HeldFile file(*path);
  host::ReadBuffer buffer;
  const auto text = file.read(buffer);
  return text && !host::trimmed(*text).empty();
}

}  // namespace

std::string sandbox_group(const PodInfo& pod, const host::CgroupFs& cgroups, host::CgroupDriver driver) {
  if (!pod.object) return {};
  const auto folder = cgroups.folder(host::Knob::procs, pod.group);
  if (!folder) return {};
  const auto names = host::list_folders(*folder);
  if (!names) return {};
  std::vector<std::string> found;
  for (const std::string& name : *names) {
    const std::string_view id = host::container_id_of_folder(driver, name);
    if (id.empty() || id.find(kConmon) != std::string_view::npos) continue;
    if (is_named(pod.object->status, name, driver)) continue;
    found.push_back(fmt::format("{}/{}", pod.group, name));
  }
  if (found.size() > 1)
    std::erase_if(found, [&](const auto& group) { return !has_processes(cgroups, group); });
  return found.size() == 1 ? std::move(found.front()) : std::string();
}

void find_sandboxes(PodList& list, const host::CgroupFs& cgroups, host::CgroupDriver driver) {
  std::map<const PodInfo*, std::shared_ptr<const PodInfo>> changed;
  for (auto& pod : list.all) {
    if (!pod->sandbox_group.empty()) continue;
    std::string group = sandbox_group(*pod, cgroups, driver);
    if (group.empty()) continue;
    auto with = std::make_shared<PodInfo>(*pod);
    with->sandbox_group = std::move(group);
    changed.emplace(pod.get(), with);
  }
  for (auto* pods : {&list.all, &list.pods})
    for (auto& pod : *pods)
      if (const auto it = changed.find(pod.get()); it != changed.end()) pod = it->second;
}

}  // namespace koord::koordlet
