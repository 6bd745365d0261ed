// Choosing folders: see state_dirs.hpp.
#include "framework/keep/state_dirs.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "koord/host/cgroup_paths.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

/// Of a line "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAGS...] - TYPE SOURCE OPTIONS". Blanks in paths are
/// octal there; the folders that are asked for have none.
struct Mount {
  std::string_view root, point, type;
};

std::string_view next_word(std::string_view& line) {
  const auto end = line.find(' ');
  const std::string_view word = line.substr(0, end);
  line = end == std::string_view::npos ? std::string_view{} : line.substr(end + 1);
  return word;
}

std::optional<Mount> parse_mount(std::string_view line) {
  const auto dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  std::string_view behind = line.substr(dash + 3);
  Mount mount;
  for (int i = 0; i < 3; ++i) next_word(line);
  mount.root = next_word(line);
  mount.point = next_word(line);
  mount.type = next_word(behind);
  return mount;
}

std::string_view without_slash(std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  return folder;
}

std::string with_slash(std::string_view folder) {
  std::string out(folder);
  if (!out.ends_with('/')) out += '/';
  return out;
}

bool can_be_written(const std::string& folder) {
  (void)::mkdir(folder.c_str(), 0750);  // what it says does not matter: it is looked at below
  struct stat found {};
  return ::stat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         ::access(folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

bool outlives_pod(std::string_view folder, std::string_view mountinfo) {
  folder = without_slash(folder);
  std::optional<Mount> on;
  std::string_view line;
  while (host::next_line(mountinfo, line)) {
    const auto mount = parse_mount(line);
    // The closest one; of two at the same place the later covers the earlier.
    if (mount && host::is_within(folder, mount->point == "/" ? "" : mount->point) &&
        (!on || mount->point.size() >= on->point.size()))
      on = mount;
  }
  if (!on) return true;  // nobody says otherwise
  if (on->type == "overlay") return false;
  if (on->root.find("/volumes/kubernetes.io~empty-dir/") != std::string_view::npos) return false;
  // A folder of the host's /run is a part of a tmpfs; one that is a whole tmpfs was made for the pod.
  return on->type != "tmpfs" || on->root != "/";
}

StateDir choose_folder(std::span<const std::string> candidates, std::string_view mountinfo) {
  StateDir chosen;
  for (const bool has_to_last : {true, false}) {
    for (const std::string& candidate : candidates) {
      const bool lasts = mountinfo.empty() || outlives_pod(candidate, mountinfo);
      if (!chosen.folder.empty() || (has_to_last && !lasts) || !can_be_written(candidate)) continue;
      chosen.folder = with_slash(candidate);
      chosen.lasts = lasts;
    }
  }
  for (const std::string& candidate : candidates)
    if (std::string other = with_slash(candidate); other != chosen.folder)
      chosen.others.push_back(std::move(other));
  return chosen;
}

}  // namespace koord::koordlet
