// ProcessKind: what can be set of a process, a row each, and how the kernel is told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "framework/keep/boot_file.hpp"
#include "koord/base/metrics.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

class ProcessFolder;

/// Rows are static, and so are their texts.
struct ProcessKind {
  std::string_view name;    // "oom_score_adj"
  std::string_view a_name;  // "an oom_score_adj"
  std::string_view key;     // what the log calls the value
  std::int64_t least = 0, most = 0;
  /// What it takes where the kernel forbids it; empty: nothing is known to help.
  std::string_view needs;
  std::string_view audit_reason;  // upstream's name of who sets it
  /// The file that remembers what processes had before, and what it is a file of. Each kind has its own, so
  /// that an agent that does not know the kind reads the others.
  std::string_view file;
  BootFile::Kind book;
  /// The value by "pod_name", "pod_namespace", "pod_uid" and "container_name"; null: it is not shown.
  const metrics::Metric* gauge = nullptr;
  /// Of a process that is held; it may have ended, which is Code::not_found.
  Result<std::int64_t> (*read)(const ProcessFolder& process) = nullptr;
  Result<> (*write)(const ProcessFolder& process, std::int64_t value) = nullptr;
};

/// Whom the kernel kills first where memory is short.
extern const ProcessKind kOomScoreAdjKind;

/// Of all kinds.
extern const metrics::Table kProcessMetrics;

}  // namespace koord::koordlet
