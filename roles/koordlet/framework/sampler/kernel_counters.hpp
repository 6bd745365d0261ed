// KernelCounters: what programs of ours in the kernel, and the processor's own counters, count; opened once,
// read by collectors.
#pragma once

#include <memory>
#include <string>

#include "koord/host/perf.hpp"
#include "koord/host/run_queue_latency.hpp"
#include "koord/host/stalls.hpp"
#include "koord/host/wait_blame.hpp"

namespace koord::koordlet {

/// Each is null where the kernel does not allow it, for a reason, or where nobody asked.
struct KernelCounters {
  std::unique_ptr<host::RunQueueLatency> run_queue = nullptr;
  host::WaitBlame* blame = nullptr;  // run_queue's
  std::unique_ptr<host::Stalls> stalls = nullptr;
  std::unique_ptr<host::PerfEvents> cpi = nullptr;  // cycles and instructions
  std::string no_run_queue = {}, no_blame = {}, no_stalls = {}, no_cpi = {};
};

}  // namespace koord::koordlet
