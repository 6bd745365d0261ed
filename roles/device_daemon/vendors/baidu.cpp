// Baidu's Kunlun XPUs, by xpu_smi, whose -m prints a line of columns a card.
#include <fmt/format.h>

#include "vendors/output.hpp"
#include "vendors/vendor.hpp"

namespace koord::device_daemon {

namespace {

constexpr std::string_view kTool = "xpu_smi";
constexpr std::size_t kBus = 0, kMemory = 18, kModel = 21;  // columns

Task<Result<api::XpuDevice>> look_at(const Machine& machine, std::size_t minor) {
  const std::string file = fmt::format("/dev/xpu{}", minor);
  KOORD_CO_TRY(printed, co_await machine.programs.ask(kTool, {"-m", "-d", file}));
  const auto lines = lines_of(printed);
  const auto fields = lines.empty() ? std::vector<std::string_view>() : fields_of(lines.front());
  if (fields.size() <= kModel)
    co_return unreadable(kTool, fmt::format("-m -d {}: fewer than {} columns", file, kModel + 1), printed);
  const auto memory = positive_number(fields[kMemory]);
  if (!memory)
    co_return unreadable(kTool, fmt::format("-m -d {}: column {} is no number", file, kMemory + 1), printed);
  api::XpuDevice device;
  device.vendor = api::kVendorKunlun;
  device.model = model_name(fields[kModel]);
  device.minor = fmt::to_string(minor);
  device.uuid = fmt::format("xpu-{}", minor);
  KOORD_CO_CHECK(place_card(machine, fields[kBus], device));
  set_gpu_resources(device, fmt::format("{}Mi", *memory));
  co_return device;
}

}  // namespace

Task<Result<Found>> look_for_baidu(const Machine& machine) {
  KOORD_CO_TRY(printed, co_await machine.programs.ask(kTool, {"-m"}));
  const std::size_t count = std::min(lines_of(printed).size(), kMostCards);
  if (count == 0) co_return unreadable(kTool, "-m: no card", printed);
  Found found;
  for (std::size_t i = 0; i < count; ++i) {
    auto device = co_await look_at(machine, i);
    if (device)
      found.devices.push_back(std::move(*device));
    else
      found.failures.push_back(fmt::format("card {}: {}", i, device.error().message()));
  }
  co_return found;
}

}  // namespace koord::device_daemon
