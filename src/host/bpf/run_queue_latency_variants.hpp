// The two builds of the run-queue latency programs, for tests that have to see both run.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "koord/host/run_queue_latency.hpp"

namespace koord::host {

/// Typed tracepoints read the kernel like memory; raw ones, for kernels without the former, copy field by
/// field.
enum class Tracepoints { typed, raw };

/// How large the kernel's tables are made, for a machine of so many CPUs: 36 MiB of groups and 16 MiB of
/// tasks at most, whatever there is.
struct TableSizes {
  std::size_t groups = 0, shards = 0;  // shards: CPUs that have places of their own
  std::size_t places = 0;              // of groups by shard; beyond them a group's CPUs share one
  std::size_t tasks = 0;
};
TableSizes table_sizes(std::size_t cpus);

/// RunQueueLatency::open tries typed, then raw. `sizes` is for tests: those of this machine otherwise.
Result<std::unique_ptr<RunQueueLatency>> open_run_queue_latency(const Root& root, CgroupVersion version,
                                                                Tracepoints tracepoints,
                                                                bool with_blame = false,
                                                                std::optional<TableSizes> sizes = {});

}  // namespace koord::host
