// CpuTopology: the CPUs of a machine, by core, memory node and socket, as its agent reports them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "koord/api/koordinator/cpus.hpp"
#include "koord/host/cpuset.hpp"

namespace koord::scheduling::node_numa_resource {

using host::CpuSet;

/// Numbers of CPUs, cores, memory nodes and sockets may have gaps. Cores, zones (memory nodes) and sockets
/// are named here by their places, in the order of their numbers; a core's number holds within its socket.
/// Immutable, and shared by all nodes of whom the same is reported.
class CpuTopology {
 public:
  struct Place {
    std::uint16_t core = 0, zone = 0, socket = 0;
  };
  struct Zone {
    std::int32_t id = 0;
    std::uint16_t socket = 0;  // that of its first CPU
    CpuSet cpus;
  };
  struct Core {
    std::int32_t id = 0;                 // its number on the socket
    std::uint16_t zone = 0, socket = 0;  // of its first CPU
    std::uint16_t first = 0, size = 0;   // its CPUs, in by_core()
  };

  CpuTopology() = default;
  /// CPUs whose numbers no kernel gives are left out. Of two entries for a CPU the later one counts.
  explicit CpuTopology(const api::CpuTopology& reported);
  /// Nothing was read, and this is why.
  static CpuTopology unread(std::string why);

  /// What was wrong with the report, and what of it counts; empty: nothing.
  const std::string& defect() const { return defect_; }

  /// Nothing can be chosen of a topology without CPUs.
  bool valid() const { return !all_.empty(); }
  const CpuSet& all() const { return all_; }
  /// Of one of all().
  const Place& place(int cpu) const { return places_[static_cast<std::size_t>(cpu)]; }
  std::span<const Zone> zones() const { return zones_; }
  /// nullptr: no CPU is at this memory node.
  const Zone* zone(std::int32_t id) const;
  std::span<const Core> cores() const { return cores_; }
  /// Koordinator's number of a core, which no other socket has.
  std::int64_t core_id(std::size_t core) const {
    return std::int64_t{sockets_[cores_[core].socket]} << 16 | cores_[core].id;
  }
  /// The sockets' numbers.
  std::span<const std::int32_t> sockets() const { return sockets_; }
  /// All CPUs, core by core, ascending.
  std::span<const std::uint16_t> by_core() const { return by_core_; }
  std::span<const std::uint16_t> cpus_of(const Core& core) const {
    return std::span(by_core_).subspan(core.first, core.size);
  }

  /// Every CPU's number is below it.
  std::size_t end() const { return places_.size(); }

  // On average, rounded down.
  int cpus_per_core() const { return per(core_count_); }
  int cpus_per_zone() const { return per(zone_count_); }
  int cpus_per_socket() const { return per(sockets_.size()); }
  int cpus() const { return static_cast<int>(by_core_.size()); }
  std::size_t core_count() const { return core_count_; }
  std::size_t zone_count() const { return zone_count_; }

 private:
  int per(std::size_t parts) const { return parts == 0 ? 0 : static_cast<int>(by_core_.size() / parts); }

  std::string defect_;
  CpuSet all_;
  std::vector<Place> places_;  // by CPU
  std::vector<Zone> zones_;
  std::vector<Core> cores_;
  std::vector<std::int32_t> sockets_;
  std::vector<std::uint16_t> by_core_;
  // As Koordinator counts: a core at two memory nodes is two, a memory node at two sockets, too.
  std::size_t core_count_ = 0, zone_count_ = 0;
};

}  // namespace koord::scheduling::node_numa_resource
