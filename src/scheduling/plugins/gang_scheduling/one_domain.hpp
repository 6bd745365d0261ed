// OneDomain: a gang whose nodes have to agree on a label (spec.schedulingConstraints.topology).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "koord/scheduling/cluster/node_table.hpp"
#include "koord/scheduling/plugin/group_plugin.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/gangs/gang_plugin.hpp"

namespace koord::scheduling::gang_scheduling {

using gangs::Member;

/// The nodes with one value of the label are a domain, those without it are in none. A gang goes where its
/// members are already; otherwise into the domain that has room for all that wait, else for as many as it
/// needs, and of these into the one with the least room, by name. Belongs to the engine's thread.
class OneDomain {
 public:
  using Outcome = gangs::GangPlugin::Gathered;

  explicit OneDomain(const PluginContext& context) : nodes_(context.nodes), verdicts_(context.verdicts) {}

  /// `waiting` are the gang's members without a node, the leader among them. Of a rejection the
  /// leader, or who can be nowhere, has been refused in `places`; what was placed until then is still there.
  /// `costs`: as GangPlugin::gather() has them; the domain that costs the least comes first.
  Outcome place(std::string_view key, const gangs::Gang& gang, std::vector<Member*> waiting, Member& leader,
                Placements& places, gangs::GangPlugin::Costs costs);

 private:
  struct Domain {
    std::int64_t room = 0, cost = 0;
    std::vector<Row> rows = {};  // with room, those with the most first
  };
  using Domains = std::map<std::string, Domain, std::less<>>;  // by the label's value

  Domains domains(std::string_view key, const gangs::Gang& gang, gangs::GangPlugin::Costs costs) const;
  bool fill(const Domain& domain, const std::vector<Member*>& members, std::size_t count, Placements& places,
            Outcome& outcome) const;
  Diagnosis nowhere(std::string_view key, const gangs::Gang& gang, const Domains& domains,
                    std::size_t wanted) const;

  const NodeTable& nodes_;
  const VerdictTable& verdicts_;
  std::vector<Placements::Room> rooms_;  // of the present gang, by row
};

}  // namespace koord::scheduling::gang_scheduling
