// The kubelet's order of CPUs: see first_cpus.hpp.
#include "framework/model/first_cpus.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace koord::koordlet {

namespace {

using host::CpuPlace;
using host::CpuSet;

/// What CPUs share: their socket, NUMA node or core.
using Level = int CpuPlace::*;

class Taking {
 public:
  Taking(const host::Topology& topology, const CpuSet& free, int count)
      : topology_(topology), free_(free), needed_(count) {}

  bool done() const { return needed_ < 1; }
  const CpuSet& taken() const { return taken_; }

  /// The units of `ids` of which nothing is taken, one after the other, while they are not too large.
  void take_whole(Level level, const std::vector<int>& ids, int size) {
    std::vector<CpuSet> units;
    for (const int id : ids)
      if (const CpuSet unit = members(level, id); (unit & free_).size() == (size > 0 ? size : unit.size()))
        units.push_back(unit);
    for (const CpuSet& unit : units)
      if (needed_ >= unit.size() && unit.is_subset_of(free_)) take(unit);
  }
  void take_threads(const std::vector<int>& cores) {
    for (const int core : cores)
      for (const int cpu : (members(&CpuPlace::core, core) & free_).cpus()) {
        if (done()) return;
        take({cpu});
      }
  }

  std::vector<int> sockets() const { return ordered(&CpuPlace::socket, free_); }
  std::vector<int> nodes() const { return within(&CpuPlace::node, &CpuPlace::socket, sockets()); }
  std::vector<int> cores() const { return within(&CpuPlace::core, &CpuPlace::node, nodes()); }

 private:
  CpuSet members(Level level, int id) const {
    CpuSet unit;
    for (const CpuPlace& place : topology_.cpus)
      if (place.*level == id) unit.add(place.cpu);
    return unit;
  }
  /// The units that have CPUs in `of`: those with the fewest free CPUs first, then by number.
  std::vector<int> ordered(Level level, const CpuSet& of) const {
    std::map<int, int> free;
    std::set<int> wanted;
    for (const CpuPlace& place : topology_.cpus) {
      if (free_.contains(place.cpu)) ++free[place.*level];
      if (of.contains(place.cpu)) wanted.insert(place.*level);
    }
    std::vector<int> ids(wanted.begin(), wanted.end());
    std::ranges::stable_sort(ids, {}, [&free](int id) { return free[id]; });
    return ids;
  }
  std::vector<int> within(Level level, Level parent, const std::vector<int>& parents) const {
    std::vector<int> ids;
    for (const int one : parents)
      for (const int id : ordered(level, members(parent, one) & free_))
        if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
    return ids;
  }
  void take(const CpuSet& cpus) {
    taken_ = taken_ | cpus;
    free_ = free_ - cpus;
    needed_ -= cpus.size();
  }

  const host::Topology& topology_;
  CpuSet free_, taken_;
  int needed_;
};

int count_of(const host::Topology& topology, Level level) {
  std::set<int> ids;
  for (const CpuPlace& place : topology.cpus) ids.insert(place.*level);
  return std::max(static_cast<int>(ids.size()), 1);
}

}  // namespace

std::optional<CpuSet> first_cpus(const host::Topology& topology, const CpuSet& free, int count) {
  Taking taking(topology, free & topology.online, count);
  if (taking.done()) return CpuSet();
  if ((free & topology.online).size() < count) return std::nullopt;
  const int all = static_cast<int>(topology.cpus.size());
  // The kubelet counts sockets and cores as whole by the average of the machine.
  taking.take_whole(&CpuPlace::socket, taking.sockets(), all / count_of(topology, &CpuPlace::socket));
  if (!taking.done()) taking.take_whole(&CpuPlace::node, taking.nodes(), 0);
  if (!taking.done())
    taking.take_whole(&CpuPlace::core, taking.cores(), all / count_of(topology, &CpuPlace::core));
  if (!taking.done()) taking.take_threads(taking.cores());
  return taking.taken();
}

}  // namespace koord::koordlet
