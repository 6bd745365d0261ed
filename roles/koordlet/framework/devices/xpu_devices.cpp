// What files say of accelerators, as a Device has it: see xpu_files.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <utility>

#include "framework/devices/xpu_files.hpp"
#include "koord/api/koordinator/devices.hpp"
#include "koord/api/rules/validation_names.hpp"
#include "koord/base/text.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

constexpr std::int32_t kMostMinor = 65'535;
constexpr std::size_t kMostText = 256;  // of an id, a place, a reason

/// Of one device; `say` names the file and the device.
class Converter {
 public:
  Converter(const XpuFile& file, std::size_t index, DeviceReading& reading)
      : at_(fmt::format("{}: device {}", file.path, index)), reading_(reading) {}

  template <class... Args>
  void say(fmt::format_string<Args...> text, Args&&... args) {
    reading_.problems.push_back(fmt::format("{}: {}", at_, fmt::format(text, std::forward<Args>(args)...)));
  }
  std::optional<std::int32_t> minor(std::string_view text) {
    std::int32_t number = 0;
    if (host::to_number(text, number) && number >= 0 && number <= kMostMinor) return number;
    return std::nullopt;
  }

  api::ResourceList resources(const api::XpuDevice& from) {
    api::ResourceList to;
    to[Symbol(api::kGpuMemoryRatio)] = api::Quantity::from_int(100);
    for (const auto& [key, text] : from.resources) {
      const std::string name(key == "gpu-core"     ? api::kGpuCore
                             : key == "gpu-memory" ? api::kGpuMemory
                                                   : key.view());
      const auto amount = api::Quantity::parse(text);
      if (!api::is_qualified_name(name))
        say("{} is no name of a resource, and does not count", name);
      else if (!amount)
        say("{}: \"{}\" is no amount, and does not count", name, utf8_prefix(text, kMostText));
      else if (amount->sign() < 0)
        say("{}: {} is below 0, and does not count", name, utf8_prefix(text, kMostText));
      else
        to[Symbol(name)] = *amount;
    }
    return to;
  }

  /// The NUMA node is -1 where the file does not say.
  api::Box<api::DeviceTopology> topology(const api::XpuDevice& from) {
    if (!from.topology) return {};
    api::DeviceTopology to;
    to.socket_id = -1;
    to.node_id = -1;
    const std::string& node = from.topology->node_id;
    if (!node.empty() && (!host::to_number(node, to.node_id) || to.node_id < -1)) {
      say("topology.nodeID: \"{}\" is no NUMA node; it counts as not known", utf8_prefix(node, kMostText));
      to.node_id = -1;
    }
    to.pcie_id = utf8_prefix(from.topology->pcie_id, kMostText);
    to.bus_id = utf8_prefix(from.topology->bus_id, kMostText);
    return to;
  }

 private:
  std::string at_;
  DeviceReading& reading_;
};

/// As the API server takes it (a word of letters, digits, '_', ',' and ':' that begins with a letter).
std::string reason_of(std::string_view code) {
  std::string reason(code.substr(0, kMostText));
  for (char& one : reason)
    if (std::isalnum(static_cast<unsigned char>(one)) == 0 && one != '_' && one != ',' && one != ':')
      one = '_';
  if (reason.empty()) return "Unknown";
  if (std::isalpha(static_cast<unsigned char>(reason.front())) == 0) reason.insert(0, "Code");
  if (reason.back() == ',' || reason.back() == ':') reason.back() = '_';
  return reason;
}

std::vector<api::Condition> conditions(const api::XpuStatus& status) {
  api::Condition condition{.type = Symbol("Healthy")};
  condition.status = Symbol(status.healthy ? "True" : "False");
  if (status.healthy) {
    condition.reason = Symbol("DeviceHealthy");
    condition.message = "device is healthy";
    return {condition};
  }
  const std::string reason = reason_of(status.err_code);
  condition.reason = Symbol(reason);
  condition.message =
      status.err_message.empty() ? "device is unhealthy" : std::string(utf8_prefix(status.err_message, 1024));
  if (!status.err_code.empty() && reason != status.err_code)
    condition.message = fmt::format("{} ({})", condition.message, utf8_prefix(status.err_code, kMostText));
  return {condition};
}

/// Empty, and a problem, where it can be no label.
std::string label_of(std::string text, std::string_view what, const XpuFile& file, DeviceReading& reading) {
  std::ranges::replace(text, ' ', '-');
  if (api::is_label_value(text)) return text;
  reading.problems.push_back(fmt::format("{}: {} \"{}\" can be no label, and is not reported", file.path,
                                         what, utf8_prefix(text, kMostText)));
  return {};
}

/// By how many they are: each set of devices that are linked with one another, once. A peer that is no number
/// does not count, as upstream has it.
api::GpuPartitions partitions(const std::vector<XpuFile>& files, DeviceReading& reading) {
  api::GpuPartitions all;
  std::set<std::vector<std::int32_t>> seen;
  for (const XpuFile& file : files) {
    for (std::size_t i = 0; i < file.devices.size(); ++i) {
      const api::XpuDevice& device = file.devices[i];
      if (!device.topology) continue;
      Converter convert(file, i, reading);
      for (const api::XpuLink& link : device.topology->p2p_links) {
        if (link.peer_minor.empty() || link.type.empty()) {
          convert.say("topology.p2pLinks: a link without peers or without a type does not count");
          continue;
        }
        std::set<std::int32_t> minors;
        const std::string list = fmt::format("{},{}", link.peer_minor, device.minor);
        for (std::size_t from = 0; from <= list.size();) {
          const std::size_t comma = std::min(list.find(',', from), list.size());
          const std::string_view one = std::string_view(list).substr(from, comma - from);
          if (const auto minor = convert.minor(one))
            minors.insert(*minor);
          else
            convert.say("topology.p2pLinks: \"{}\" is no minor number, and does not count",
                        utf8_prefix(one, kMostText));
          from = comma + 1;
        }
        std::vector<std::int32_t> sorted(minors.begin(), minors.end());
        if (sorted.empty() || !seen.insert(sorted).second) continue;
        api::GpuPartition partition{.minors = sorted};
        partition.gpu_link_type = Symbol(link.type);
        partition.allocation_score = 1;
        all.by_size[Symbol(std::to_string(sorted.size()))].push_back(std::move(partition));
      }
    }
  }
  return all;
}

GpuDescription describe(const std::vector<XpuFile>& files, DeviceReading& reading) {
  GpuDescription gpus;
  const auto first = std::ranges::find_if(files, [](const XpuFile& file) { return !file.devices.empty(); });
  if (first == files.end()) return gpus;
  const api::XpuDevice& device = first->devices.front();
  gpus.knows_partitions = true;
  gpus.vendor = label_of(device.vendor, "vendor", *first, reading);
  gpus.model = label_of(device.model, "model", *first, reading);
  if (device.topology && !device.topology->p2p_links.empty())
    gpus.partition_policy = device.topology->must_honor_partition ? "Honor" : "Prefer";
  if (const api::GpuPartitions table = partitions(files, reading); !table.by_size.empty())
    gpus.partitions = encode_annotation(table);
  return gpus;
}

}  // namespace

DeviceReading read_xpu_devices(const std::vector<XpuFile>& files) {
  DeviceReading reading;
  std::set<std::string, std::less<>> ids;
  std::set<std::int32_t> minors;
  for (const XpuFile& file : files) {
    for (std::size_t i = 0; i < file.devices.size(); ++i) {
      const api::XpuDevice& from = file.devices[i];
      Converter convert(file, i, reading);
      const auto minor = convert.minor(from.minor);
      if (from.uuid.empty() || from.uuid.size() > kMostText || !minor) {
        convert.say("uuid \"{}\", minor \"{}\": an id and a number are expected; the device is left out",
                    utf8_prefix(from.uuid, kMostText), utf8_prefix(from.minor, kMostText));
        continue;
      }
      if (ids.contains(from.uuid) || minors.contains(*minor)) {
        convert.say("uuid {}, minor {}: an earlier device has the id or the number; this one is left out",
                    from.uuid, *minor);
        continue;
      }
      if (reading.devices.size() == XpuFiles::kMostDevices) {
        convert.say("there are {} devices already; this one is left out", XpuFiles::kMostDevices);
        continue;
      }
      ids.insert(from.uuid);
      minors.insert(*minor);
      api::DeviceInfo& to = reading.devices.emplace_back();
      to.type = Symbol(kGpuType);
      to.id = from.uuid;
      to.minor = *minor;
      to.health = !from.status || from.status->healthy;
      to.resources = convert.resources(from);
      to.topology = convert.topology(from);
      if (from.status) to.conditions = conditions(*from.status);
    }
  }
  reading.gpus = describe(files, reading);
  return reading;
}

}  // namespace koord::koordlet
