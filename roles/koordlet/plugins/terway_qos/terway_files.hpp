// Terway's files: what its agent on the host reads of the node's network and pods, kept as the NodeSLO says.
#pragma once

#include <string>
#include <vector>

#include "framework/audit/auditor.hpp"
#include "framework/keep/boot_file.hpp"
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

/// That an agent of this host has written the files: kept where agents keep what the next one needs, of use
/// for as long as that folder lasts.
BootFile::Place mark_at(BootFile::Place place);

/// What was changed, up to what went wrong.
struct Round {
  std::vector<std::string> done;  // for the audit: "PATH written", "PATH removed"
  std::string wrong;              // empty: nothing
};
/// Writes what differs from what is there, each file renamed into place, or removes both. The folder is made,
/// unless what is above it lacks: then nobody could read it. `mark` is there before the first file, and goes
/// after the last one. On any thread.
Round keep(const std::string& folder, const Texts& texts, const BootFile::Place& mark);
/// Neither file is there afterwards; one that is not there needs no rights.
Round remove(const std::string& folder);
/// For --cleanup, and with the gate off: what an agent of this host wrote goes, and the mark. Without the
/// mark the files are somebody else's, and stay; where the folder above theirs is not there, the mark does.
Round withdraw(const std::string& folder, const BootFile::Place& mark);
/// An event for each change. `auditor` may be null.
void audit(Auditor* auditor, const Round& round);

/// On the event loop's thread; files are written by the workers. The parts outlive it.
class TerwayFiles {
 public:
  struct Parts {
    Clock& clock;
    Logger& log;
    WorkerPool& workers;
    InventoryHub& hub;
    Auditor* auditor;  // may be null
  };
  TerwayFiles(Parts parts, std::string folder, BootFile::Place mark);
  /// Until it is cancelled. What fails is tried again, and told once.
  Task<Result<>> run();

 private:
  Task<Result<>> follow();
  void tell(const std::string& what);

  Parts parts_;
  std::string folder_, told_;
  BootFile::Place mark_;
  Event changed_;
};

}  // namespace koord::koordlet::terway_qos
