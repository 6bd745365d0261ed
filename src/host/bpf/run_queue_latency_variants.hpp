// The two builds of the run-queue latency programs, for tests that have to see both run.
#pragma once

#include <memory>

#include "koord/host/run_queue_latency.hpp"

namespace koord::host {

/// Typed tracepoints read the kernel like memory; raw ones, for kernels without the former, copy field by
/// field.
enum class Tracepoints { typed, raw };

/// RunQueueLatency::open tries typed, then raw.
Result<std::unique_ptr<RunQueueLatency>> open_run_queue_latency(const Root& root, CgroupVersion version,
                                                                Tracepoints tracepoints);

}  // namespace koord::host
