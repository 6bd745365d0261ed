// NvidiaCards: NVIDIA's GPUs, as the driver says them; where no file describes accelerators.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "framework/devices/device_reading.hpp"
#include "koord/host/nvml.hpp"
#include "koord/host/root.hpp"

namespace koord::koordlet {

/// Not thread-safe; read() blocks for as long as the driver does, at most the helper's limit.
class NvidiaCards {
 public:
  /// `clock` outlives it. The helper is started with the first read() on a host that has the driver.
  NvidiaCards(Clock& clock, host::Root root, host::NvmlProcess::Options options)
      : root_(std::move(root)), helper_(clock, std::move(options)) {}

  /// Cards with MIG instances are left out, by name. A card that had an Xid error is unhealthy for as long as
  /// the agent runs, as is one that the driver knows and does not answer for. While the driver cannot be
  /// asked the reading is not complete.
  DeviceReading read();

 private:
  struct Fault {
    std::string code, message;
  };
  void note(const host::GpuAnswer& answer);
  api::DeviceInfo device_of(const host::GpuCard& card) const;
  void add_lost(const host::GpuAnswer& answer, DeviceReading& reading) const;

  host::Root root_;
  host::NvmlProcess helper_;
  std::map<std::string, Fault, std::less<>> faults_;           // by bus id
  std::map<std::string, api::DeviceInfo, std::less<>> known_;  // by id: as the driver had them last
};

/// The text of the label: without "NVIDIA ", blanks as "-"; empty where the cards are of several models.
std::string gpu_model_label(const host::GpuAnswer& answer);

}  // namespace koord::koordlet
