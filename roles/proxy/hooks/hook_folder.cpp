// The folder: see hook_folder.hpp.
#include "hooks/hook_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "koord/base/file.hpp"
#include "koord/base/ownership.hpp"

namespace koord::proxy {

namespace {

constexpr std::size_t kMostFiles = 64, kMostBytes = 64 << 10;

/// Links are followed: who may write into the folder has made them.
Result<Fd> open_own(const std::string& path, int flags, mode_t type, std::string_view what) {
  Fd fd(::open(path.c_str(), flags | O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return errno_error(errno, path);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return errno_error(errno, path);
  if ((status.st_mode & S_IFMT) != type) return Error(Code::invalid, fmt::format("{}: not a {}", path, what));
  KOORD_CHECK(check_ownership(status, path));
  return fd;
}

Result<std::string> read_own(const std::string& path) {
  KOORD_TRY(fd, open_own(path, 0, S_IFREG, "regular file"));
  std::string text;
  KOORD_TRY(size, read_whole(fd.get(), path, text, kMostBytes));
  text.resize(size);
  return text;
}

}  // namespace

FoundFiles read_hook_folder(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::create_directories(path, failed))
    std::filesystem::permissions(path, std::filesystem::perms(0755), failed);
  KOORD_TRY(folder, open_own(path, O_DIRECTORY, S_IFDIR, "folder"));
  const int copy = ::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(copy < 0 ? nullptr : ::fdopendir(copy), &::closedir);
  if (!listing) return errno_error(errno, path);
  std::vector<FoundFile> files;
  for (;;) {
    errno = 0;  // half a listing is none: whose name is not in it would have been removed
    const dirent* const entry = ::readdir(listing.get());
    if (entry == nullptr && errno != 0) return errno_error(errno, path);
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (!is_hook_file(name)) continue;
    if (files.size() == kMostFiles)
      return Error(Code::too_large, fmt::format("{}: more than {} files", path, kMostFiles));
    const std::string file = fmt::format("{}/{}", path, name);
    auto text = read_own(file);
    struct stat status {};
    if (!text && text.error().code() == Code::not_found) {
      if (::lstat(file.c_str(), &status) != 0) continue;  // it has just gone
      text = Error(Code::not_found, fmt::format("{}: a link to what is not there", file));
    }
    files.push_back({std::string(name), std::move(text)});
  }
  std::ranges::sort(files, {}, &FoundFile::name);
  return files;
}

}  // namespace koord::proxy
