// Audit: what was modified, by whom and why: the newest of it in memory, for GET /audit, and all of it in
// JSON lines, where there is a folder for them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "koord/base/audit_file.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/write_log.hpp"
#include "koord/runtime/audit_record.hpp"
#include "koord/runtime/flags.hpp"

namespace koord::net {
struct Response;
}

namespace koord::runtime {

/// --audit-log-dir with that help, --audit-max-disk-space-mb, --audit-max-events-limit.
constexpr std::array<Flag, 3> audit_flags(std::string_view folder) {
  constexpr std::string_view kAudit = "Audit flags";
  return {{
      {"audit-log-dir", FlagType::text, "", folder, 0, kAudit},
      {"audit-max-disk-space-mb", FlagType::integer, "16",
       "What the audit log may take, in MB, 4 to 1048576; the oldest lines are removed.", 0, kAudit},
      {"audit-max-events-limit", FlagType::integer, "1000", "The largest page of /audit, 1 to 10000.", 0,
       kAudit},
  }};
}

/// What GET /audit answers.
struct AuditPage {
  std::vector<AuditRecord> records;  // the newest first
  std::string continue_;             // of the next page; empty: that was all
  std::int64_t lost = 0;             // lines that never came to the file
  KOORD_STRUCT(AuditPage);
};

/// The event loop's thread. A modification is recorded twice: before it is sent, without a result, and after
/// its answer, with one. With a folder it is not sent before the first line is in the file, and if that fails
/// (a full disk, one that does not answer) not at all: Code::unavailable. So whatever ends the process, and
/// whenever, no modification is without a line; one that has no second line may have been carried out or not.
/// What is read back of an earlier process says "unknown" of those.
class Audit final : public kube::WriteLog {
 public:
  struct Options {
    std::string folder;  // empty: memory alone
    std::size_t max_disk_bytes = std::size_t{16} << 20;
    std::size_t max_page = 1000, default_page = 100;
    std::size_t max_records = 4096, max_bytes = std::size_t{4} << 20;  // in memory
    std::size_t max_page_bytes = std::size_t{2} << 20;                 // of an answer's records
    nanoseconds patience = std::chrono::seconds(10);                   // for the disk
  };
  /// Of a role's flags; an error names the flag: a number out of its range, a folder that cannot be written.
  static Result<std::unique_ptr<Audit>> make(asio::any_io_executor executor, Clock& clock, const Logger& log,
                                             const FlagValues& flags);
  static Result<std::unique_ptr<Audit>> make(asio::any_io_executor executor, Clock& clock, const Logger& log,
                                             Options options);
  ~Audit() override;  // writes what waits
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;

  /// Leases, events and reviews of tokens and rights are not recorded: they modify nothing that anybody set.
  Task<Result<std::uint64_t>> begin(const net::Request& request, const kube::Initiator* by) override;
  void end(std::uint64_t number, Outcome outcome, const Error* error) override;

  /// What somebody else does: nothing waits for it, and a disk that is slower than all of them loses lines.
  void note(AuditRecord record);

  /// GET /audit?object=&plugin=&user=&wantedBy=&since=&limit=&continue=; 400 with the reason for what cannot
  /// be read or is not known.
  net::Response answer(const net::Request& request) const;

  /// Blocks until what was recorded before is in the file; for tests.
  void flush();

 private:
  struct Entry {
    AuditRecord record;
    std::size_t bytes;
  };
  struct Begun {
    AuditRecord record;
    MonoTime at;
  };
  Audit(asio::any_io_executor executor, Clock& clock, const Logger& log, Options options);
  void read_back();
  std::uint64_t remember(AuditRecord record);
  Task<Result<>> write_down(std::string line);

  asio::any_io_executor executor_;
  Clock& clock_;
  const Logger log_;
  const Options options_;
  const std::string process_;  // the beginning of its ids
  std::unique_ptr<AuditFile> file_;
  std::deque<Entry> entries_;
  std::uint64_t first_ = 1;  // the number of entries_[0]
  std::size_t bytes_ = 0;
  std::map<std::uint64_t, Begun> begun_;
};

}  // namespace koord::runtime
