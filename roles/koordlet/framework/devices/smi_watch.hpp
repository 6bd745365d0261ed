// SmiWatch: nvidia-smi in the place of NVIDIA's library, where that cannot be loaded.
#pragma once

#include <memory>
#include <string>

#include "framework/devices/gpu_driver.hpp"
#include "koord/async/task.hpp"
#include "koord/base/log.hpp"
#include "koord/host/programs.hpp"

namespace koord::koordlet {

/// On the event loop's thread.
class SmiWatch {
 public:
  /// `root`: the host's, in which the program runs; empty: this process's. `clock` outlives it.
  SmiWatch(std::shared_ptr<GpuDriver> driver, std::unique_ptr<host::Programs> programs, std::string root,
           Clock& clock, Logger log);

  /// Until it is cancelled: asks each 10 s, for as long as the host has a driver and the driver's helper says
  /// that there is no loader or no library for it.
  Task<Result<>> run();
  /// Asks now.
  Task<Result<>> look();

 private:
  std::shared_ptr<GpuDriver> driver_;
  std::unique_ptr<host::Programs> programs_;
  std::string root_;
  Clock& clock_;
  Logger log_;
  bool told_ = false;
};

}  // namespace koord::koordlet
