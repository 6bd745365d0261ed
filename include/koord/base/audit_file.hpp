// AuditFile: audit.log, its rotation and its share of the disk, behind a thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/result.hpp"

namespace koord {

/// One process a folder. What has been written survives the process, however it ends; a crash of the machine
/// may take the newest lines. A line that was torn is cut off when the file is opened again.
class AuditFile {
 public:
  struct Options {
    std::string folder;
    std::size_t max_file_bytes = 0;     // then audit.log becomes audit-TIME-N.log
    std::size_t max_total_bytes = 0;    // of all of them; the oldest are removed
    std::size_t max_waiting_bytes = 0;  // the oldest lines give way
  };
  /// True: the line is in the file, whole; false: it never will be. Called once, on the file's own thread or
  /// in append(): whatever it does is short, and does not come back here.
  using Written = std::function<void(bool)>;

  AuditFile(Options options, const Clock& clock, Logger log);
  ~AuditFile();  // writes what waits
  AuditFile(const AuditFile&) = delete;
  AuditFile& operator=(const AuditFile&) = delete;

  /// Makes the folder and the file where they are absent; an error says why lines could not be written.
  /// Before the first append().
  Result<> open();
  /// The newest lines of audit.log, oldest first, at most so many bytes. Before the first append().
  std::vector<std::string> tail(std::size_t max_bytes) const;
  /// Never blocks on the disk.
  void append(std::string line, Written written = {});
  /// Blocks until what was appended before has been written or given up.
  void flush();
  std::uint64_t dropped() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace koord
