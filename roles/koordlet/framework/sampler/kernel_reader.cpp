// The system calls of the sampler: openat and pread, nothing else.
#include "framework/sampler/kernel_reader.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace koord::koordlet {

namespace {

/// pread(2) that no thread can be cancelled in, which the C library pays for at each call.
ssize_t pread_now(int fd, char* to, std::size_t size, std::size_t offset) {
  static_assert(sizeof(long) == sizeof(std::int64_t), "elsewhere the offset takes two registers");
  return ::syscall(SYS_pread64, fd, to, size, offset);
}

}  // namespace

KernelReader::KernelReader(const host::CgroupFs& fs, std::size_t max_held) : max_held_(max_held) {
  for (const host::KnobRow& row : host::knob_table()) {
    Place& place = places_.emplace_back();
    const auto folder = fs.folder(row.knob, "");
    const auto path = fs.read_path(row.knob, "");
    if (!folder || !path) continue;
    place.folder = *folder;
    if (!place.folder.ends_with('/')) place.folder += '/';
    const bool v1 = fs.version() == host::CgroupVersion::v1;
    place.file = v1 ? row.v1_file : row.v2_read_file.empty() ? row.v2_file : row.v2_read_file;
  }
  buffer_.resize(kFirstSize);
}

const std::string& KernelReader::path_of(host::Knob knob, std::string_view group) {
  const Place& place = places_[static_cast<std::size_t>(knob)];
  path_.clear();
  if (place.folder.empty()) return path_;
  path_ += place.folder;
  path_ += group;
  if (!group.empty()) path_ += '/';
  path_ += place.file;
  return path_;
}

Outcome KernelReader::open(Fd& fd, const std::string& path) {
  if (path.empty()) return Outcome::absent;  // no hierarchy has the file
  ++stats_.opens;
  fd = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd) return Outcome::good;
  errno_ = errno;
  if (errno_ == ENOENT || errno_ == ENODEV || errno_ == ENOTDIR) return Outcome::absent;
  return Outcome::failed;
}

Outcome KernelReader::pread_all(int fd, std::string_view& text) {
  std::size_t used = 0;
  for (;;) {
    const ssize_t n = pread_now(fd, buffer_.data() + used, buffer_.size() - used, used);
    ++stats_.reads;
    if (n < 0) {
      if (errno == EINTR) continue;
      errno_ = errno;
      return errno_ == ENODEV || errno_ == ENOENT ? Outcome::absent : Outcome::failed;
    }
    used += static_cast<std::size_t>(n);
    if (n == 0 || (used < buffer_.size() && buffer_[used - 1] == '\n')) {
      text = std::string_view(buffer_.data(), used);
      return Outcome::good;
    }
    if (used < buffer_.size()) continue;
    if (buffer_.size() >= kMaxSize) {
      errno_ = 0;
      return Outcome::failed;
    }
    buffer_.resize(buffer_.size() * 2);
    used = 0;  // from the start, so that the text is of one moment
  }
}

template <class Path>
Outcome KernelReader::read_held(Fd& fd, const Path& path, std::string_view& text) {
  if (fd) {
    const Outcome outcome = pread_all(fd.get(), text);
    if (outcome != Outcome::absent) return count(outcome);
    // The descriptor of a removed cgroup stays dead, also if one of the same name has come.
    fd.reset();
    --held_;
  }
  Outcome outcome = open(fd, path());
  if (outcome == Outcome::good) outcome = pread_all(fd.get(), text);
  if (outcome == Outcome::good && held_ < max_held_)
    ++held_;
  else
    fd.reset();
  return count(outcome);
}

Outcome KernelReader::count(Outcome outcome) {
  if (outcome == Outcome::failed) ++stats_.failed;
  return outcome;
}

Outcome KernelReader::read(Fd& fd, host::Knob knob, std::string_view group, std::string_view& text) {
  return read_held(
      fd, [&]() -> const std::string& { return path_of(knob, group); }, text);
}

Outcome KernelReader::read(Fd& fd, const std::string& path, std::string_view& text) {
  return read_held(
      fd, [&]() -> const std::string& { return path; }, text);
}

Outcome KernelReader::read_once(host::Knob knob, std::string_view group, std::string_view& text) {
  Fd fd;
  Outcome outcome = open(fd, path_of(knob, group));
  if (outcome == Outcome::good) outcome = pread_all(fd.get(), text);
  return count(outcome);
}

std::size_t raise_descriptor_limit(std::size_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur >= wanted) return limit.rlim_cur;
  rlimit more = limit;
  more.rlim_cur = wanted;
  more.rlim_max = std::max<rlim_t>(limit.rlim_max, wanted);
  if (setrlimit(RLIMIT_NOFILE, &more) == 0) return wanted;
  more.rlim_max = limit.rlim_max;  // not allowed to raise the hard one
  more.rlim_cur = std::min<rlim_t>(limit.rlim_max, wanted);
  if (setrlimit(RLIMIT_NOFILE, &more) == 0) return more.rlim_cur;
  return limit.rlim_cur;
}

}  // namespace koord::koordlet
