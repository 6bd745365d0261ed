// TcNetwork: keeping the host's network as the NodeSLO and pods say.
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
#include "koord/base/metrics.hpp"
#include "koord/base/result.hpp"
#include "plugins/tc_network/network.hpp"

namespace koord::koordlet::tc_network {

/// What one look at the network has come to.
struct Round {
  std::vector<std::string> done;  // for the audit
  std::string wrong;              // what is not as it is wanted, and why; empty: nothing
  bool shaped = false;
  bool reshaped = false;  // more has been done than to move groups and addresses between classes
};
/// That an agent of this boot has shaped the network stands in `mark` before the first step is made, and goes
/// after the last of it; where nothing can be shaped, or it is not the host's network, there is none. On any
/// thread, one at a time.
Round keep(Network& network, const Wanted& wanted, const BootFile::Place& mark);
/// Nothing of koord's is there afterwards. Nothing is asked of the kernel that wants rights where neither the
/// mark nor a qdisc tells of an agent. Returns whether anything was there.
Result<bool> withdraw(HostNetwork& network, const BootFile::Place& mark);

/// Where the host's network is, and the mark.
struct Host {
  host::Root root;
  host::CgroupVersion version{};
  BootFile::Place mark;
};
/// For --cleanup. It waits for the kernel, for a few messages.
Result<> withdraw(const Host& host, Logger& log);

/// On the event loop's thread; the kernel is asked by the workers. The parts outlive it.
class TcNetwork {
 public:
  static const metrics::Table kMetrics;
  struct Parts {
    Clock& clock;
    Logger& log;
    WorkerPool& workers;
    InventoryHub& hub;
    metrics::Registry& metrics;
    Auditor* auditor;  // may be null
  };
  /// With the gate off what an agent before this one has left goes, and there is none: null.
  static std::unique_ptr<TcNetwork> make(Parts parts, Host host, bool on);
  TcNetwork(Parts parts, std::unique_ptr<Network> network, BootFile::Place mark);
  /// Until it is cancelled: at each change of what is wanted, and every ten seconds. What fails is tried
  /// again, and told once.
  Task<Result<>> run();

 private:
  Task<Result<>> follow();
  void tell(const std::string& what);

  Parts parts_;
  std::unique_ptr<Network> network_;
  BootFile::Place mark_;
  std::string told_;
  metrics::Gauge shaped_;
  Event changed_;
};

}  // namespace koord::koordlet::tc_network
