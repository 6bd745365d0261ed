// XpuFiles: accelerators that others describe in files: the device daemon, or any program of a vendor's. Each
// file of one folder holds a JSON list of devices (api::XpuDevice).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/devices/device_reading.hpp"
#include "koord/api/koordinator/xpu_devices.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

/// One file's devices, with its name for messages.
struct XpuFile {
  std::string path;
  std::vector<api::XpuDevice> devices;
};

/// Of one file's text. Code::parse, Code::invalid, Code::too_large: it is no such list, or one of its devices
/// is none. Pure.
Result<std::vector<api::XpuDevice>> read_xpu_file(std::string_view text);

/// What a Device has of them: the first file's first device says vendor and model. A device whose id or minor
/// is missing, nonsense or an earlier one's is left out and named. Pure.
DeviceReading read_xpu_devices(const std::vector<XpuFile>& files);

/// Not thread-safe; read() blocks for as long as the files' disk does.
class XpuFiles {
 public:
  /// More bytes of a file, or more files and devices, nobody has.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  static constexpr std::size_t kMostFiles = 64, kMostDevices = 1024;
  /// After a start an empty or missing folder is believed only then: after a boot who writes the files may
  /// come up later than the agent.
  static constexpr nanoseconds kPatience = std::chrono::minutes(5);

  /// `folder` with or without a slash at its end. `started`: when the agent started.
  XpuFiles(std::string folder, MonoTime started);

  /// Names that begin with a dot, and folders, are no files of devices. A file that cannot be read, is being
  /// written or holds nonsense counts with what it said last; where it never said anything the reading is
  /// not complete.
  DeviceReading read(MonoTime now);

 private:
  std::optional<std::vector<api::XpuDevice>> read_one(const std::string& path, DeviceReading& reading) const;

  std::string folder_;
  MonoTime started_;
  bool found_some_ = false;
  std::map<std::string, std::vector<api::XpuDevice>, std::less<>> last_;  // by the file's name
};

}  // namespace koord::koordlet
