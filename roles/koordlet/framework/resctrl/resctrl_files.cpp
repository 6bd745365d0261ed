// KernelResctrl: see resctrl_files.hpp.
#include "framework/resctrl/resctrl_files.hpp"

#include <fmt/format.h>

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <optional>
#include <string_view>

#include "koord/base/file.hpp"
#include "koord/host/file.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxGroups = 4096;
constexpr std::size_t kMaxTasks = std::size_t{64} << 20;  // bytes of such a file
constexpr unsigned kFolderMode = 0755;
/// What the kernel has in the folder beside groups.
constexpr std::array<std::string_view, 3> kOwnFolders = {"info", "mon_data", "mon_groups"};

/// On the folder of a mount that koord has made: it goes with the mount, while another one may well get the
/// device's number.
constexpr const char* kMark = "trusted.koord";
constexpr std::string_view kMonitoring = "mon_groups";

/// What a link says; nothing: it cannot be asked.
std::optional<std::string> target_of(const std::string& link) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = ::readlink(link.c_str(), text.data(), text.size());
  if (size < 0) return std::nullopt;
  return std::string(text.data(), static_cast<std::size_t>(size));
}

/// Of the agent's own mounts. Without CAP_SYS_PTRACE nobody tells which those of process 1 are: then it goes
/// by how mounts spread.
bool is_seen_by_host(const std::string& proc, const std::string& folder) {
  const auto own = target_of(fmt::format("{}self/ns/mnt", proc));
  const auto hosts = target_of(fmt::format("{}1/ns/mnt", proc));
  if (own && own == hosts) return true;
  const auto table = read_file(fmt::format("{}self/mountinfo", proc));
  return table && mounts_reach_host(*table, folder);
}

Result<std::vector<std::int32_t>> read_tasks(const std::string& path) {
  KOORD_TRY(text, read_file(path, kMaxTasks));
  auto tasks = host::parse_tasks(text);
  if (!tasks) return std::move(tasks).error().context(path);
  std::erase(*tasks, 0);  // of another namespace; and who writes 0 moves itself
  return tasks;
}

}  // namespace

bool mounts_reach_host(std::string_view mountinfo, std::string_view folder) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  bool reach = false;
  std::size_t closest = 0;
  std::string_view line;
  while (host::next_line(mountinfo, line)) {
    // ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS [FIELDS...] - TYPE SOURCE OPTIONS
    for (int i = 0; i < 4; ++i) (void)host::next_word(line);
    const std::string_view place = host::next_word(line);
    (void)host::next_word(line);
    if (place.empty() || !host::is_within(folder, place == "/" ? "" : place)) continue;
    if (place.size() < closest) continue;  // of two at the same place the later covers the earlier
    closest = place.size();
    bool shared = false, copied = false;
    for (auto word = host::next_word(line); !word.empty() && word != "-"; word = host::next_word(line)) {
      shared = shared || word.starts_with("shared:");
      copied = copied || word.starts_with("master:");
    }
    reach = shared && !copied;
  }
  return reach;
}

KernelResctrl::KernelResctrl(const host::CgroupFs& cgroups, const host::Root& root)
    : cgroups_(cgroups), root_(root), folder_(host::resctrl_folder(root)) {}

std::string KernelResctrl::path(const std::string& group, std::string_view file) const {
  return fmt::format("{}{}{}{}", folder_, group, group.empty() || file.empty() ? "" : "/", file);
}

Result<host::ResctrlInfo> KernelResctrl::info() { return host::read_resctrl_info(root_); }

Result<> KernelResctrl::mount() {
  const Error none(Code::unsupported, "this kernel or this machine cannot divide caches (it has no resctrl)");
  const auto known = read_file(fmt::format("{}filesystems", root_.proc));
  if (!known || !host::exists(folder_)) return none;
  std::string_view rest = *known, line;
  bool has = false;
  while (host::next_line(rest, line)) {
    for (auto word = host::next_word(line); !word.empty(); word = host::next_word(line))
      has = has || word == "resctrl";
  }
  if (!has) return none;
  if (!is_seen_by_host(root_.proc, folder_))
    return Error(Code::unsupported,
                 fmt::format("{} is not mounted, and what this agent mounts only the agent would see (its "
                             "mounts are its own): mount it on the host",
                             folder_));
  if (::mount("resctrl", folder_.c_str(), "resctrl", 0, nullptr) != 0)
    return errno_error(errno, fmt::format("mounting {}", folder_));
  (void)::setxattr(folder_.c_str(), kMark, "", 0, 0);  // without it the device's number has to do
  return {};
}

Result<> KernelResctrl::unmount() {
  if (::umount2(folder_.c_str(), 0) == 0 || errno == EINVAL || errno == ENOENT) return {};
  return errno_error(errno, fmt::format("unmounting {}", folder_));
}

Result<std::string> KernelResctrl::which() {
  struct stat found {};
  if (::stat(folder_.c_str(), &found) != 0) return errno_error(errno, folder_);
  const bool marked = ::getxattr(folder_.c_str(), kMark, nullptr, 0) >= 0;
  return fmt::format("{:x}{}", found.st_dev, marked ? " koord" : "");
}

Result<bool> KernelResctrl::is_bare() {
  KOORD_TRY(controlled, groups());
  if (!controlled.empty()) return false;
  const std::string folder = path(std::string(kMonitoring));
  if (!host::exists(folder)) return true;  // nothing is counted here
  KOORD_TRY(counted, host::list_folders(folder));
  return counted.empty();
}

Result<std::vector<std::string>> KernelResctrl::groups() {
  KOORD_TRY(folders, host::list_folders(folder_));
  std::erase_if(folders, [](const std::string& name) {
    return std::find(kOwnFolders.begin(), kOwnFolders.end(), name) != kOwnFolders.end();
  });
  return folders;
}

bool KernelResctrl::exists(const std::string& group) { return host::exists(path(group)); }

Result<bool> KernelResctrl::is_watched(const std::string& group) {
  const std::string folder = path(group, kMonitoring);
  if (!host::exists(folder)) return false;
  KOORD_TRY(inside, host::list_folders(folder));
  return !inside.empty();
}

Result<> KernelResctrl::make(const std::string& group) {
  const std::string folder = path(group);
  if (::mkdir(folder.c_str(), kFolderMode) == 0 || errno == EEXIST) return {};
  if (errno == ENOSPC)
    return Error(Code::too_large, fmt::format("{}: this machine has no room for another group", folder));
  return errno_error(errno, folder);
}

Result<> KernelResctrl::remove(const std::string& group) {
  const std::string folder = path(group);
  if (group.empty() || ::rmdir(folder.c_str()) == 0 || errno == ENOENT) return {};
  return errno_error(errno, folder);
}

Result<std::vector<std::int32_t>> KernelResctrl::tasks(const std::string& group) {
  return read_tasks(path(group, "tasks"));
}

Result<std::vector<std::int32_t>> KernelResctrl::tasks_below(const std::string& cgroup) {
  if (cgroup.empty()) return Error(Code::invalid, "the root of a hierarchy is nobody's");
  KOORD_TRY(top, cgroups_.folder(host::Knob::tasks, cgroup));
  if (!host::exists(top)) return Error(Code::not_found, fmt::format("{}: it does not exist", top));
  const host::KnobRow& row = host::row(host::Knob::tasks);
  const std::string_view name = cgroups_.version() == host::CgroupVersion::v2 ? row.v2_file : row.v1_file;
  std::vector<std::pair<std::string, int>> folders{{top, 0}};
  std::vector<std::int32_t> all;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const auto [folder, depth] = folders[i];
    // One that went meanwhile has none; one whose threads the kernel does not tell has them below it.
    if (const auto found = read_tasks(fmt::format("{}/{}", folder, name)))
      all.insert(all.end(), found->begin(), found->end());
    if (depth == kMaxDepth || host::is_leaf_folder(folder)) continue;
    if (const auto below = host::list_folders(folder))
      for (const std::string& one : *below)
        if (folders.size() < kMaxGroups) folders.emplace_back(fmt::format("{}/{}", folder, one), depth + 1);
  }
  return all;
}

Result<> KernelResctrl::move(std::int32_t task, const std::string& group) {
  const std::string file = path(group, "tasks");
  auto moved = host::write_file(file, fmt::format("{}\n", task));
  if (moved || host::exists(fmt::format("{}{}", root_.proc, task))) return moved;
  return Error(Code::not_found, fmt::format("task {} has ended", task));
}

}  // namespace koord::koordlet
