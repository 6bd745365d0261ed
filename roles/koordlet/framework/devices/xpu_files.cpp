// XpuFiles: see xpu_files.hpp.
#include "framework/devices/xpu_files.hpp"

#include <fmt/format.h>

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "koord/api/schema/codec.hpp"
#include "koord/base/ownership.hpp"
#include "koord/host/file.hpp"
#include "koord/json/value.hpp"

namespace koord::koordlet {

namespace {

/// Who may put files there may say what they like.
Result<std::vector<std::string>> folder_names(const std::string& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return errno_error(errno, folder);
  KOORD_CHECK(check_ownership(status, folder));
  return host::list_folder(folder);
}

}  // namespace

Result<std::vector<api::XpuDevice>> read_xpu_file(std::string_view text) {
  KOORD_TRY(document, json::parse(text));
  std::vector<api::XpuDevice> devices;
  if (document.is_null()) return devices;  // as Go writes an empty list
  if (!document.is_array()) return Error(Code::invalid, "a list of devices is expected");
  if (document.elements().size() > XpuFiles::kMostDevices)
    return Error(Code::too_large, fmt::format("more than {} devices", XpuFiles::kMostDevices));
  for (const json::Value& one : document.elements()) {
    auto device = api::decode<api::XpuDevice>(one);
    if (!device) return std::move(device).error().context(fmt::format("device {}", devices.size()));
    devices.push_back(std::move(*device));
  }
  return devices;
}

XpuFiles::XpuFiles(std::string folder, MonoTime started) : folder_(std::move(folder)), started_(started) {
  if (!folder_.ends_with('/')) folder_ += '/';
}

std::optional<std::vector<api::XpuDevice>> XpuFiles::read_one(const std::string& path,
                                                              DeviceReading& reading) const {
  const auto decode = [&]() -> Result<std::vector<api::XpuDevice>> {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return errno_error(errno, path);
    KOORD_CHECK(check_ownership(status, path));
    KOORD_TRY(text, read_file(path, kMostBytes));
    return read_xpu_file(text);
  };
  auto devices = decode();
  if (devices) return std::move(*devices);
  const std::string message = devices.error().message();
  reading.problems.push_back(message.find(path) == std::string::npos ? fmt::format("{}: {}", path, message)
                                                                     : message);
  return std::nullopt;
}

DeviceReading XpuFiles::read(MonoTime now) {
  DeviceReading trouble;
  auto names = folder_names(folder_);
  if (!names && names.error().code() != Code::not_found) {
    trouble.problems.push_back(names.error().message());
    trouble.complete = false;
  }
  std::vector<std::string> all = names ? std::move(*names) : std::vector<std::string>();
  std::erase_if(all, [this](const std::string& name) {
    struct stat status {};
    if (name.starts_with('.')) return true;
    return ::stat((folder_ + name).c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  });
  if (all.size() > kMostFiles) {
    trouble.problems.push_back(
        fmt::format("{}: more than {} files; the first ones count", folder_, kMostFiles));
    trouble.complete = false;
    all.resize(kMostFiles);
  }
  // A file that went was taken away on purpose: what it said last is forgotten.
  if (names)
    std::erase_if(last_, [&all](const auto& one) { return std::ranges::find(all, one.first) == all.end(); });
  std::vector<XpuFile> files;
  for (const std::string& name : all) {
    const std::string path = folder_ + name;
    if (auto read = read_one(path, trouble)) {
      last_[name] = std::move(*read);
    } else if (!last_.contains(name)) {
      trouble.complete = false;
      continue;
    }
    files.push_back({path, last_[name]});
  }
  if (!names)
    for (const auto& [name, devices] : last_)
      if (names.error().code() != Code::not_found) files.push_back({folder_ + name, devices});
  found_some_ = found_some_ || !files.empty();
  if (!found_some_ && now - started_ < kPatience) trouble.complete = false;
  DeviceReading reading = read_xpu_devices(files);
  reading.complete = reading.complete && trouble.complete;
  std::ranges::move(trouble.problems, std::back_inserter(reading.problems));
  return reading;
}

}  // namespace koord::koordlet
