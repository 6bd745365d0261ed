// KernelReader: the text of cgroup and /proc files, through descriptors that are held or opened for one read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "koord/host/cgroup_fs.hpp"
#include "koord/host/file.hpp"

namespace koord::koordlet {

/// What became of a read. `absent`: the cgroup or the file is not there (any more), which is no error.
enum class Outcome : std::uint8_t { good, absent, failed };

struct ReadStats {
  std::uint64_t reads = 0, opens = 0;
  std::uint64_t failed = 0;  // neither good nor absent
};

/// One read buffer for all files; texts are valid until the next read. In the steady state one pread(2) a
/// file: a text that ends with a line feed and is shorter than the buffer is whole, because the kernel gives
/// a record of these files at once.
class KernelReader {
 public:
  /// `max_held` descriptors are kept at most; files beyond it are opened for each read.
  KernelReader(const host::CgroupFs& fs, std::size_t max_held);

  /// A file of a cgroup, whose name is a path below the hierarchy's root that CgroupFs has approved. Opens
  /// `fd` when needed, once more if the cgroup has gone and come back.
  Outcome read(Fd& fd, host::Knob knob, std::string_view group, std::string_view& text);
  Outcome read_once(host::Knob knob, std::string_view group, std::string_view& text);
  Outcome read(Fd& fd, const std::string& path, std::string_view& text);

  /// Called for each descriptor that goes with its owner.
  void released(const Fd& fd) { held_ -= fd ? 1 : 0; }
  /// Descriptors that somebody else holds, which count as the reader's own.
  void hold(std::size_t others) { held_ += others; }
  void give_back(std::size_t others) { held_ -= others; }
  std::size_t held() const { return held_; }
  std::size_t max_held() const { return max_held_; }
  const ReadStats& stats() const { return stats_; }
  /// The errno of the last failed read; 0 if the file was too long.
  int last_errno() const { return errno_; }

 private:
  static constexpr std::size_t kFirstSize = std::size_t{64} << 10;
  static constexpr std::size_t kMaxSize = std::size_t{4} << 20;

  const std::string& path_of(host::Knob knob, std::string_view group);
  Outcome open(Fd& fd, const std::string& path);
  Outcome pread_all(int fd, std::string_view& text);
  Outcome count(Outcome outcome);
  template <class Path>
  Outcome read_held(Fd& fd, const Path& path, std::string_view& text);

  struct Place {
    std::string folder;     // of the hierarchy, with a slash; empty: no hierarchy has the knob
    std::string_view file;  // behind the group
  };
  std::vector<Place> places_;  // by knob
  std::string path_;
  std::string buffer_;
  std::size_t max_held_;
  std::size_t held_ = 0;
  ReadStats stats_;
  int errno_ = 0;
};

/// Raises the soft limit of open files towards `wanted`, the hard one too where that is allowed. Gives the
/// limit that holds then.
std::size_t raise_descriptor_limit(std::size_t wanted);

}  // namespace koord::koordlet
