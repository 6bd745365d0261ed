// Reading a mount table: see volume_mounts.hpp.
#include "koord/host/volume_mounts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "koord/host/text.hpp"

namespace koord::host {
namespace {

constexpr std::string_view kPods = "/pods/", kVolumes = "/volumes/", kPlugin = "kubernetes.io~",
                           kMount = "/mount";
constexpr int kOctalDigits = 3;

/// The kernel writes blanks and their like as \040.
std::string plain(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view digits = text.substr(i + 1, kOctalDigits);
    const bool octal = text[i] == '\\' && digits.size() == kOctalDigits &&
                       std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '7'; });
    if (!octal) {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    for (const char c : digits) value = value * 8 + static_cast<unsigned>(c - '0');
    out += static_cast<char>(value & 0xffU);
    i += kOctalDigits;
  }
  return out;
}

/// Takes what stands before `end` off the text.
std::optional<std::string_view> take_until(std::string_view& text, char end) {
  const auto at = text.find(end);
  if (at == 0 || at == std::string_view::npos) return std::nullopt;
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at + 1);
  return part;
}

/// Whether a volume is mounted there; whose, and which.
bool read_place(std::string_view place, VolumeMount& mount) {
  const auto volumes = place.rfind(fmt::format("{}{}", kVolumes, kPlugin));
  if (volumes == std::string_view::npos) return false;
  const auto pods = place.substr(0, volumes).rfind(kPods);
  if (pods == std::string_view::npos) return false;
  const std::string_view pod = place.substr(pods + kPods.size(), volumes - pods - kPods.size());
  std::string_view rest = place.substr(volumes + kVolumes.size() + kPlugin.size());
  if (!take_until(rest, '/')) return false;
  if (rest.ends_with(kMount)) rest.remove_suffix(kMount.size());
  mount.pod = plain(pod);
  mount.volume = plain(rest);
  // Neither is a path, however a slash is written.
  return !mount.pod.empty() && !mount.volume.empty() && mount.pod.find('/') == std::string::npos &&
         mount.volume.find('/') == std::string::npos;
}

auto key(const VolumeMount& mount) {
  return std::tuple(std::string_view(mount.pod), std::string_view(mount.volume));
}

}  // namespace

std::vector<VolumeMount> volume_mounts(std::string_view mountinfo) {
  std::vector<VolumeMount> all;
  std::string_view line;
  while (next_line(mountinfo, line)) {
    // ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS [FIELDS...] - TYPE SOURCE OPTIONS
    if (line.find(kPlugin) == std::string_view::npos) continue;
    (void)next_word(line);
    (void)next_word(line);
    const auto number = parse_device_number(next_word(line));
    (void)next_word(line);
    const std::string_view place = next_word(line);
    const auto end = line.find(" - ");
    VolumeMount mount;
    if (!number || end == std::string_view::npos || !read_place(place, mount)) continue;
    line.remove_prefix(end + 3);
    (void)next_word(line);
    mount.number = *number;
    mount.source = plain(next_word(line));
    all.push_back(std::move(mount));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return key(a) < key(b); });
  // The last of each.
  const auto first =
      std::unique(all.rbegin(), all.rend(), [](const auto& a, const auto& b) { return key(a) == key(b); });
  all.erase(all.begin(), first.base());
  return all;
}

const VolumeMount* find_volume(const std::vector<VolumeMount>& mounts, std::string_view pod,
                               std::string_view volume) {
  const auto wanted = std::tuple(pod, volume);
  const auto it = std::lower_bound(mounts.begin(), mounts.end(), wanted,
                                   [](const auto& mount, const auto& w) { return key(mount) < w; });
  return it != mounts.end() && key(*it) == wanted ? &*it : nullptr;
}

Result<DeviceNumber> disk_of(const VolumeMount& mount, const BlockDevices& devices) {
  if (devices.numbered(mount.number) != nullptr) return devices.disk_of(mount.number);
  if (auto disk = devices.disk_of_device(mount.source)) return disk;
  return Error(Code::not_found, fmt::format("it is on {} ({}), which is no disk of this host",
                                            mount.source.substr(0, 256), to_string(mount.number)));
}

}  // namespace koord::host
