// Looker: one look at the machine after another: which vendors' cards are on the bus, what their tools say.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "koord/async/offload.hpp"
#include "koord/async/task.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/host/programs.hpp"
#include "options/settings.hpp"
#include "passes/ledger.hpp"

namespace koord::device_daemon {

struct Vendor;
struct Machine;

class Looker {
 public:
  struct Parts {
    Clock& clock;
    WorkerPool& workers;
    Logger log;
    metrics::Registry& metrics;
  };
  static const metrics::Table kMetrics;

  /// What the parts refer to outlives it.
  explicit Looker(Parts parts);

  /// All vendors of the settings, one after the other; what is wrong with one is logged and counted, and
  /// keeps none of the others. True: nothing was wrong. An error: the bus cannot be read.
  Task<Result<bool>> look(const Settings& settings);
  /// What the looks so far have found.
  std::vector<api::XpuDevice> devices() const { return ledger_.devices(); }

 private:
  Task<Result<bool>> look_for(const Vendor& vendor, const Machine& machine);
  void show(const Settings& settings, MonoTime begun);

  Parts parts_;
  Ledger ledger_;
  std::unique_ptr<host::HostPrograms> programs_;
  metrics::Family<metrics::Gauge> found_;
  metrics::Family<metrics::Counter> failures_;
  metrics::Gauge duration_, last_;
};

}  // namespace koord::device_daemon
