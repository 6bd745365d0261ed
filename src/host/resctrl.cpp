// Resctrl: see resctrl.hpp.
#include "koord/host/resctrl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>

#include "koord/host/file.hpp"
#include "koord/host/text.hpp"

namespace koord::host {

namespace {

constexpr std::string_view kCaches[] = {"L3", "L3CODE", "L3DATA"};
constexpr std::string_view kBandwidth = "MB";
constexpr std::size_t kMostCaches = 4096;  // of one kind
constexpr std::int64_t kAllPercent = 100;
// Of AMD's units: an eighth of a GB/s. Upstream measured 25 GB/s on a machine whose greatest value is 2048,
// and takes four fifths of it for what can be reached.
constexpr std::int64_t kReached = 160, kReachedOf = 2048;
constexpr std::uint64_t kMostUnits = std::uint64_t{1} << 20;

Error unreadable(std::string_view file, std::string_view text) {
  return Error(Code::parse, fmt::format("{}: cannot read \"{}\"", file, text.substr(0, 80)));
}

bool to_hex(std::string_view text, std::uint64_t& number) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number, 16);
  return error == std::errc{} && at == end && !text.empty();
}

bool is_cache(std::string_view name) {
  return std::find(std::begin(kCaches), std::end(kCaches), name) != std::end(kCaches);
}

/// The whole text of one of the kernel's files; nothing: there is none.
Result<std::optional<std::string>> text_of(const std::string& path) {
  auto text = read_file(path);
  if (text) return std::optional<std::string>(trimmed(*text));
  if (text.error().code() == Code::not_found) return std::optional<std::string>{};
  return std::move(text).error();
}

Result<std::int64_t> number_of(const std::string& path, std::int64_t unless_there) {
  KOORD_TRY(text, text_of(path));
  if (!text) return unless_there;
  std::int64_t number = 0;
  if (!to_number(std::string_view(*text), number) || number < 0) return unreadable(path, *text);
  return number;
}

bool fill(const SchemataLine& line, std::vector<int>& ids) {
  for (const auto& field : line.fields) ids.push_back(field.id);
  return !ids.empty();
}

/// Of a folder of info.
void allow(ResctrlInfo& info, std::int64_t groups) {
  const int bounded = static_cast<int>(std::min<std::int64_t>(groups, 1 << 16));
  if (bounded > 0) info.groups = info.groups == 0 ? bounded : std::min(info.groups, bounded);
}

Result<> read_cache(const std::string& folder, const SchemataLine& line, ResctrlInfo& info) {
  ResctrlCache cache{.name = line.name};
  const std::string path = fmt::format("{}info/{}/cbm_mask", folder, line.name);
  KOORD_TRY(text, text_of(path));
  if (!text || !fill(line, cache.ids)) return {};
  if (!to_hex(*text, cache.full) || cache.full == 0 || (cache.full & (cache.full + 1)) != 0)
    return unreadable(path, *text);
  KOORD_TRY(least, number_of(fmt::format("{}info/{}/min_cbm_bits", folder, line.name), 1));
  cache.least_bits = static_cast<int>(std::clamp<std::int64_t>(least, 1, std::bit_width(cache.full)));
  KOORD_TRY(groups, number_of(fmt::format("{}info/{}/num_closids", folder, line.name), 0));
  allow(info, groups);
  info.caches.push_back(std::move(cache));
  return {};
}

Result<> read_bandwidth(const std::string& folder, const SchemataLine& line, ResctrlInfo& info) {
  ResctrlBandwidth bandwidth;
  const std::string path = fmt::format("{}info/MB/", folder);
  if (!exists(path) || !fill(line, bandwidth.ids)) return {};
  KOORD_TRY(least, number_of(fmt::format("{}min_bandwidth", path), 1));
  KOORD_TRY(step, number_of(fmt::format("{}bandwidth_gran", path), 1));
  KOORD_TRY(groups, number_of(fmt::format("{}num_closids", path), 0));
  bandwidth.least = std::clamp<std::int64_t>(least, 1, kAllPercent);
  bandwidth.step = std::clamp<std::int64_t>(step, 1, kAllPercent);
  // No percentage is greater than 100. Whose steps are the finest counts units; the kernel's own loop has
  // percent below it, in steps of the hardware, and "no limit" is its greatest number.
  std::uint64_t greatest = 0;
  for (const auto& field : line.fields) greatest = std::max(greatest, field.value);
  if (greatest > static_cast<std::uint64_t>(kAllPercent)) {
    const bool units = bandwidth.step == 1 && bandwidth.least == 1 && greatest <= kMostUnits;
    bandwidth.scale = units ? BandwidthScale::units : BandwidthScale::megabytes;
    bandwidth.most = static_cast<std::int64_t>(std::min(greatest, std::uint64_t{UINT32_MAX}));
  }
  allow(info, groups);
  info.bandwidth = std::move(bandwidth);
  return {};
}

Result<> read_counters(const std::string& folder, ResctrlInfo& info) {
  KOORD_TRY(text, text_of(fmt::format("{}info/L3_MON/mon_features", folder)));
  if (!text) return {};
  std::string_view rest = *text, line;
  while (next_line(rest, line)) {
    line = trimmed(line);
    info.occupancy |= line == "llc_occupancy";
    info.local_bytes |= line == "mbm_local_bytes";
    info.total_bytes |= line == "mbm_total_bytes";
  }
  return {};
}

Result<SchemataLine> parse_line(std::string_view line, std::string_view name, std::string_view rest) {
  SchemataLine parsed{.name = std::string(name), .fields = {}};
  while (!rest.empty()) {
    const auto next = rest.find(';');
    const std::string_view field = trimmed(rest.substr(0, next));
    rest = next == std::string_view::npos ? std::string_view{} : rest.substr(next + 1);
    if (field.empty()) continue;
    const auto equals = field.find('=');
    SchemataLine::Field one;
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : trimmed(field.substr(equals + 1));
    const bool good = equals != std::string_view::npos &&
                      to_number(trimmed(field.substr(0, equals)), one.id) && one.id >= 0 &&
                      (name == kBandwidth ? to_number(value, one.value) : to_hex(value, one.value));
    if (!good || parsed.fields.size() == kMostCaches) return unreadable("schemata", line);
    parsed.fields.push_back(one);
  }
  std::ranges::sort(parsed.fields, {}, &SchemataLine::Field::id);
  const auto twice = std::ranges::adjacent_find(parsed.fields, {}, &SchemataLine::Field::id);
  if (twice != parsed.fields.end()) return unreadable("schemata", line);
  return parsed;
}

}  // namespace

std::string resctrl_folder(const Root& root) {
  return fmt::format("{}{}resctrl/", root.sys_fs, root.sys_fs.ends_with('/') ? "" : "/");
}

Result<ResctrlInfo> read_resctrl_info(const Root& root) {
  const std::string folder = resctrl_folder(root);
  const std::string path = fmt::format("{}schemata", folder);
  KOORD_TRY(text, text_of(path));
  if (!text)
    return Error(Code::not_found, fmt::format("{}: it is not mounted, or the kernel has none", folder));
  auto lines = parse_schemata(*text);
  if (!lines) return std::move(lines).error().context(folder);
  ResctrlInfo info;
  for (const SchemataLine& line : *lines)
    if (line.name == kBandwidth) {
      KOORD_CHECK(read_bandwidth(folder, line, info));
    } else {
      KOORD_CHECK(read_cache(folder, line, info));
    }
  KOORD_CHECK(read_counters(folder, info));
  return info;
}

Result<std::vector<SchemataLine>> parse_schemata(std::string_view text) {
  std::vector<SchemataLine> lines;
  std::string_view line;
  while (next_line(text, line)) {
    line = trimmed(line);
    const auto colon = line.find(':');
    const std::string_view name = trimmed(line.substr(0, colon));
    if (line.empty() || (name != kBandwidth && !is_cache(name))) continue;
    if (colon == std::string_view::npos || std::ranges::find(lines, name, &SchemataLine::name) != lines.end())
      return unreadable("schemata", line);
    KOORD_TRY(parsed, parse_line(line, name, line.substr(colon + 1)));
    lines.push_back(std::move(parsed));
  }
  return lines;
}

std::string print_schemata(const SchemataLine& line) {
  if (line.fields.empty()) return {};
  std::string text = fmt::format("{}:", line.name);
  const auto to = std::back_inserter(text);
  for (const auto& field : line.fields)
    if (line.name == kBandwidth)
      fmt::format_to(to, "{}={};", field.id, field.value);
    else
      fmt::format_to(to, "{}={:x};", field.id, field.value);
  text.push_back('\n');
  return text;
}

Result<std::vector<std::int32_t>> parse_tasks(std::string_view text) {
  std::vector<std::int32_t> tasks;
  std::string_view line;
  while (next_line(text, line)) {
    line = trimmed(line);
    if (line.empty()) continue;
    std::int32_t task = 0;
    if (!to_number(line, task) || task < 0) return unreadable("tasks", line);
    tasks.push_back(task);
  }
  return tasks;
}

Result<std::uint64_t> cache_mask(std::uint64_t full, int least_bits, std::int64_t start_percent,
                                 std::int64_t end_percent) {
  if (full == 0 || (full & (full + 1)) != 0)
    return Error(Code::invalid, fmt::format("a cache's parts {:x}: expected all bits from bit 0 on", full));
  if (start_percent < 0 || end_percent > kAllPercent || end_percent <= start_percent)
    return Error(Code::invalid, fmt::format("a cache from {} to {} percent: expected 0 <= start < end <= 100",
                                            start_percent, end_percent));
  const int parts = std::bit_width(full);
  const auto whole = [&](std::int64_t percent) { return static_cast<int>((parts * percent + 99) / 100); };
  int from = whole(start_percent), to = whole(end_percent);
  // Rounded up both may be the same part's end, or leave less than the kernel takes.
  const int least = std::clamp(least_bits, 1, parts);
  if (to - from < least) {
    to = std::min(parts, from + least);
    from = std::min(from, to - least);
  }
  const auto below = [](int bits) { return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; };
  return below(to) & ~below(from);
}

std::optional<std::int64_t> bandwidth_value(const ResctrlBandwidth& bandwidth, std::int64_t percent) {
  if (percent <= 0 || percent > kAllPercent) return std::nullopt;
  switch (bandwidth.scale) {
    case BandwidthScale::megabytes: return std::nullopt;
    case BandwidthScale::units: {
      if (percent == kAllPercent) return bandwidth.most;
      const std::int64_t reached = std::max<std::int64_t>(bandwidth.most * kReached / kReachedOf, 1);
      return std::clamp(reached * percent / kAllPercent, bandwidth.least, bandwidth.most);
    }
    case BandwidthScale::percent: break;
  }
  const std::int64_t step = std::max<std::int64_t>(bandwidth.step, 1);
  return std::clamp((percent + step - 1) / step * step, bandwidth.least, bandwidth.most);
}

std::optional<std::int64_t> bandwidth_percent(const ResctrlBandwidth& bandwidth, std::int64_t value) {
  if (bandwidth.scale == BandwidthScale::megabytes || value <= 0) return std::nullopt;
  if (bandwidth.scale == BandwidthScale::percent) return std::min(value, kAllPercent);
  const std::int64_t reached = std::max<std::int64_t>(bandwidth.most * kReached / kReachedOf, 1);
  if (value >= reached) return kAllPercent;
  return std::clamp<std::int64_t>((value * kAllPercent + reached - 1) / reached, 1, kAllPercent);
}

}  // namespace koord::host
