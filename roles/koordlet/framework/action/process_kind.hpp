// ProcessKind: what can be set of a process, a row each, and how the kernel is told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/keep/boot_file.hpp"
#include "koord/base/metrics.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

class ProcessFolder;
struct ProcessSetting;  // framework/plan/action.hpp

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
  /// Instead: the gauge is 1, and its labels are these.
  std::vector<std::string> (*labels)(const ProcessSetting& setting, std::int64_t value) = nullptr;
  /// How often containers of a name were looked at, by that and "status" (succeeded, failed); null: not
  /// counted.
  const metrics::Metric* passes = nullptr;
  /// The kernel makes the value, and processes of one name have the same: ProcessSetting::shared counts, not
  /// its value. There is no `write`: a CookieBearer gives it.
  bool shared = false;
  /// Whether this machine has it; null: all have.
  Result<> (*available)() = nullptr;
  /// Of a process that is held; it may have ended, which is Code::not_found.
  Result<std::int64_t> (*read)(const ProcessFolder& process) = nullptr;
  Result<> (*write)(const ProcessFolder& process, std::int64_t value) = nullptr;
};

/// Whom the kernel kills first where memory is short.
extern const ProcessKind kOomScoreAdjKind;

/// Who may run beside whom on the threads of a core.
extern const ProcessKind kCoreCookieKind;
/// What it reads of a process that the agent may not ask.
inline constexpr std::int64_t kHiddenCookie = -1;
/// What a name is called where people see it: "group/NAME" and "pod/UID" without their first part.
std::string_view shown_name(std::string_view shared);

/// Of all kinds.
extern const metrics::Table kProcessMetrics;

}  // namespace koord::koordlet
