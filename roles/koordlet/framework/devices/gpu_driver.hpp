// GpuDriver: NVIDIA's driver as all of the agent ask it: by one process, and no more often than that may
// cost.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "koord/base/metrics.hpp"
#include "koord/host/nvml.hpp"
#include "koord/host/root.hpp"

namespace koord::koordlet {

/// Any thread; who asks while another one does waits for it.
class GpuDriver {
 public:
  static const metrics::Table kMetrics;

  struct Options {
    host::NvmlProcess::Options helper;
    /// Of one CPU, what asking may take: an answer that took longer is the answer for so much longer, up to a
    /// minute. 0: no limit.
    double share = 0.01;
  };
  struct Said {
    host::GpuAnswer answer;
    MonoTime at;  // when it was asked
  };

  /// `clock` and `metrics` outlive it. The helper is started with the first question.
  GpuDriver(Clock& clock, host::Root root, Options options, metrics::Registry& metrics);

  /// The host has the driver.
  bool is_there() const;
  /// What it says, at most `oldest` ago, or longer where asking costs much. Blocks for as long as the driver
  /// does, at most the helper's limit. Where the driver's library cannot be loaded: what somebody else was
  /// told of it, within the last minute. Errors are the helper's, or that one's.
  Result<std::shared_ptr<const Said>> ask(nanoseconds oldest);
  /// The last question found no loader, or no library: somebody else has to ask, and to tell it here.
  bool lacks_library() const { return lacks_library_.load(); }
  void tell(Result<host::GpuAnswer> said);
  /// What it noticed since they were taken last, whoever asked; 1,024 of them at most.
  std::vector<host::GpuFault> take_faults();

 private:
  Result<std::shared_ptr<const Said>> told(Error error);
  void note_cost(const host::GpuAnswer& answer, MonoTime at);

  Clock& clock_;
  host::Root root_;
  Options options_;
  metrics::Counter cpu_;
  metrics::Gauge memory_;
  std::atomic<bool> lacks_library_ = false;
  std::mutex told_mutex_;  // of told_: who tells does not wait for who asks
  std::optional<Result<std::shared_ptr<const Said>>> told_;
  std::mutex mutex_;  // of all below
  host::NvmlProcess helper_;
  std::shared_ptr<const Said> last_;
  std::vector<host::GpuFault> faults_;
  pid_t asked_ = 0;           // the helper of the last answer
  std::uint64_t cpu_us_ = 0;  // that one's
  MonoTime rests_until_{};
};

}  // namespace koord::koordlet
