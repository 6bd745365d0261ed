// The agent's file: see device_file.hpp.
#include "passes/device_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "koord/base/file.hpp"

namespace koord::device_daemon {

namespace {

namespace fs = std::filesystem;

/// Upstream's name for it.
std::string workshop_of(const fs::path& path) { return (path.parent_path() / "ic-device-tmp").string(); }

/// A link there would lead a write elsewhere.
Result<> make_folder(const std::string& path, unsigned mode) {
  struct stat status {};
  if (::mkdir(path.c_str(), mode) == 0) return {};
  if (errno != EEXIST) return errno_error(errno, path);
  if (::lstat(path.c_str(), &status) != 0) return errno_error(errno, path);
  if (!S_ISDIR(status.st_mode)) return Error(Code::invalid, fmt::format("{}: no folder", path));
  return {};
}

}  // namespace

Result<> write_device_file(const std::string& path, std::span<const api::XpuDevice> devices) {
  const fs::path target(path);
  std::error_code failed;
  fs::create_directories(target.parent_path(), failed);
  if (failed) return errno_error(failed.value(), target.parent_path().string());
  const std::string workshop = workshop_of(target);
  KOORD_CHECK(make_folder(workshop, 0700));
  const std::string draft = fmt::format("{}/{}", workshop, target.filename().string());
  KOORD_CHECK(replace_file(draft, api::xpu_devices_text(devices), {.mode = 0644}));
  if (std::rename(draft.c_str(), path.c_str()) != 0) return errno_error(errno, path);
  return {};
}

Result<> remove_device_file(const std::string& path) {
  std::error_code failed;
  fs::remove_all(workshop_of(path), failed);
  if (failed) return errno_error(failed.value(), workshop_of(path));
  if (std::remove(path.c_str()) != 0 && errno != ENOENT) return errno_error(errno, path);
  return {};
}

}  // namespace koord::device_daemon
