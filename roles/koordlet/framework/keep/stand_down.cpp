// StandDown: see stand_down.hpp.
#include "framework/keep/stand_down.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

#include "framework/keep/boot_file.hpp"
#include "koord/base/file.hpp"

namespace koord::koordlet {

namespace {

constexpr std::string_view kName = "koord.stand-down";
constexpr std::string_view kAsked = "asked", kDone = "done", kUndoRow = "undo";
constexpr std::string_view kPod = ", pod ";
constexpr BootFile::Kind kKind{.header = "koord-stand-down 1 ",
                               .what = "a file by which --cleanup asks an agent to end",
                               .row = "line",
                               .max_size = 4096,
                               .max_rows = 3};

}  // namespace

std::string stand_down_path(std::string_view lock) {
  return fmt::format("{}{}", lock.substr(0, lock.rfind('/') + 1), kName);
}

Result<std::optional<StandDown>> read_stand_down(const std::string& path, const std::string& boot_id) {
  std::optional<StandDown> found;
  BootFile file(kKind, {.path = path, .boot_id = boot_id});
  KOORD_CHECK(file.load([&](std::string_view row) {
    const std::string_view what = take_field(row);
    if (what == kAsked && !found) {
      StandDown& said = found.emplace();
      said.time = take_field(row);
      said.by = take_field(row);
      said.pod = take_field(row);
      return !said.time.empty();
    }
    if (what == kDone && found) return found->done = true;
    return what == kUndoRow;  // for people
  }));
  return found;
}

Result<> write_stand_down(const std::string& path, const std::string& boot_id, const StandDown& said) {
  std::string rows = fmt::format("{}\t{}\t{}\t{}\n", kAsked, said.time, said.by, said.pod);
  if (said.done) fmt::format_to(std::back_inserter(rows), "{}\n", kDone);
  fmt::format_to(std::back_inserter(rows), "{}\t{}, or remove this file\n", kUndoRow, kUndo);
  return BootFile(kKind, {.path = path, .boot_id = boot_id}).save(rows);
}

Result<bool> remove_stand_down(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return errno_error(errno, path);
}

std::string lock_holder(std::string_view node, std::string_view pod) {
  return fmt::format("node {}{}{}", node, pod.empty() ? "" : kPod, pod);
}

std::string pod_of_holder(std::string_view holder) {
  const auto at = holder.rfind(kPod);
  return at == std::string_view::npos ? std::string() : std::string(holder.substr(at + kPod.size()));
}

}  // namespace koord::koordlet
