// VgpuFolders: see vgpu_folders.hpp.
#include "framework/devices/vgpu_folders.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <vector>

namespace koord::koordlet {

namespace {

constexpr std::string_view kContainers = "containers", kCache = ".cache";
/// Where programs and libraries of a container's image may lie.
constexpr std::array<std::string_view, 18> kShared = {
    "",       "/usr", "/usr/lib", "/usr/lib64", "/usr/local", "/usr/local/lib", "/lib",
    "/lib64", "/bin", "/usr/bin", "/usr/sbin",  "/etc",       "/usr/local/bin", "/usr/local/lib64",
    "/opt",   "/var", "/var/lib", "/tmp"};
constexpr std::size_t kMostEntries = 64, kMostFolders = 4096;
constexpr nanoseconds kUnused = std::chrono::minutes(5);
constexpr mode_t kForAll = 0777, kForRoot = 0700;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

/// As Kubernetes makes them, or a static pod's: 32 digits.
bool is_pod_uid(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (text.size() == 32) return std::ranges::all_of(text, is_digit);
  return text.size() == 36 && std::ranges::all_of(text, [&](char c) { return is_digit(c) || c == '-'; });
}

/// Names in a folder, `most` of them; "." and ".." are none.
std::vector<std::string> names_in(int folder, std::size_t most) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, CloseFolder> stream(
      ::fdopendir(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  while (stream != nullptr && names.size() < most) {
    const dirent* const entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    if (const std::string_view name(entry->d_name); name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 && text.front() != '.' && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

}  // namespace

std::string vgpu_home(std::string_view library) {
  const std::size_t slash = library.rfind('/');
  if (!library.starts_with('/')) return {};
  const std::string_view home = library.substr(0, slash);
  if (home.find("//") != std::string_view::npos || home.find("/.") != std::string_view::npos ||
      std::ranges::find(kShared, home) != kShared.end())
    return {};
  return std::string(home);
}

std::string vgpu_folder_name(std::string_view pod_uid, std::string_view container) {
  if (!is_name(pod_uid) || !is_name(container)) return {};
  return fmt::format("{}_{}", pod_uid, container);
}

VgpuFolders::VgpuFolders(const host::Root& root, std::string_view library)
    : host_(fmt::format("{}1/root", root.proc)), home_(vgpu_home(library)) {}

std::string VgpuFolders::folder() const { return fmt::format("{}/{}", home_, kContainers); }

/// Links of the host's lead within the host.
Result<Fd> VgpuFolders::open(std::string_view path, int flags) const {
  const Fd top(::open(host_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top) return errno_error(errno, host_);
  const std::string below = fmt::format(".{}", path);
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT;
  Fd found(static_cast<int>(::syscall(SYS_openat2, top.get(), below.c_str(), &how, sizeof how)));
  if (!found) return errno_error(errno, path);
  return found;
}

Result<> VgpuFolders::make(std::string_view name) const {
  KOORD_TRY(home, open(home_, O_PATH | O_DIRECTORY));
  // What containers put into theirs is for nobody else of the host: neither their programs nor their links.
  if (::mkdirat(home.get(), kContainers.data(), kForRoot) != 0 && errno != EEXIST)
    return errno_error(errno, folder());
  const Fd all(::openat(home.get(), kContainers.data(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!all || ::fchmod(all.get(), kForRoot) != 0) return errno_error(errno, folder());
  const std::string own(name), path = fmt::format("{}/{}", folder(), name);
  if (::mkdirat(all.get(), own.c_str(), kForAll) != 0 && errno != EEXIST) return errno_error(errno, path);
  const Fd made(::openat(all.get(), own.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made || ::fchmod(made.get(), kForAll) != 0) return errno_error(errno, path);
  (void)::unlinkat(made.get(), fmt::format("{}{}", name, kCache).c_str(), 0);
  return {};
}

Result<host::VgpuRegion> VgpuFolders::read(std::string_view name) const {
  KOORD_TRY(all, open(folder(), O_RDONLY | O_DIRECTORY));
  const Fd own(
      ::openat(all.get(), std::string(name).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!own) return errno_error(errno, name);
  std::string cache;
  for (std::string& entry : names_in(own.get(), kMostEntries))
    if (entry.ends_with(kCache) && entry.find("libvgpu.so") == std::string::npos) cache = std::move(entry);
  if (cache.empty()) return Error(Code::not_found, fmt::format("{}: no cache", name));
  // Neither a link, nor what waits for a writer.
  const Fd file(
      ::openat(own.get(), cache.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return errno_error(errno, name);
  if (!S_ISREG(status.st_mode)) return Error(Code::invalid, fmt::format("{}: no regular file", name));
  // Read, not mapped: who makes it shorter meanwhile must not end this process.
  auto region = host::read_vgpu_region(
      static_cast<std::uint64_t>(status.st_size), [&file](std::uint64_t offset, char* to, std::size_t size) {
        return ::pread(file.get(), to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
      });
  if (!region) return std::move(region).error().context(name);
  return region;
}

std::vector<std::string> VgpuFolders::sweep(const std::function<bool(std::string_view)>& is_there,
                                            WallTime now) const {
  std::vector<std::string> taken;
  const auto all = open(folder(), O_RDONLY | O_DIRECTORY);
  if (!all) return taken;
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>((now - kUnused).time_since_epoch()).count();
  for (const std::string& name : names_in(all->get(), kMostFolders)) {
    const std::size_t between = std::min(name.find('_'), name.size());
    const std::string_view uid = std::string_view(name).substr(0, between);
    if (between == name.size() || !is_pod_uid(uid) || !is_name(std::string_view(name).substr(between + 1)) ||
        is_there(uid))
      continue;
    const Fd own(::openat(all->get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!own || ::fstat(own.get(), &status) != 0 || status.st_mtim.tv_sec > seconds) continue;
    for (const std::string& entry : names_in(own.get(), kMostEntries))
      (void)::unlinkat(own.get(), entry.c_str(), 0);
    if (::unlinkat(all->get(), name.c_str(), AT_REMOVEDIR) == 0) taken.push_back(name);
  }
  return taken;
}

}  // namespace koord::koordlet
