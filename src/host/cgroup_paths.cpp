#include "koord/host/cgroup_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace koord::host {

namespace {

struct RuntimeRow {
  std::string_view scheme;  // in a container status
  std::string_view scope;   // prefix of the systemd scope
  ContainerRuntime runtime;
};
constexpr std::array<RuntimeRow, 4> kRuntimes = {
    {{"docker", "docker-", ContainerRuntime::docker},
     {"containerd", "cri-containerd-", ContainerRuntime::containerd},
     {"pouch", "pouch-", ContainerRuntime::pouch},
     {"cri-o", "crio-", ContainerRuntime::crio}}};
constexpr std::string_view kScopeSuffix = ".scope";
constexpr std::string_view kCrioFolder = "crio-";  // which names its own so without systemd, too
constexpr std::size_t kMaxIdLength = 255;          // NAME_MAX

bool is_plain_name(std::string_view id, std::string_view also = "_-") {
  return !id.empty() && id.size() <= kMaxIdLength && std::all_of(id.begin(), id.end(), [&](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           also.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

/// As the kubelet calls it: "kubelet/kubepods/burstable".
std::string name_of(KubeQos qos, std::string_view root) {
  std::string name(root);
  if (!name.empty()) name += '/';
  name += "kubepods";
  if (qos == KubeQos::burstable) name += "/burstable";
  if (qos == KubeQos::besteffort) name += "/besteffort";
  return name;
}

/// A slice's name has those of all that it is in, with dashes between: a dash of its own becomes '_'.
std::string folder_of(CgroupDriver driver, std::string_view name) {
  if (driver == CgroupDriver::cgroupfs) return std::string(name);
  std::string folder, slice;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    if (!slice.empty()) slice += '-';
    std::replace_copy(name.begin() + static_cast<std::ptrdiff_t>(at),
                      name.begin() + static_cast<std::ptrdiff_t>(end), std::back_inserter(slice), '-', '_');
    if (!folder.empty()) folder += '/';
    folder += slice;
    folder += ".slice";
    at = end + 1;
  }
  return folder;
}

}  // namespace

std::string kubepods_folder(CgroupDriver driver, KubeQos qos, std::string_view root) {
  return folder_of(driver, name_of(qos, root));
}

std::string pod_folder(CgroupDriver driver, KubeQos qos, std::string_view uid, std::string_view root) {
  return folder_of(driver, fmt::format("{}/pod{}", name_of(qos, root), uid));
}

Result<std::string> kubelet_root(std::string_view text) {
  std::string root;
  while (!text.empty()) {
    const auto slash = text.find('/');
    const std::string_view part = text.substr(0, slash);
    text = slash == std::string_view::npos ? std::string_view{} : text.substr(slash + 1);
    if (part.empty()) continue;
    if (part == "." || part == ".." || !is_plain_name(part, "._-"))
      return Error(Code::invalid, fmt::format("\"{}\" is no part of a cgroup's path", part.substr(0, 64)));
    if (!root.empty()) root += '/';
    root += part;
  }
  return root;
}

Result<ContainerId> parse_container_id(std::string_view text) {
  const auto colon = text.find("://");
  if (colon == std::string_view::npos)
    return Error(Code::invalid,
                 "containerID \"" + std::string(text.substr(0, 128)) + "\": expected RUNTIME://ID");
  const std::string_view scheme = text.substr(0, colon);
  const std::string_view id = text.substr(colon + 3);
  const auto* const row = std::find_if(kRuntimes.begin(), kRuntimes.end(),
                                       [&](const RuntimeRow& r) { return r.scheme == scheme; });
  if (row == kRuntimes.end())
    return Error(
        Code::invalid,
        fmt::format("containerID: unknown runtime \"{}\", expected docker, containerd, pouch or cri-o",
                    scheme.substr(0, 64)));
  if (!is_plain_name(id)) return Error(Code::invalid, "containerID: the id is empty or not a plain name");
  return ContainerId{row->runtime, std::string(id)};
}

std::string container_folder(CgroupDriver driver, const ContainerId& container) {
  if (driver == CgroupDriver::cgroupfs)
    return container.runtime == ContainerRuntime::crio ? fmt::format("{}{}", kCrioFolder, container.id)
                                                       : container.id;
  for (const RuntimeRow& row : kRuntimes)
    if (row.runtime == container.runtime)
      return std::string(row.scope) + container.id + std::string(kScopeSuffix);
  return container.id;
}

std::string_view container_id_of_folder(CgroupDriver driver, std::string_view folder) {
  if (driver == CgroupDriver::cgroupfs) {
    if (!is_plain_name(folder)) return {};
    return folder.starts_with(kCrioFolder) ? folder.substr(kCrioFolder.size()) : folder;
  }
  if (!folder.ends_with(kScopeSuffix)) return {};
  folder.remove_suffix(kScopeSuffix.size());
  for (const RuntimeRow& row : kRuntimes)
    if (folder.starts_with(row.scope)) return folder.substr(row.scope.size());
  return {};
}

bool is_below(std::string_view group, std::string_view of) {
  if (of.empty()) return !group.empty();
  return group.size() > of.size() && group.starts_with(of) && group[of.size()] == '/';
}

bool is_within(std::string_view group, std::string_view of) { return group == of || is_below(group, of); }

KubeQos qos_of_path(std::string_view path) {
  if (path.find("besteffort") != std::string_view::npos) return KubeQos::besteffort;
  if (path.find("burstable") != std::string_view::npos) return KubeQos::burstable;
  return KubeQos::guaranteed;
}

}  // namespace koord::host
