// Tables for people: see output.hpp.
#include "vendors/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "koord/api/koordinator/devices.hpp"
#include "koord/base/text.hpp"

namespace koord::device_daemon {

namespace {

constexpr std::size_t kMostLines = 4096, kMostFields = 256, kLongestModel = 63, kShown = 200;
constexpr std::string_view kBlanks = " \t\r\v\f";

bool is_plain(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty() && lines.size() < kMostLines) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.find_first_not_of(kBlanks) != std::string_view::npos) lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t at = line.find_first_not_of(kBlanks);
       at != std::string_view::npos && fields.size() < kMostFields;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return fields;
}

std::string_view last_field(std::string_view line) {
  const std::size_t end = line.find_last_not_of(kBlanks);
  if (end == std::string_view::npos) return {};
  const std::size_t before = line.find_last_of(kBlanks, end);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return line.substr(begin, end + 1 - begin);
}

std::optional<std::string_view> value_of(std::string_view text, std::string_view name) {
  for (const std::string_view line : lines_of(text))
    if (line.find(name) != std::string_view::npos) return last_field(line);
  return std::nullopt;
}

Result<std::int64_t> sum_of(std::string_view text, std::string_view name) {
  std::int64_t sum = 0;
  for (const std::string_view line : lines_of(text)) {
    if (line.find(name) == std::string_view::npos) continue;
    const auto number = whole_number(last_field(line));
    if (!number)
      return Error(Code::parse, fmt::format("no number at the end of {}", quote(utf8_prefix(line, kShown))));
    sum += *number;
  }
  return sum;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  constexpr std::size_t kMostDigits = 12;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.size() > kMostDigits || number < 0)
    return std::nullopt;
  return number;
}

std::optional<std::int64_t> positive_number(std::string_view text) {
  const auto number = whole_number(text);
  return number && *number > 0 ? number : std::nullopt;
}

std::string model_name(std::string_view text) {
  std::string name(text.substr(0, kLongestModel));
  for (char& c : name)
    if (!is_plain(c) && c != '_' && c != '.') c = '-';
  while (!name.empty() && !is_plain(name.back())) name.pop_back();
  name.erase(name.begin(), std::find_if(name.begin(), name.end(), is_plain));
  return name;
}

Result<> place_card(const Machine& machine, std::string_view text, api::XpuDevice& device) {
  const auto bus = host::parse_bus_id(text);
  if (!bus) return Error(Code::parse, fmt::format("{} is no PCI bus id", quote(utf8_prefix(text, kShown))));
  const auto place = host::pci_place(machine.sys_root, *bus);
  auto& topology = device.topology.emplace();
  topology.socket_id = "-1";  // not known, as upstream has it
  topology.bus_id = *bus;
  topology.node_id = fmt::to_string(place ? place->numa_node : 0);
  if (place) topology.pcie_id = place->root_id;
  if (!device.status) device.status.emplace().healthy = true;
  return {};
}

void set_gpu_resources(api::XpuDevice& device, std::string memory) {
  device.resources[api::kGpuMemory] = std::move(memory);
  device.resources[api::kGpuCore] = "100";
}

Error unreadable(std::string_view program, std::string_view what, std::string_view printed) {
  return Error(Code::parse,
               fmt::format("{}: {}: it printed {}", program, what, quote(utf8_prefix(printed, kShown))));
}

}  // namespace koord::device_daemon
