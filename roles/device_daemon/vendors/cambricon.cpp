// Cambricon's MLUs, by cnmon.
#include <fmt/format.h>

#include "koord/base/text.hpp"
#include "vendors/output.hpp"
#include "vendors/vendor.hpp"

namespace koord::device_daemon {

namespace {

constexpr std::string_view kTool = "cnmon";

struct Card {
  std::string uuid, bus_id, device, state;
  std::string domain, bus, function, numa_node;
  std::optional<std::int64_t> memory_mi;
};

/// "Name   : value": what is behind the colon, where the name is this one alone.
std::optional<std::string_view> behind(std::string_view line, std::string_view name) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos || !line.substr(begin).starts_with(name)) return std::nullopt;
  line.remove_prefix(begin + name.size());
  const std::size_t colon = line.find_first_not_of(" \t");
  if (colon == std::string_view::npos || line[colon] != ':') return std::nullopt;
  line.remove_prefix(colon + 1);
  const std::size_t value = line.find_first_not_of(" \t");
  if (value == std::string_view::npos) return std::string_view();
  return line.substr(value, line.find_last_not_of(" \t\r") + 1 - value);
}

/// "Physical Memory Usage :", and below it "Total : 16384 MiB".
std::optional<std::int64_t> read_memory(std::string_view printed) {
  bool below = false;
  for (const std::string_view line : lines_of(printed)) {
    if (line.find("Physical Memory Usage") != std::string_view::npos) {
      below = true;
    } else if (below && line.find("Total") != std::string_view::npos) {
      const auto fields = fields_of(line);
      return fields.size() > 1 ? positive_number(fields[fields.size() - 2]) : std::nullopt;
    }
  }
  return std::nullopt;
}

/// `info -c N`. "Device" is two things there: the number on the bus, and whether it is "Good".
Card read_card(std::string_view printed) {
  Card card;
  for (const std::string_view line : lines_of(printed)) {
    if (const auto value = behind(line, "Device")) {
      const bool is_number =
          value->size() <= 2 && value->find_first_not_of("0123456789abcdefABCDEF") == value->npos;
      (is_number ? card.device : card.state) = *value;
    } else if (const auto uuid = behind(line, "UUID"); uuid && card.uuid.empty()) {
      card.uuid = *uuid;
    } else if (const auto node = behind(line, "NUMA node id")) {
      card.numa_node = *node;
    } else if (const auto domain = behind(line, "Domain ID")) {
      card.domain = *domain;
    } else if (const auto bus = behind(line, "Bus num")) {
      card.bus = *bus;
    } else if (const auto function = behind(line, "Function")) {
      card.function = *function;
    }
  }
  card.bus_id = fmt::format("{}:{}:{}.{}", card.domain, card.bus, card.device, card.function);
  card.memory_mi = read_memory(printed);
  return card;
}

Task<Result<api::XpuDevice>> look_at(const Machine& machine, std::string number) {
  KOORD_CO_TRY(printed, co_await machine.programs.ask(kTool, {"info", "-c", number}));
  Card card = read_card(printed);
  if (card.uuid.empty()) co_return unreadable(kTool, fmt::format("info -c {}: no UUID", number), printed);
  if (!card.memory_mi) {  // some versions say it of all cards together only
    KOORD_CO_TRY(all, co_await machine.programs.ask(kTool, {"info"}));
    card.memory_mi = read_memory(all);
    if (!card.memory_mi) co_return unreadable(kTool, "info: no total below Physical Memory Usage", all);
  }
  api::XpuDevice device;
  device.vendor = api::kVendorCambricon;
  device.uuid = utf8_prefix(card.uuid, 128);
  device.minor = std::move(number);
  auto& status = device.status.emplace();
  status.healthy = card.state == "Good";
  if (!status.healthy)
    status.err_message = card.state.empty()
                             ? "cnmon does not say whether the device is good"
                             : fmt::format("Device is unhealthy, status: {}", utf8_prefix(card.state, 128));
  KOORD_CO_CHECK(place_card(machine, card.bus_id, device));
  if (const auto node = whole_number(card.numa_node)) device.topology->node_id = fmt::to_string(*node);
  set_gpu_resources(device, fmt::format("{}Mi", *card.memory_mi));
  co_return device;
}

/// `-l`: a line a card, "Card 0: MLU370-X8 (UUID: ...)": how many, and the first of their names.
struct Listed {
  std::string model;
  std::size_t count = 0;
};
Listed read_list(std::string_view printed) {
  Listed listed;
  for (const std::string_view line : lines_of(printed)) {
    if (line.find("UUID") != std::string_view::npos) ++listed.count;
    for (const std::string_view field : fields_of(line))
      if (listed.model.empty() && field.find("MLU") != std::string_view::npos)
        listed.model = model_name(field);
  }
  listed.count = std::min(listed.count, kMostCards);
  return listed;
}

}  // namespace

Task<Result<Found>> look_for_cambricon(const Machine& machine) {
  KOORD_CO_TRY(printed, co_await machine.programs.ask(kTool, {"-l"}));
  const Listed listed = read_list(printed);
  if (listed.count == 0 || listed.model.empty())
    co_return unreadable(kTool, "-l: no card with a UUID", printed);
  Found found;
  for (std::size_t i = 0; i < listed.count; ++i) {
    auto device = co_await look_at(machine, fmt::to_string(i));
    if (!device) {
      found.failures.push_back(fmt::format("card {}: {}", i, device.error().message()));
      continue;
    }
    device->model = listed.model;
    found.devices.push_back(std::move(*device));
  }
  co_return found;
}

}  // namespace koord::device_daemon
