// Terway's files: what its agent on the host reads of the node's network and pods, kept as the NodeSLO says.
#pragma once

#include <string>

#include "framework/model/inventory.hpp"
#include "koord/async/event.hpp"
#include "koord/async/offload.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/result.hpp"
#include "koord/host/root.hpp"
#include "plugins/terway_qos/texts.hpp"

namespace koord::koordlet::terway_qos {

inline constexpr std::string_view kNodeFile = "global_bps_config", kPodsFile = "pod.json";

/// "/var/lib/terway/qos".
std::string folder_of(const host::Root& root);

/// Writes what differs from what is there, each file renamed into place, or removes both. The folder is made,
/// unless what is above it lacks: then nobody could read it. Returns whether anything was changed. On any
/// thread.
Result<bool> keep(const std::string& folder, const Texts& texts);
/// For --cleanup: neither file is there afterwards.
Result<bool> remove(const std::string& folder);

/// On the event loop's thread; files are written by the workers. The parts outlive it.
class TerwayFiles {
 public:
  struct Parts {
    Clock& clock;
    Logger& log;
    WorkerPool& workers;
    InventoryHub& hub;
  };
  TerwayFiles(Parts parts, std::string folder);
  /// Until it is cancelled. What fails is tried again, and told once.
  Task<Result<>> run();

 private:
  Task<Result<>> follow();
  void tell(const std::string& what);

  Parts parts_;
  std::string folder_, told_;
  Event changed_;
};

}  // namespace koord::koordlet::terway_qos
