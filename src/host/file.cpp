#include "koord/host/file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

namespace koord::host {

namespace {
constexpr std::size_t kFirstSize = 4096;  // most cgroup files fit

Code code_of(int errnum) {
  switch (errnum) {
    case ENOENT:
    case ENODEV:
    case ENOTDIR: return Code::not_found;
    case EACCES:
    case EPERM:
    case EROFS: return Code::forbidden;
    case EINVAL:
    case ERANGE: return Code::invalid;
    case EOPNOTSUPP: return Code::unsupported;
    default: return Code::io;
  }
}

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

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Error errno_error(int errnum, std::string_view path) {
  return Error(code_of(errnum), std::string(path) + ": " + std::generic_category().message(errnum));
}

Result<std::string_view> ReadBuffer::read(int fd, std::string_view path) {
  if (data_.empty()) data_.resize(kFirstSize);
  std::size_t used = 0;
  for (;;) {
    if (used == data_.size()) {
      if (used >= limit_)
        return Error(Code::too_large,
                     std::string(path) + ": longer than " + std::to_string(limit_) + " bytes");
      data_.resize(std::min(data_.size() * 2, limit_));
      // seq_files may answer from another moment when read on from the middle: start again, one read.
      used = 0;
    }
    const ssize_t n = pread(fd, data_.data() + used, data_.size() - used, static_cast<off_t>(used));
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno_error(errno, path);
    }
    if (n == 0) return std::string_view(data_.data(), used);
    used += static_cast<std::size_t>(n);
  }
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

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  HeldFile file(path);
  ReadBuffer buffer(limit);
  KOORD_TRY(text, file.read(buffer));
  return std::string(text);
}

Result<> write_file(const std::string& path, std::string_view text) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC));
  if (!fd) return errno_error(errno, path);
  ssize_t n = 0;
  do n = write(fd.get(), text.data(), text.size());
  while (n < 0 && errno == EINTR);
  if (n < 0) return errno_error(errno, path);
  if (static_cast<std::size_t>(n) != text.size())
    return Error(Code::io,
                 path + ": wrote " + std::to_string(n) + " of " + std::to_string(text.size()) + " bytes");
  return {};
}

Result<> replace_file(const std::string& path, std::string_view text) {
  const std::string fresh = path + ".new";
  const auto fail = [&]() -> Error {
    const int errnum = errno;
    unlink(fresh.c_str());
    return errno_error(errnum, fresh);
  };
  {
    const Fd fd(open(fresh.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_TRUNC, 0600));
    if (!fd) return errno_error(errno, fresh);
    while (!text.empty()) {
      const ssize_t n = write(fd.get(), text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail();
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    if (fsync(fd.get()) != 0) return fail();
  }
  if (rename(fresh.c_str(), path.c_str()) != 0) return fail();
  // The new name is on the disk once its folder is.
  const std::string folder = path.substr(0, path.find_last_of('/') + 1);
  const Fd fd(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) fsync(fd.get());
  return {};
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

Result<std::vector<std::string>> list_folder(const std::string& path) { return list(path, false); }
Result<std::vector<std::string>> list_folders(const std::string& path) { return list(path, true); }

}  // namespace koord::host
