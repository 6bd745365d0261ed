// CdiFiles: how the host names its devices to container runtimes (Container Device Interface, CDI): files of
// vendors' tools, by which a runtime gives a container a device with all that belongs to it.
#pragma once

#include <cstdint>
#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "framework/devices/node_devices.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

/// A device of such a file.
struct CdiDevice {
  std::string kind, name;          // "nvidia.com/gpu", "GPU-..."
  std::vector<std::string> cards;  // of the host: "/dev/nvidia0", "/dev/infiniband/uverbs1"; no others
  bool is_part = false;            // of a GPU: it brings capabilities of MIG
  friend bool operator==(const CdiDevice&, const CdiDevice&) = default;
};

/// Of one file's text, which is YAML or JSON. Code::parse, Code::invalid: it is no such file, a name is none
/// of CDI's, or what the file gives with each device is a card itself. Pure.
Result<std::vector<CdiDevice>> read_cdi_file(std::string_view text);

/// What of them is a card that hooks give: NVIDIA's GPUs by their number, RDMA cards and functions where the
/// device is called by its bus id. A device with several cards, or with a part of one, is none. Pure.
CdiNames cdi_names(const std::vector<CdiDevice>& devices);

/// Not thread-safe; read() blocks for as long as the files' disk does.
class CdiFiles {
 public:
  /// More bytes of a file, or more files and devices, nobody has.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  static constexpr std::size_t kMostFiles = 64, kMostDevices = 4096;

  /// `root`: of the host, empty: this process's. `folders`: absolute, as the runtime reads them; the later
  /// wins.
  CdiFiles(std::string root, std::vector<std::string> folders);

  /// A file that cannot be read, breaks off within its syntax or holds nonsense names nothing (YAML that is
  /// cut between two lines is whole YAML); nor does a name that stands twice in a folder, or "all".
  /// `problems`: "FILE: what is wrong", for the log.
  CdiNames read(std::vector<std::string>& problems);

 private:
  /// What was read stays while the file is the same.
  struct Kept {
    std::uint64_t inode = 0, size = 0;
    std::timespec changed{};
    std::vector<CdiDevice> devices;
    std::string problem;
  };
  const Kept* look(const std::string& path, std::vector<std::string>& problems);

  std::vector<std::string> folders_;  // with the root before them
  std::map<std::string, Kept> kept_;  // by path
};

}  // namespace koord::koordlet
