// Gathering: a gang that names a network topology is placed in the domains that have room for it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "koord/scheduling/plugin/complaints.hpp"
#include "koord/scheduling/plugin/group_plugin.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/gangs/gang_plugin.hpp"
#include "scheduling/plugins/coscheduling/topology/counters.hpp"
#include "scheduling/plugins/coscheduling/topology/network.hpp"
#include "scheduling/plugins/coscheduling/topology/solve.hpp"

namespace koord::scheduling::coscheduling {

using gangs::Member;

/// For how many of the members each node has room is asked of the trial, summed up by domain, and kept: of
/// gangs that are alike only nodes that have changed count anew. solve() chooses; what it chose is then
/// placed, and where a node refuses after all (a rule between pods, members that differ) it counts as one
/// with less room, and is chosen anew. Belongs to the engine's thread.
class Gathering {
 public:
  using Outcome = gangs::GangPlugin::Gathered;

  Gathering(const topology::NetworkTopology& network, const PluginContext& context);

  /// All members or none, in the order of their index (network-topology-index), then by name, onto nodes that
  /// are neighbours in this order. Of a rejection the leader, or who failed, has been refused in `places`;
  /// what was placed until then is still there. The network is there(). `costs`: as GangPlugin::gather() has
  /// them; of domains that are as good but for that the one that costs less is taken.
  Outcome place(const api::NetworkTopologySpec& spec, std::vector<Member*> members, Member& leader,
                Placements& places, gangs::GangPlugin::Costs costs = {});

 private:
  using Room = Placements::Room;
  Outcome look(std::vector<Member*>& members, Placements& places);
  topology::Counters& count(const topology::Ask& ask, const std::vector<Room>& rooms);
  std::vector<std::int64_t> scores(gangs::GangPlugin::Costs costs) const;
  Outcome nowhere(const topology::Wishes& wishes, const topology::Counters& counters, Member& leader,
                  Placements& places, bool again) const;
  std::string message(const topology::Wishes& wishes, const topology::Counters& counters,
                      const std::vector<topology::Tree::Id>& domains, const Diagnosis& nodes) const;
  std::string sentence(const topology::Wishes& wishes, const topology::Counters& counters,
                       topology::Tree::Id domain) const;
  Diagnosis refusals(topology::Tree::Id domain, std::int64_t pods) const;
  void count_refusals(topology::Tree::Id domain, std::int64_t pods, Diagnosis& out) const;
  void complain(const topology::Wishes& wishes, const Member& leader) const;

  const topology::NetworkTopology& network_;
  const NodeTable& nodes_;
  const VerdictTable& verdicts_;
  Complaints& complaints_;
  std::vector<topology::Counters> counters_;  // a few, by their multiples
  std::size_t next_ = 0;                      // is forgotten first
  std::vector<Room> rooms_;                   // of the present group, by row
};

}  // namespace koord::scheduling::coscheduling
