#include "koord/host/file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace koord::host {

namespace {
struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

Result<std::vector<std::string>> list(const std::string& path, bool folders_only) {
  const std::unique_ptr<DIR, CloseFolder> folder(opendir(path.c_str()));
  if (!folder) return errno_error(errno, path);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (folders_only) {
      bool is_folder = entry->d_type == DT_DIR;
      if (entry->d_type == DT_UNKNOWN || entry->d_type == DT_LNK) {
        struct stat info {};
        is_folder = fstatat(dirfd(folder.get()), entry->d_name, &info, 0) == 0 && S_ISDIR(info.st_mode);
      }
      if (!is_folder) continue;
    }
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}
}  // namespace

Result<std::string_view> ReadBuffer::read(int fd, std::string_view path) {
  KOORD_TRY(size, read_whole(fd, path, data_, limit_));
  return std::string_view(data_.data(), size);
}

Result<std::string_view> HeldFile::read(ReadBuffer& buffer) {
  const bool fresh = !fd_;
  if (fresh) {
    fd_ = Fd(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd_) return errno_error(errno, path_);
  }
  Result<std::string_view> text = buffer.read(fd_.get(), path_);
  if (text || text.error().code() != Code::not_found) return text;
  fd_.reset();
  if (fresh) return text;
  fd_ = Fd(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd_) return errno_error(errno, path_);
  return buffer.read(fd_.get(), path_);
}

Result<> write_file(const std::string& path, std::string_view text) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC));
  if (!fd) return errno_error(errno, path);
  ssize_t n = 0;
  do n = write(fd.get(), text.data(), text.size());
  while (n < 0 && errno == EINTR);
  if (n < 0) return errno_error(errno, path);
  if (static_cast<std::size_t>(n) != text.size())
    return Error(Code::io, fmt::format("{}: wrote {} of {} bytes", path, n, text.size()));
  return {};
}

bool is_leaf_folder(const std::string& path) {
  struct stat info {};
  constexpr nlink_t kAlone = 2;  // its name and its own "."; each folder in it has a ".."
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_nlink == kAlone;
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

Result<std::vector<std::string>> list_folder(const std::string& path) { return list(path, false); }
Result<std::vector<std::string>> list_folders(const std::string& path) { return list(path, true); }

}  // namespace koord::host
