// Huawei's Ascend NPUs, by npu-smi.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "koord/api/koordinator/devices.hpp"
#include "vendors/output.hpp"
#include "vendors/vendor.hpp"

namespace koord::device_daemon {

namespace {

constexpr std::string_view kTool = "npu-smi";
constexpr std::uint16_t kHuawei = 0x19e5, kBridges[] = {0x1710, 0x1711};

/// What a model has that its tool does not say.
struct Model {
  std::string_view name;
  std::optional<int> cores, cpus;
  std::optional<std::int64_t> memory_mi;
};
constexpr Model kModels[] = {{"Ascend-310P3", 8, std::nullopt, 21527},
                             {"Ascend-910B", std::nullopt, 0, std::nullopt},
                             {"Ascend-910B2", std::nullopt, 6, std::nullopt},
                             {"Ascend-910B3", std::nullopt, 7, std::nullopt},
                             {"Ascend-910B4", std::nullopt, 7, std::nullopt}};

Model model_of(std::string_view name) {
  for (const Model& model : kModels)
    if (model.name == name) return model;
  return {.name = name, .cores = std::nullopt, .cpus = std::nullopt, .memory_mi = std::nullopt};
}

/// `info -m`: below its heading a line a chip, which ends in "Ascend 910B".
Result<std::string> read_model(std::string_view printed) {
  const auto lines = lines_of(printed);
  if (lines.size() > 1)
    if (const auto fields = fields_of(lines[1]); fields.size() > 1)
      return model_name(fmt::format("{}-{}", fields[fields.size() - 2], fields.back()));
  return unreadable(kTool, "info -m: no chip below the heading", printed);
}

/// `info -l`: "NPU ID : 3".
Result<std::vector<std::string>> read_cards(std::string_view printed) {
  std::vector<std::string> cards;
  for (const std::string_view line : lines_of(printed)) {
    if (line.find("NPU ID") == std::string_view::npos) continue;
    const std::string_view card = last_field(line);
    if (!whole_number(card)) return unreadable(kTool, "info -l: a card without a number", line);
    if (cards.size() < kMostCards) cards.emplace_back(card);
  }
  if (cards.empty()) return unreadable(kTool, "info -l: no NPU ID", printed);
  return cards;
}

/// N of each /dev/davinciN, by number.
std::vector<std::int64_t> davinci_minors(const std::string& host_root) {
  constexpr std::string_view kName = "davinci";
  std::vector<std::int64_t> minors;
  std::error_code failed;
  for (std::filesystem::directory_iterator it(fmt::format("{}/dev", host_root), failed);
       !failed && it != std::filesystem::directory_iterator(); it.increment(failed)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(kName)) continue;
    if (const auto minor = whole_number(std::string_view(name).substr(kName.size())))
      minors.push_back(*minor);
  }
  std::sort(minors.begin(), minors.end());
  return minors;
}

Task<Result<std::int64_t>> ask_cores(const Machine& machine, const Model& model, const std::string& card) {
  if (model.cores) co_return *model.cores;
  KOORD_CO_TRY(printed, co_await machine.programs.ask(kTool, {"info", "-t", "common", "-i", card}));
  co_return sum_of(printed, "Aicore Count");
}

Task<Result<std::int64_t>> ask_cpus(const Machine& machine, const Model& model, const std::string& card) {
  if (model.cpus) co_return *model.cpus;
  KOORD_CO_TRY(printed, co_await machine.programs.ask(kTool, {"info", "-t", "cpu-num-cfg", "-i", card}));
  co_return sum_of(printed, "AI");
}

Task<Result<std::int64_t>> ask_memory(const Machine& machine, const Model& model, const std::string& card) {
  auto printed = co_await machine.programs.ask(kTool, {"info", "-t", "memory", "-i", card});
  if (!printed) {
    if (model.memory_mi && printed.error().code() == Code::io) co_return *model.memory_mi;  // it cannot say
    co_return std::move(printed).error();
  }
  KOORD_CO_TRY(ddr, sum_of(*printed, "DDR Capacity"));
  KOORD_CO_TRY(hbm, sum_of(*printed, "HBM Capacity"));
  if (ddr + hbm > 0) co_return ddr + hbm;
  if (model.memory_mi) co_return *model.memory_mi;
  co_return unreadable(kTool, fmt::format("info -t memory -i {}: no DDR or HBM Capacity", card), *printed);
}

/// `info -t board`: the bus, and faults.
Result<> read_board(const Machine& machine, std::string_view card, std::string_view printed,
                    api::XpuDevice& device) {
  const auto bus = value_of(printed, "PCIe Bus Info");
  if (!bus) return unreadable(kTool, fmt::format("info -t board -i {}: no PCIe Bus Info", card), printed);
  KOORD_CHECK(place_card(machine, *bus, device));
  KOORD_TRY(faults, sum_of(printed, "Chip Fault"));
  if (faults > 0) {
    device.status->healthy = false;
    device.status->err_code = "chip error";
    device.status->err_message = fmt::format("NPU index {} has {} chip faults", card, faults);
  }
  return {};
}

Task<Result<api::XpuDevice>> look_at(const Machine& machine, const Model& model, std::string card) {
  api::XpuDevice device;
  device.vendor = api::kVendorHuawei;
  device.model = model.name;
  KOORD_CO_TRY(board, co_await machine.programs.ask(kTool, {"info", "-t", "board", "-i", card}));
  KOORD_CO_CHECK(read_board(machine, card, board, device));
  KOORD_CO_TRY(memory, co_await ask_memory(machine, model, card));
  device.resources[api::kGpuMemory] = fmt::format("{}Mi", memory);
  co_return device;
}

}  // namespace

bool is_huawei(const host::PciDevice& device) {
  return device.vendor == kHuawei &&
         std::find(std::begin(kBridges), std::end(kBridges), device.product) == std::end(kBridges);
}

Task<Result<Found>> look_for_huawei(const Machine& machine) {
  KOORD_CO_TRY(mapping, co_await machine.programs.ask(kTool, {"info", "-m"}));
  KOORD_CO_TRY(name, read_model(mapping));
  const Model model = model_of(name);
  KOORD_CO_TRY(list, co_await machine.programs.ask(kTool, {"info", "-l"}));
  KOORD_CO_TRY(cards, read_cards(list));
  KOORD_CO_TRY(cores, co_await ask_cores(machine, model, cards.front()));
  KOORD_CO_TRY(cpus, co_await ask_cpus(machine, model, cards.front()));
  const auto minors = davinci_minors(machine.host_root);
  Found found;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    const auto fail = [&](std::string_view why) {
      found.failures.push_back(fmt::format("card {}: {}", cards[i], why));
    };
    if (i >= minors.size()) {
      fail(fmt::format("no /dev/davinci for it: {} cards, {} devices", cards.size(), minors.size()));
      continue;
    }
    auto device = co_await look_at(machine, model, cards[i]);
    if (!device) {
      fail(device.error().message());
      continue;
    }
    device->minor = fmt::to_string(minors[i]);
    device->uuid = fmt::format("npu-{}-{}", cards[i], minors[i]);
    device->resources[api::kNpuCpu] = fmt::to_string(cpus);
    device->resources[api::kNpuCore] = fmt::to_string(cores);
    device->resources[api::kNpuDvpp] = "100";
    found.devices.push_back(std::move(*device));
  }
  co_return found;
}

}  // namespace koord::device_daemon
