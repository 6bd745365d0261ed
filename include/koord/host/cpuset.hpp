// CpuSet: a set of logical CPUs, read and written as the kernel's lists ("0-3,8").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"

namespace koord::host {

/// CPU numbers are 0 to kMaxCpu. A value: nothing of it is on the heap on machines of up to 256 CPUs.
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
  std::size_t words() const { return near_.size() + far_.size(); }
  /// 0 beyond those that it has.
  std::uint64_t word(std::size_t at) const;
  std::uint64_t& room_for(std::size_t word);

  std::array<std::uint64_t, 4> near_{};
  std::vector<std::uint64_t> far_;  // of the CPUs from 256 on; may have trailing zeros
};

/// How many CPUs a kernel's list names, without building the set: ranges are taken as the kernel writes them,
/// ascending and apart. Code::parse as CpuSet::parse.
Result<int> count_cpus(std::string_view list);

}  // namespace koord::host
