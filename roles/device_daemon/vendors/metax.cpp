// MetaX's GPUs, by mx-smi.
#include <fmt/format.h>

#include "koord/base/text.hpp"
#include "vendors/output.hpp"
#include "vendors/vendor.hpp"

namespace koord::device_daemon {

namespace {

constexpr std::string_view kTool = "mx-smi";

/// The word behind "Model Name :".
std::string_view fourth(std::string_view line) {
  const auto fields = fields_of(line);
  return fields.size() > 3 ? fields[3] : std::string_view();
}

/// "Memory Capacity : 64GB", or with the unit apart: "64Gi".
std::optional<std::string> read_memory(std::string_view line) {
  const auto fields = fields_of(line);
  if (fields.size() < 4) return std::nullopt;
  std::string_view amount = fields[3], unit = fields.size() > 4 ? fields[4] : std::string_view();
  if (const std::size_t digits = amount.find_first_not_of("0123456789"); digits != std::string_view::npos) {
    unit = amount.substr(digits);
    amount = amount.substr(0, digits);
  }
  const auto number = positive_number(amount);
  if (!number || (unit != "GB" && unit != "GiB" && unit != "MB" && unit != "MiB")) return std::nullopt;
  return fmt::format("{}{}i", *number, unit.front());
}

struct Hardware {
  std::string model;
  std::size_t count = 0;
  std::optional<std::string> memory;
};
/// `--show-hwinfo`.
Hardware read_hardware(std::string_view printed) {
  Hardware hardware;
  for (const std::string_view line : lines_of(printed)) {
    if (line.find("Model Name") != std::string_view::npos) {
      if (++hardware.count == 1) hardware.model = model_name(fourth(line));
    } else if (line.find("Memory Capacity") != std::string_view::npos && !hardware.memory) {
      hardware.memory = read_memory(line);
    }
  }
  hardware.count = std::min(hardware.count, kMostCards);
  return hardware;
}

/// The words of the line that begins with GPU#N, not of a part of a GPU (SGPU#N).
std::vector<std::string_view> line_of(std::string_view printed, std::size_t minor) {
  const std::string name = fmt::format("GPU#{}", minor);
  for (const std::string_view line : lines_of(printed)) {
    auto fields = fields_of(line);
    std::string_view first = fields.front();
    if (first.ends_with(':')) first.remove_suffix(1);
    if (first == name) return fields;
  }
  return {};
}

/// `--list`: what follows "UUID:", else the sixth word, without parentheses.
std::string read_uuid(const std::vector<std::string_view>& fields) {
  constexpr std::size_t kUuid = 5;
  std::string_view uuid = fields.size() > kUuid ? fields[kUuid] : std::string_view();
  for (std::size_t i = 0; i + 1 < fields.size(); ++i)
    if (fields[i].ends_with("UUID:")) uuid = fields[i + 1];
  while (uuid.starts_with('(')) uuid.remove_prefix(1);
  while (uuid.ends_with(')')) uuid.remove_suffix(1);
  return std::string(utf8_prefix(uuid, 128));
}

/// The first word that is a place on the bus.
std::string_view bus_in(const std::vector<std::string_view>& fields) {
  for (const std::string_view field : fields)
    if (host::parse_bus_id(field)) return field;
  return {};
}

/// `--count-ecc`: errors that nothing corrected.
Result<std::int64_t> read_errors(std::string_view printed) {
  std::int64_t errors = 0;
  for (const std::string_view name : {"SRAM Uncorrectable", "DRAM Uncorrectable", "Double Bit ECC"}) {
    KOORD_TRY(some, sum_of(printed, name));
    errors += some;
  }
  return errors;
}

Task<Result<api::XpuDevice>> look_at(const Machine& machine, std::string_view list, std::size_t minor) {
  api::XpuDevice device;
  device.vendor = api::kVendorMetaX;
  device.minor = fmt::to_string(minor);
  device.uuid = read_uuid(line_of(list, minor));
  if (device.uuid.empty()) co_return unreadable(kTool, fmt::format("--list: no UUID of GPU#{}", minor), list);
  KOORD_CO_TRY(printed, co_await machine.programs.ask(kTool, {"--show-hwinfo", "-i", device.minor}));
  KOORD_CO_CHECK(place_card(machine, bus_in(line_of(printed, minor)), device));
  // Versions without this count say nothing of its health, as upstream takes it.
  const auto counted = co_await machine.programs.ask(kTool, {"--count-ecc", "-i", device.minor});
  if (!counted) co_return device;
  KOORD_CO_TRY(errors, read_errors(*counted));
  if (errors > 0) {
    device.status->healthy = false;
    device.status->err_code = "ECC error";
    device.status->err_message = fmt::format(  // with upstream's two blanks
        "MX index {} has {} SRAM/DRAM Uncorrectable or Double Bit  ECC errors", device.minor, errors);
  }
  co_return device;
}

}  // namespace

Task<Result<Found>> look_for_metax(const Machine& machine) {
  KOORD_CO_TRY(printed, co_await machine.programs.ask(kTool, {"--show-hwinfo"}));
  const Hardware hardware = read_hardware(printed);
  if (hardware.count == 0) co_return unreadable(kTool, "--show-hwinfo: no Model Name", printed);
  if (!hardware.memory) co_return unreadable(kTool, "--show-hwinfo: no Memory Capacity in GB", printed);
  KOORD_CO_TRY(list, co_await machine.programs.ask(kTool, {"--list"}));
  Found found;
  for (std::size_t i = 0; i < hardware.count; ++i) {
    auto device = co_await look_at(machine, list, i);
    if (!device) {
      found.failures.push_back(fmt::format("card {}: {}", i, device.error().message()));
      continue;
    }
    device->model = hardware.model;
    set_gpu_resources(*device, *hardware.memory);
    found.devices.push_back(std::move(*device));
  }
  co_return found;
}

}  // namespace koord::device_daemon
