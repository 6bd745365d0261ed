// RandomLoad: workloads of which each uses more at its own time of the day than at others, some of them
// suddenly much more for an hour; all of it by chance, and the same for one seed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/clock.hpp"

namespace koord::descheduler::world {

struct Workload {
  std::string ns, name;
  bool stateful = false;
  int replicas = 0;
  int millis = 0, mebibytes = 0;  // that each pod asks for
  double base = 0;                // millicores of a pod on the mean
  double swing = 0, phase = 0;    // of the day
  nanoseconds hot_from{0}, hot_for{0};
  double hot = 1;      // times as much meanwhile
  std::string budget;  // of a PodDisruptionBudget: "maxUnavailable: 1"; empty: it has none
  std::string manifest() const;
  std::string budget_manifest() const;
};

class RandomLoad {
 public:
  /// `cores` that pods may ask for, in all.
  RandomLoad(std::uint64_t seed, int workloads, int cores);

  const std::vector<Workload>& workloads() const { return workloads_; }
  /// By the label "app" of a pod.
  const Workload* find(std::string_view app) const;
  /// Millicores that one part of a workload's work takes at a time since the beginning. Each pod has a part;
  /// who comes after a pod has its part. Parts are of different weight.
  double millis(const Workload& workload, int part, nanoseconds at) const;

  static constexpr nanoseconds kDay = std::chrono::hours(6);

 private:
  std::uint64_t seed_;
  std::vector<Workload> workloads_;
};

}  // namespace koord::descheduler::world
