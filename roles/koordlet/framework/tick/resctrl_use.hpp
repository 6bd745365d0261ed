// ResctrlUse: what classes of pods use of the last-level caches and of the memory's bandwidth.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "framework/tick/tick_view.hpp"

namespace koord::koordlet {

/// In a tick's view where the gate ResctrlCollector and --enable-resctrl-collector are on.
struct ResctrlUse {
  static constexpr std::array<std::string_view, 3> kClasses = {"LSR", "LS", "BE"};
  struct Cache {
    int id = 0;
    double occupancy = kUnknown;  // bytes
    /// Bytes a second since the reading before: of the memory behind this cache, and of all.
    double local = kUnknown, total = kUnknown;
  };
  /// Ascending by id; empty: the class has no group of resctrl.
  std::array<std::vector<Cache>, kClasses.size()> classes;
  /// Of pods of the class that have groups of their own, all together, in bytes a second: what could be read.
  std::array<std::map<int, double>, kClasses.size()> own;
  /// Such groups: all of them, and those of which nothing could be read this time.
  std::size_t own_groups = 0, own_unread = 0;
  /// What the class moves of the memory behind a cache, groups of their own included; not known where its
  /// group's is not, or where there is none.
  double total_of(std::size_t of_class, int id) const {
    double sum = kUnknown;
    for (const Cache& cache : classes.at(of_class)) {
      if (cache.id != id) continue;
      if (!known(cache.total)) return kUnknown;
      sum = cache.total;
    }
    const auto more = own.at(of_class).find(id);
    if (more == own.at(of_class).end()) return sum;
    return known(sum) ? sum + more->second : more->second;
  }
  std::uint64_t reading = 0;  // grows with each period that was read
};

}  // namespace koord::koordlet
