// ReadFaults: what could not be read or understood: counted by file, and told in the log now and then.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"

namespace koord::koordlet {

class ReadFaults {
 public:
  static const metrics::Table kMetrics;
  ReadFaults(metrics::Registry& registry, Logger log);

  /// The time of what follows.
  void at(MonoTime now) { now_ = now; }
  /// `file` is a static text: the file's name.
  void garbled(std::string_view file, std::string_view group, const Error& error);
  void failed(std::string_view file, std::string_view group, int errnum);
  std::uint64_t total() const { return total_; }

 private:
  void tell(std::string_view file, std::string_view group, std::string_view reason, std::string_view text);

  metrics::Family<metrics::Counter> counts_;
  Logger log_;
  MonoTime now_;
  std::map<std::string_view, MonoTime> told_;  // by file
  std::uint64_t total_ = 0, untold_ = 0;
};

}  // namespace koord::koordlet
