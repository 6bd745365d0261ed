// What hardware and its drivers say: the first byte chooses the reader, the rest is the text. Of sysfs and
// resctrl, "path<line feed>" and a file's text up to a zero byte, file after file; of nvidia-smi, its answers
// in the order in which they are asked for, a line "--" between them.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/host/block_devices.hpp"
#include "koord/host/nvidia/nvidia_smi.hpp"
#include "koord/host/nvml.hpp"
#include "koord/host/pci.hpp"
#include "koord/host/resctrl.hpp"
#include "koord/host/root.hpp"
#include "koord/host/volume_mounts.hpp"
#include "scratch_folder.hpp"
#include "support/run_task.hpp"
#include "told_programs.hpp"

using namespace koord::host;

namespace {

constexpr std::uint64_t kMostBytes = std::numeric_limits<std::int64_t>::max();

void check(bool holds) {
  if (!holds) std::abort();
}

/// The files below `folder` of a scratch folder, which is there in any case.
void write_files(const koord::fuzz::ScratchFolder& scratch, std::string_view folder, std::string_view text) {
  constexpr int kMaxFiles = 64;
  scratch.write(std::string(folder) + "/.there", "");
  for (int files = 0; !text.empty() && files < kMaxFiles;) {
    const auto end = std::min(text.find('\0'), text.size());
    const std::string_view file = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto name_end = file.find('\n');
    const std::string_view name = file.substr(0, name_end);
    const bool plain = !name.empty() && name.size() < 100 && name.find("..") == std::string_view::npos;
    if (!plain || name_end == std::string_view::npos) continue;
    scratch.write(std::string(folder) + "/" + std::string(name), file.substr(name_end + 1));
    ++files;
  }
}

Root root_of(const koord::fuzz::ScratchFolder& scratch) {
  Root root;
  root.sys = scratch.path() + "/";
  root.sys_fs = scratch.path() + "/";
  return root;
}

// What was read prints to what reads to the same.
void check_schemata(std::string_view text) {
  const auto lines = parse_schemata(text);
  if (!lines) return;
  for (const SchemataLine& line : *lines) {
    const auto again = parse_schemata(print_schemata(line));
    check(again.has_value() && again->size() == (line.fields.empty() ? 0 : 1));
    check(line.fields.empty() || again->front() == line);
  }
}

void check_tasks(std::string_view text) {
  const auto tasks = parse_tasks(text);
  if (!tasks) return;
  std::string printed;
  for (const std::int32_t task : *tasks) {
    check(task >= 0);
    printed += std::to_string(task) + "\n";
  }
  check(*parse_tasks(printed) == *tasks);
}

// A class gets a whole piece of a cache, as large as the kernel wants, and a bandwidth that it takes.
void check_resctrl(std::string_view text) {
  static const koord::fuzz::ScratchFolder kFolder;
  write_files(kFolder, "resctrl", text);
  const auto info = read_resctrl_info(root_of(kFolder));
  kFolder.clear();
  if (!info) return;
  check(info->groups >= 0);
  for (const ResctrlCache& cache : info->caches) {
    check((cache.full & (cache.full + 1)) == 0 && !cache.ids.empty());
    check(std::ranges::is_sorted(cache.ids) && std::ranges::adjacent_find(cache.ids) == cache.ids.end());
    for (const auto& [from, to] : {std::pair(0, 1), {0, 100}, {37, 38}, {50, 80}, {99, 100}}) {
      const auto mask = cache_mask(cache.full, cache.least_bits, from, to);
      check(mask.has_value() && *mask != 0 && (*mask & ~cache.full) == 0);
      const std::uint64_t low = *mask >> std::countr_zero(*mask);
      check((low & (low + 1)) == 0 && std::popcount(*mask) >= cache.least_bits);
      check(to - from < 100 || *mask == cache.full);
    }
  }
  if (!info->bandwidth) return;
  const ResctrlBandwidth& bandwidth = *info->bandwidth;
  std::int64_t last = 0;
  for (std::int64_t percent = 1; percent <= 100; ++percent) {
    const auto value = bandwidth_value(bandwidth, percent);
    check(value.has_value() == (bandwidth.scale != BandwidthScale::megabytes));
    if (!value) continue;
    check(*value >= bandwidth.least && *value <= bandwidth.most && *value >= last);
    last = *value;
    const auto back = bandwidth_percent(bandwidth, *value);
    check(back.has_value() && *back >= 1 && *back <= 100 && *bandwidth_value(bandwidth, *back) >= *value);
  }
}

// Every device is found by its name and its number, and comes to a disk that there is.
void check_block_devices(std::string_view text) {
  static const koord::fuzz::ScratchFolder kFolder;
  write_files(kFolder, "block", text);
  const auto devices = BlockDevices::read(root_of(kFolder));
  kFolder.clear();
  if (!devices) return;
  check(devices->all().size() <= BlockDevices::kMost);
  for (const BlockDevice& device : devices->all()) {
    const BlockDevice* const named = devices->named(device.name);
    check(named != nullptr && named->name == device.name);
    check(parse_device_number(to_string(device.number)) == device.number);
    const auto disk = devices->disk_of(device.number);
    check(disk.has_value() && devices->numbered(*disk) != nullptr);
    check(devices->disk_of_device("/dev/" + device.name).has_value());
    if (device.volume_group.empty()) continue;
    check(device.volume_group == volume_group_of(device.mapper_name));
    if (const auto group = devices->disk_of_volume_group(device.volume_group))
      check(devices->numbered(*group) != nullptr);
  }
}

// One mount at a place, and what is mounted again is the same.
void check_mounts(std::string_view text) {
  const std::vector<VolumeMount> mounts = volume_mounts(text);
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const VolumeMount& mount = mounts[i];
    check(!mount.pod.empty() && !mount.volume.empty());
    check(mount.pod.find('/') == std::string::npos && mount.volume.find('/') == std::string::npos);
    check(i == 0 || std::pair(mounts[i - 1].pod, mounts[i - 1].volume) < std::pair(mount.pod, mount.volume));
    check(find_volume(mounts, mount.pod, mount.volume) == &mount);
  }
  const std::string lines = std::string(text) + "\n";
  check(volume_mounts(lines + lines) == mounts);
}

void check_card(const GpuCard& card) {
  check(!card.uuid.empty() && card.minor >= 0 && card.memory <= kMostBytes);
  check(parse_bus_id(card.bus_id) == card.bus_id);
}

void check_nvml(std::string_view text) {
  const auto answer = parse_gpu_answer(text);
  if (!answer) return;
  for (const GpuCard& card : answer->cards) check_card(card);
  for (const GpuFault& fault : answer->faults)
    check(fault.bus_id.empty() || parse_bus_id(fault.bus_id) == fault.bus_id);
  for (const GpuProcess& process : answer->processes) check(process.pid > 0);
  // Nothing counts that is not whole: an answer ends with its last line.
  const std::size_t end = text.starts_with("end") ? 0 : text.find("\nend");
  check(end != std::string_view::npos && !parse_gpu_answer(text.substr(0, end)));
}

void check_nvidia_smi(std::string_view text) {
  constexpr std::size_t kMostCards = 256, kMostProcesses = 1024, kLongest = 128;
  koord::test::ToldPrograms tool(text);
  koord::test::Loop loop;
  const auto answer = koord::test::run_task(loop, ask_nvidia_smi(tool, "/nowhere"));
  if (!answer) return;
  check(answer->cards.size() <= kMostCards && answer->processes.size() <= kMostProcesses);
  check(answer->driver.size() <= kLongest);
  for (const GpuCard& card : answer->cards) {
    check_card(card);
    check(card.uuid.size() <= kLongest && card.model.size() <= kLongest && card.used <= kMostBytes);
  }
  for (const GpuProcess& process : answer->processes) {
    check(process.pid > 0 && process.memory <= kMostBytes);
    check(std::ranges::count(answer->cards, process.index, &GpuCard::index) > 0);
  }
}

void check_columns(std::string_view line) {
  const auto columns = csv_columns(line);
  check(static_cast<std::ptrdiff_t>(columns.size()) == std::ranges::count(line, ',') + 1);
  for (const std::string_view column : columns)
    check(!column.starts_with(' ') && !column.ends_with(' ') && column.find(',') == std::string_view::npos);
}

void check_bus_id(std::string_view text) {
  const auto id = parse_bus_id(text);
  check(!id || parse_bus_id(*id) == id);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 's': check_schemata(text); break;
    case 't': check_tasks(text); break;
    case 'r': check_resctrl(text); break;
    case 'b': check_block_devices(text); break;
    case 'm': check_mounts(text); break;
    case 'n': check_nvml(text); break;
    case 'g': check_nvidia_smi(text); break;
    case 'c': check_columns(text); break;
    default: check_bus_id(text); break;
  }
  return 0;
}
