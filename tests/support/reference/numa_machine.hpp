// What a machine's CPUs and memory nodes are and who has them, for the scheduler's oracle: read anew from the
// objects.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "support/reference/state.hpp"

namespace koord::reference {

using Cpus = std::set<int>;
/// By memory node and resource: cpu in milli, the others in their units.
using Zones = std::map<int, std::map<std::string, std::int64_t>>;

/// A list as the kernel writes it; absent: it is none.
std::optional<Cpus> parse_cpus(std::string_view list);
Cpus without(const Cpus& a, const Cpus& b);
Cpus common(const Cpus& a, const Cpus& b);

/// cpu in milli.
std::int64_t whole_amount(const api::ResourceList& list, std::string_view name);
/// Rounded up; a ratio of at most 1 changes nothing.
std::int64_t amplify(std::int64_t amount, double ratio);

/// What one pod was given.
struct NumaGift {
  Cpus cpus;
  Zones zones;
  std::string exclusive;  // PCPULevel, NUMANodeLevel; "": none
  friend bool operator==(const NumaGift&, const NumaGift&) = default;
};
/// As its annotations say; absent: nothing that counts.
std::optional<NumaGift> gift_of(const api::Pod& pod);

struct Machine {
  struct Place {
    std::int64_t core;  // a number of the machine's
    int zone, socket;
  };

  Machine(const Cluster& cluster, const api::Node& node);

  bool has_cpus() const { return !cpus.empty(); }
  Cpus all() const;
  Cpus of_zone(int zone) const;
  /// What anybody has.
  Cpus taken() const;
  /// Neither given out nor kept back.
  Cpus free() const { return without(without(all(), taken()), reserved); }
  /// Of a memory node's amount, what pods have of it: what is bound counts amplified.
  std::int64_t allocated(int zone, const std::string& resource) const;
  std::int64_t has_of(int zone, const std::string& resource) const;
  bool knows(const std::string& resource) const;  // any memory node has it

  bool reported = false;  // there is a NodeResourceTopology
  std::map<int, Place> cpus;
  int per_core = 0, per_zone = 0, per_socket = 0;  // on average, rounded down
  Cpus reserved;
  std::string bind;      // FullPCPUs, SpreadByPCPUs: all must keep it
  std::string policy;    // BestEffort, Restricted, SingleNUMANode
  std::string strategy;  // "": the profile's
  bool ratio_is_wrong = false, zone_ratio_is_wrong = false;
  double cpu_ratio = 1, zone_ratio = 1;  // as the Node says, and of what memory nodes have
  Zones zones;                           // amplified

  std::map<std::string, NumaGift> given;  // by pod
  Zones given_of_zones;
  Cpus alone_on_core, alone_on_zone;
  std::set<int> single, shared;  // memory nodes of pods of one, and of pods of several

 private:
  void read_cpus(const api::NodeResourceTopology& topology);
  void read_zones(const api::NodeResourceTopology& topology);
};

}  // namespace koord::reference
