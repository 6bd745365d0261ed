// NvidiaCards: NVIDIA's GPUs, as the driver says them; where no file describes accelerators.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "framework/devices/device_reading.hpp"
#include "framework/devices/gpu_driver.hpp"
#include "framework/keep/boot_file.hpp"
#include "koord/host/root.hpp"

namespace koord::koordlet {

/// Not thread-safe; read() blocks for as long as the driver does, at most the helper's limit.
class NvidiaCards {
 public:
  /// `faults`: where Xid errors are kept for the next agent of the same boot; what they end with is a boot.
  NvidiaCards(std::shared_ptr<GpuDriver> driver, host::Root root, BootFile::Place faults = {});

  /// Cards with MIG instances are left out, by name. A card that had an Xid error is unhealthy until the next
  /// boot, as is one for now that the driver knows and does not answer for. While the driver cannot be
  /// asked the reading is not complete.
  DeviceReading read();

 private:
  struct Fault {
    std::string code, message;
  };
  void load(DeviceReading& reading);
  void note(const host::GpuAnswer& answer, DeviceReading& reading);
  api::DeviceInfo device_of(const host::GpuCard& card) const;
  void add_lost(const host::GpuAnswer& answer, DeviceReading& reading) const;

  host::Root root_;
  std::shared_ptr<GpuDriver> driver_;
  BootFile file_;
  bool loaded_ = false, unsaved_ = false;
  std::map<std::string, Fault, std::less<>> faults_;           // by bus id
  std::map<std::string, api::DeviceInfo, std::less<>> known_;  // by id: as the driver had them last
};

/// The text of the label: without "NVIDIA ", blanks as "-"; empty where the cards are of several models.
std::string gpu_model_label(const host::GpuAnswer& answer);

}  // namespace koord::koordlet
