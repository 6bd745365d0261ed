// NVIDIA's GPUs and Iluvatar's, whose ixsmi is asked as nvidia-smi is: a line of values with commas a card.
#include <fmt/format.h>

#include <algorithm>

#include "koord/base/text.hpp"
#include "koord/host/nvidia/nvidia_smi.hpp"
#include "vendors/output.hpp"
#include "vendors/vendor.hpp"

namespace koord::device_daemon {

namespace {

struct Smi {
  std::string_view program, vendor;
  bool has_minors;  // the driver says them; else a card's index is its minor
};
constexpr Smi kNvidiaSmi{"nvidia-smi", api::kVendorNvidia, true},
    kIxSmi{"ixsmi", api::kVendorIluvatar, false};

constexpr std::string_view kQuery = "--query-gpu=index,uuid,gpu_name,memory.total,pci.bus_id";

/// "81920 MiB", or without the unit.
std::optional<std::int64_t> read_memory(std::string_view text) {
  const auto fields = fields_of(text);
  if (fields.empty() || fields.size() > 2 || (fields.size() == 2 && fields[1] != "MiB")) return std::nullopt;
  return positive_number(fields.front());
}

std::optional<std::int64_t> minor_of(const Machine& machine, const Smi& smi, const std::string& bus) {
  if (!smi.has_minors) return std::nullopt;
  return host::nvidia_minor(machine.host_root, bus);
}

Result<api::XpuDevice> read_card(const Machine& machine, const Smi& smi, std::string_view line) {
  constexpr std::size_t kColumns = 5;
  const auto columns = host::csv_columns(line);
  if (columns.size() != kColumns || !whole_number(columns[0]) || columns[1].empty())
    return unreadable(smi.program, "not an index, a UUID, a name, memory and a bus", line);
  const auto memory = read_memory(columns[3]);
  if (!memory) return unreadable(smi.program, "memory is no number of MiB", line);
  api::XpuDevice device;
  device.vendor = smi.vendor;
  device.uuid = utf8_prefix(columns[1], 128);
  device.model = model_name(columns[2]);
  KOORD_CHECK(place_card(machine, columns[4], device));
  device.minor =
      fmt::to_string(minor_of(machine, smi, device.topology->bus_id).value_or(*whole_number(columns[0])));
  set_gpu_resources(device, fmt::format("{}Mi", *memory));
  return device;
}

Task<Result<Found>> look(const Machine& machine, const Smi& smi) {
  KOORD_CO_TRY(printed,
               co_await machine.programs.ask(smi.program, {std::string(kQuery), "--format=csv,noheader"}));
  auto lines = lines_of(printed);
  if (lines.empty()) co_return unreadable(smi.program, "no card", printed);
  lines.resize(std::min(lines.size(), kMostCards));
  Found found;
  for (const std::string_view line : lines) {
    auto device = read_card(machine, smi, line);
    if (device)
      found.devices.push_back(std::move(*device));
    else
      found.failures.push_back(fmt::format("a card: {}", device.error().message()));
  }
  co_return found;
}

}  // namespace

Task<Result<Found>> look_for_nvidia(const Machine& machine) { return look(machine, kNvidiaSmi); }
Task<Result<Found>> look_for_iluvatar(const Machine& machine) { return look(machine, kIxSmi); }

}  // namespace koord::device_daemon
