// NvidiaCards: see nvidia_cards.hpp.
#include "framework/devices/nvidia_cards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "koord/api/koordinator/devices.hpp"
#include "koord/api/koordinator/xpu_devices.hpp"
#include "koord/api/rules/validation_names.hpp"
#include "koord/host/pci.hpp"

namespace koord::koordlet {

namespace {

/// Errors of the application: the card works (NVIDIA's list of Xid errors).
constexpr std::array<std::uint64_t, 6> kOfApplications = {13, 31, 43, 45, 68, 109};
constexpr std::string_view kPrefix = "NVIDIA ";
constexpr BootFile::Kind kFaults = {.header = "koord-gpu-faults 1 ",
                                    .what = "a file of GPUs' faults",
                                    .row = "fault",
                                    .max_size = std::size_t{64} << 10,
                                    .max_rows = 256};

std::vector<api::Condition> unhealthy(const std::string& code, std::string message) {
  api::Condition condition{.type = Symbol("Healthy"), .status = Symbol("False")};
  condition.reason = Symbol(code);
  condition.message = std::move(message);
  return {condition};
}

}  // namespace

std::string gpu_model_label(const host::GpuAnswer& answer) {
  if (answer.cards.empty()) return {};
  const std::string& first = answer.cards.front().model;
  const bool same = std::ranges::all_of(answer.cards, [&](const auto& card) { return card.model == first; });
  if (!same) return {};
  std::string label = first.starts_with(kPrefix) ? first.substr(kPrefix.size()) : first;
  std::ranges::replace(label, ' ', '-');
  return label;
}

NvidiaCards::NvidiaCards(std::shared_ptr<GpuDriver> driver, host::Root root, BootFile::Place faults)
    : root_(std::move(root)), driver_(std::move(driver)), file_(kFaults, std::move(faults)) {}

void NvidiaCards::load(DeviceReading& reading) {
  if (loaded_) return;
  loaded_ = true;
  const auto done = file_.load([this](std::string_view row) {
    const std::string_view bus_id = take_field(row), code = take_field(row);
    if (bus_id.empty() || code.empty()) return false;
    faults_[std::string(bus_id)] = {std::string(code), std::string(row)};
    return true;
  });
  if (done) return;
  faults_.clear();
  reading.problems.push_back(done.error().message());
}

void NvidiaCards::note(const host::GpuAnswer& answer, DeviceReading& reading) {
  const std::size_t before = faults_.size();
  for (const host::GpuFault& fault : driver_->take_faults()) {
    if (std::ranges::find(kOfApplications, fault.xid) != kOfApplications.end()) continue;
    const Fault what = fault.xid == 0
                           ? Fault{"DeviceHealthCheckNotSupported", "device does not support health checking"}
                           : Fault{fmt::format("Xid{}", fault.xid),
                                   fmt::format("Xid error detected on device, error code: {}", fault.xid)};
    if (!fault.bus_id.empty()) faults_[fault.bus_id] = what;
    for (const host::GpuCard& card : answer.cards)
      if (fault.bus_id.empty()) faults_[card.bus_id] = what;
  }
  unsaved_ = unsaved_ || faults_.size() != before;
  if (!unsaved_) return;
  std::string rows;
  for (const auto& [bus_id, fault] : faults_)
    rows += fmt::format("{}\t{}\t{}\n", bus_id, fault.code, fault.message);
  const auto saved = file_.save(rows);
  unsaved_ = !saved;
  if (!saved) reading.problems.push_back(saved.error().message());
}

api::DeviceInfo NvidiaCards::device_of(const host::GpuCard& card) const {
  api::DeviceInfo to;
  to.type = Symbol(kGpuType);
  to.id = card.uuid;
  to.minor = card.minor;
  to.health = true;
  to.resources[api::kGpuCore] = api::Quantity::from_int(100);
  to.resources[api::kGpuMemory] =
      api::Quantity::from_int(static_cast<std::int64_t>(card.memory), api::Quantity::Format::binary_si);
  to.resources[api::kGpuMemoryRatio] = api::Quantity::from_int(100);
  if (const auto place = host::pci_place(root_.sys, card.bus_id); place && !place->root_id.empty()) {
    api::DeviceTopology topology;
    topology.socket_id = -1;
    topology.node_id = place->numa_node;
    topology.pcie_id = place->root_id;
    topology.bus_id = card.bus_id;
    to.topology = std::move(topology);
  }
  if (const auto fault = faults_.find(card.bus_id); fault != faults_.end()) {
    to.health = false;
    to.conditions = unhealthy(fault->second.code, fault->second.message);
  }
  return to;
}

/// A card that the driver counts and does not answer for has no name in the answer: those that had one before
/// and have none now are lost.
void NvidiaCards::add_lost(const host::GpuAnswer& answer, DeviceReading& reading) const {
  std::size_t nameless = answer.bad.size();
  if (nameless == 0) return;
  for (const auto& [id, device] : known_) {
    if (std::ranges::any_of(reading.devices, [&](const auto& one) { return one.id == id; })) continue;
    api::DeviceInfo lost = device;
    lost.health = false;
    lost.conditions = unhealthy("DeviceLost", answer.bad.front());
    reading.devices.push_back(std::move(lost));
    nameless -= nameless > 0 ? 1 : 0;
  }
  // Of one that this agent has never seen it is not known which it is: what is reported stays.
  reading.complete = nameless == 0;
}

DeviceReading NvidiaCards::read() {
  DeviceReading reading;
  if (!driver_->is_there()) return reading;
  const auto said = driver_->ask({});
  if (!said) {
    reading.complete = false;
    reading.problems.push_back(fmt::format("NVIDIA's GPUs cannot be asked for: {}", said.error().message()));
    return reading;
  }
  const host::GpuAnswer& answer = (*said)->answer;
  load(reading);
  note(answer, reading);
  std::set<std::int32_t> minors;
  for (const host::GpuCard& card : answer.cards) {
    if (card.crowded && !card.mig)
      reading.problems.push_back(
          fmt::format("GPU {} ({}): more processes compute on it than are looked at; its use is not shown",
                      card.minor, card.uuid));
    if (card.mig) {
      reading.problems.push_back(fmt::format("GPU {} ({}) is divided into MIG instances, and is not reported",
                                             card.minor, card.uuid));
    } else if (!minors.insert(card.minor).second) {
      reading.problems.push_back(fmt::format(
          "GPU {} ({}): an earlier one has this number; it is not reported", card.minor, card.uuid));
    } else {
      reading.devices.push_back(device_of(card));
    }
  }
  for (const std::string& bad : answer.bad) reading.problems.push_back(bad);
  add_lost(answer, reading);
  known_.clear();
  for (const api::DeviceInfo& device : reading.devices) known_.emplace(device.id, device);
  reading.gpus.vendor = api::kVendorNvidia;
  for (auto [to, text] : {std::pair(&reading.gpus.model, gpu_model_label(answer)),
                          std::pair(&reading.gpus.driver_version, answer.driver)})
    if (api::is_label_value(text)) *to = text;
  return reading;
}

}  // namespace koord::koordlet
