// Auditor: what the agent changed on the host, and why: one JSON line an event, in audit.log and in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

struct AuditEvent {
  std::string_view type;  // node, pod, group, unknown
  std::string_view ns, name, container;
  std::string_view reason;  // upstream's: "UpdateCgroups", "AdjustBEByNodeCPUUsage"
  std::string_view message;
};

/// record() and answer() from the event loop's thread; files are written by a thread of its own.
class Auditor {
 public:
  struct Options {
    std::string log_dir = "/var/log/koordlet";  // --audit-log-dir; made if it is absent
    int verbosity = 3;                          // --audit-verbose; 0: everything
    int max_disk_space_mb = 16;                 // --audit-max-disk-space-mb, at least 2
    int max_concurrent_readers = 4;             // --audit-max-concurrent-readers
    int max_events_limit = 2048;                // --audit-max-events-limit
    int default_events_limit = 256;
    nanoseconds reader_ttl = std::chrono::minutes(10);
    std::size_t max_memory_events = 8192;     // what GET /events can look back to
    std::size_t max_memory_bytes = 4 << 20;   // of those events' texts
    std::size_t max_waiting_bytes = 1 << 20;  // for the disk; the oldest give way and are counted
    std::size_t max_file_bytes = std::size_t{2} << 20;
  };
  /// With the gate AuditEvents off there is no auditor. The newest events of an earlier process are read back
  /// from audit.log. A folder that cannot be made or written is logged once in a while, never an error.
  Auditor(Options options, Clock& clock, Logger log);
  ~Auditor();  // writes what waits
  Auditor(const Auditor&) = delete;
  Auditor& operator=(const Auditor&) = delete;

  void record(int verbosity, const AuditEvent& event);

  struct Answer {
    int status = 200;          // 400: size over the limit; 409: unknown or expired pageToken
    std::string content_type;  // application/json; charset=utf-8, or text/plain; charset=utf-8
    std::string next_page;     // the header Next-Page-Token, if not empty
    std::string body;
  };
  /// GET /events?size=&pageToken= (gate AuditEventsHTTPHandler): newest first. A size that is no number is
  /// the default.
  Answer answer(std::string_view size, std::string_view page_token, bool json);

  /// Blocks until what was recorded before is on the disk; for tests and the end.
  void flush();
  std::uint64_t dropped() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::koordlet
