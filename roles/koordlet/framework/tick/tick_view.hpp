// TickView: what one tick of the sampler saw. Collectors (collectors/) show what they have read in it;
// strategies and `koord top` read the same one, so that their sums agree.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "framework/model/inventory.hpp"
#include "framework/model/node_facts.hpp"
#include "framework/tick/tick_slots.hpp"
#include "koord/base/clock.hpp"

namespace koord::koordlet {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
inline bool known(double value) { return !std::isnan(value); }

/// What something used: NaN (kUnknown) where it could not be read or has no earlier sample yet.
struct Usage {
  double cpu = kUnknown;     // CPUs, over the time since the tick before
  double memory = kUnknown;  // bytes, by the policy without page cache
  double memory_with_page_cache = kUnknown;
  /// Throttled periods per period since the tick before, in [0, 1]; NaN where there was no period.
  double throttled = kUnknown;
};

struct NumaUsage {
  int id = 0;
  double cpu = kUnknown;
  double memory = kUnknown;
};

/// Valid during the call that hands it out; copy what is to be kept.
struct TickView {
  std::uint64_t tick = 0;
  MonoTime at;
  WallTime wall;
  nanoseconds interval{};  // the configured distance of ticks
  std::shared_ptr<const Inventory> inventory;
  Usage node;
  std::span<const NumaUsage> numa;  // the NUMA nodes that have memory of their own, ascending by number
  int online_cpus = 0;              // 0: not known yet
  /// node - pods - host applications, at least 0, where the CPU of those in the best-effort roots is the
  /// roots'; unknown if any input is older than the configured age (--collect-sys-metric-outdated-interval).
  Usage system;
  std::span<const Usage> pods;  // one for each of inventory->pods
  /// One for each container of inventory->pods, pod by pod in the order of PodInfo::containers.
  std::span<const Usage> containers;
  std::span<const Usage> host_applications;  // one for each of inventory->host_applications
  /// Whether every pod and application of the inventory was read; a strategy that sums must not act otherwise
  /// if it would take from somebody.
  bool complete = false;
  /// When the inventory's pods were last confirmed; nothing: never.
  std::optional<MonoTime> pods_listed;
  /// What the machine is made of; null until it could be read.
  std::shared_ptr<const NodeFacts> facts;

  /// All else that collectors show. Which type says what stands where the type is.
  TickSlots slots;
  template <class T>
  const T* find() const {
    return slots.find<T>();
  }
  /// How old that is in this tick: 0 where it was read within it. Nothing where nothing is shown.
  template <class T>
  std::optional<nanoseconds> age() const {
    const std::optional<MonoTime> read = slots.read_at<T>();
    return read ? std::optional<nanoseconds>(at - *read) : std::nullopt;
  }
};

}  // namespace koord::koordlet
