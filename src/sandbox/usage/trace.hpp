// Trace: how busy real machines were over time, as a table of Alibaba's cluster-trace-v2018 tells it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"

namespace koord::sandbox {

/// Immutable once read.
class Trace {
 public:
  /// Shares of a machine, 0 to 1.
  struct Load {
    double cpu = 0, memory = 0;
  };

  /// Rows "machine,seconds,CPU %,memory %[,...]", in any order; a row without one of both figures counts for
  /// nothing. The errors name the line: Code::parse for what is no such row, Code::invalid without any row.
  static Result<Trace> parse(std::string_view text);
  /// The same of a file; the errors name it, too.
  static Result<Trace> open(const std::string& path);

  /// The load of machine `index % machines()` so long after the trace's beginning, on the line between the
  /// rows before and after. Past the end it begins anew.
  Load at(std::size_t index, std::chrono::nanoseconds time) const;
  std::size_t machines() const { return machines_.size(); }
  const std::string& name(std::size_t index) const { return machines_[index % machines_.size()].name; }
  /// From the first row to the last, of all machines; at least a second.
  std::chrono::seconds length() const { return std::chrono::seconds(length_); }

 private:
  struct Row {
    std::int64_t second;  // since the trace's beginning
    Load load;
  };
  struct Machine {
    std::string name;
    std::vector<Row> rows;  // by time; one at least
  };
  std::vector<Machine> machines_;  // in the order of the table
  std::int64_t length_ = 1;
};

}  // namespace koord::sandbox
