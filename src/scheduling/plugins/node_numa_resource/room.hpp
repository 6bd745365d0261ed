// Room: what a machine has left for a pod, by CPUs and memory nodes, and what of it the pod gets.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "koord/scheduling/cluster/resources.hpp"
#include "koord/scheduling/scoring/resource_score.hpp"
#include "scheduling/plugins/node_numa_resource/demand.hpp"
#include "scheduling/plugins/node_numa_resource/ledger.hpp"

namespace koord::scheduling::node_numa_resource {

/// How resources of a place are scored. The pod's requests count with what is used.
struct ScoredResources {
  struct Resource {
    Symbol name;
    ResourceId id;
    bool scalar;  // counts only for pods that ask for it
    std::int64_t weight;
  };
  std::vector<Resource> resources;
};

class Room {
 public:
  struct Binding {
    bool cpus = false;  // the pod gets CPUs of its own
    BindPolicy policy = BindPolicy::none;
    bool required = false;
  };

  /// All of these outlive it. `kept`: by the reservation in which the pod gets it, of what is free in the
  /// ledger; nullptr: in none.
  Room(const NumaNode& node, const Ledger& ledger, const Demand& demand, const Binding& binding,
       const Kept* kept = nullptr);

  /// Why it is too little; empty: the pod gets what it asks for on these memory nodes (0: on any).
  std::vector<std::string> lacks(NumaMask nodes) const;
  /// As even as can be. Of a place that lacks nothing.
  std::vector<Given::Zone> shares(NumaMask nodes) const;
  /// Absent: there are too few.
  std::optional<CpuSet> pick(std::span<const Given::Zone> shares, ZoneStrategy strategy) const;

  /// A list for each resource that is asked for and that memory nodes have: the masks that would do (in any
  /// of these rooms of the same machine and pod; none: in this one), with the scores that the fullness here
  /// gives. On machines of more than eight memory nodes only masks of one, of two,
  /// and of all of them are looked at.
  void hints(const ResourceScorer& scorer, const ScoredResources& scored, bool all_preferred,
             std::span<const Room> rooms, std::vector<NumaHintList>& out) const;

  /// What zones have, and what of it is taken: cpu amplified.
  std::int64_t total(std::size_t zone, std::size_t resource) const {
    return std::max<std::int64_t>(node_.zones.at(zone, resource), 0);
  }
  std::int64_t taken(std::size_t zone, std::size_t resource) const;

 private:
  struct Wanted {
    Symbol name;
    std::size_t resource;  // of the node's amounts
    std::int64_t amount;
    std::vector<std::int64_t> left;  // by zone
    std::uint64_t lacking = 0;       // zones that have none
    bool cpus = false;               // whole ones
  };
  // Here masks are of zones by their places in the node's amounts.
  using Places = std::uint64_t;
  using ByZone = std::array<std::int64_t, 64>;

  /// Evenly, the zones with the least first; false: it is not enough.
  bool distribute(const Wanted& wanted, Places zones, ByZone& out) const;
  /// The part of an amount that one of so many zones gets.
  std::int64_t part(const Wanted& wanted, std::int64_t amount, int zones) const;
  bool is_enough(const Wanted& wanted, Places zones) const;
  /// Why the CPUs of the zones that get something are too few; nullptr: they suffice.
  const char* lacks_cpus(Places zones) const;
  const char* lacks_cpus_anywhere() const;
  bool would_do(Places zones) const;
  Places places(NumaMask nodes) const;
  NumaMask nodes(Places zones) const;
  std::int64_t left(std::size_t zone, std::size_t resource) const;

  const NumaNode& node_;
  const Ledger& ledger_;
  const Demand& demand_;
  Binding binding_;
  const Kept* kept_;
  CpuSet usable_;
  int usable_count_ = 0;
  std::vector<int> usable_of_zones_;
  std::vector<Wanted> wanted_;
};

}  // namespace koord::scheduling::node_numa_resource
