// CpuSet: a set of logical CPUs, read and written as the kernel's lists ("0-3,8").
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"

namespace koord::host {

/// CPU numbers are 0 to kMaxCpu. A value: cheap to copy for machines of today's size.
class CpuSet {
 public:
  static constexpr int kMaxCpu = 8191;  // the kernel's largest CONFIG_NR_CPUS

  CpuSet() = default;
  CpuSet(std::initializer_list<int> cpus);
  /// Reads the kernel's list format: numbers and ranges, comma-separated, whitespace around it ignored; the
  /// empty text is the empty set. Code::parse with the text otherwise.
  static Result<CpuSet> parse(std::string_view text);
  /// `first` to `last`, both included.
  static CpuSet range(int first, int last);

  void add(int cpu);
  void remove(int cpu);
  bool contains(int cpu) const;
  bool empty() const;
  int size() const;
  /// Ascending.
  std::vector<int> cpus() const;
  /// The kernel's list, with ranges: "0-3,8".
  std::string to_string() const;

  bool is_subset_of(const CpuSet& other) const;
  friend CpuSet operator|(const CpuSet& a, const CpuSet& b);
  friend CpuSet operator&(const CpuSet& a, const CpuSet& b);
  friend CpuSet operator-(const CpuSet& a, const CpuSet& b);
  friend bool operator==(const CpuSet& a, const CpuSet& b);

 private:
  std::vector<std::uint64_t> words_;  // may have trailing zeros
};

/// How many CPUs a kernel's list names, without building the set: ranges are taken as the kernel writes them,
/// ascending and apart. Code::parse as CpuSet::parse.
Result<int> count_cpus(std::string_view list);

}  // namespace koord::host
