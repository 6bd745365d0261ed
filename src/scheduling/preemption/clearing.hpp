// Clearing: room for pods that are placed together: who has to go from which nodes so that all of them fit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/base/symbol.hpp"
#include "koord/scheduling/plugin/cycle_plugin.hpp"
#include "koord/scheduling/plugin/group_plugin.hpp"
#include "scheduling/preemption/preemptor.hpp"

namespace koord::scheduling::preemption {

/// Koordinator's preemption of jobs, on a trial of a group's plugin. A pod that finds no place is given one
/// on the node that costs the least to empty (JobCosts; of several the first by name), from which all
/// possible victims are set aside in the trial, so that the next pods find what is left of it, and all
/// plugins see the cluster without them: what victims use of quotas (RoomBeside) is free, too. In the end
/// victims are brought back, the most important of jobs first, as long as everybody still fits. Unlike there,
/// pods reach over nodes, and nobody goes whom a disruption budget keeps, unless the preemptor's rule says
/// so. As long as the place_group() that it is made in.
///
/// A preemptor that is a quota's looks for victims of that quota. What they use of it is free first, wherever
/// they are, and only for who finds no node then those of one node are set aside.
class Clearing {
 public:
  /// Those of a lower priority than `priority`, the lowest of the group, may go. All outlive it; `profile` is
  /// the group's.
  Clearing(Preemptor& by, Placements& places, const Profile& profile, std::int32_t priority);
  /// Nobody is set aside any more.
  ~Clearing();
  Clearing(const Clearing&) = delete;
  Clearing& operator=(const Clearing&) = delete;

  /// Why these pods preempt nobody now, whoever might go; empty: they may. `trigger` is the one that found no
  /// place, and one of them.
  std::string not_eligible(const api::Pod& trigger, const std::vector<const api::Pod*>& pods);
  /// False: nobody's going makes room for it, and it has no place.
  bool place(const api::Pod& pod);
  /// For who places these pods by a plan for all nodes: what all that may go for any of them use of quotas is
  /// free. False: it is not for a quota that the preemptor looks, or nobody may go.
  bool free_all(std::span<const api::Pod* const> pods);
  /// Sets aside all that may go for any of them.
  void open_all(std::span<const api::Pod* const> pods);
  /// What that costs, by row; nodes of which nobody went cost nothing.
  const std::vector<std::int64_t>& costs() const { return costs_; }
  bool is_open() const { return !aside_.empty(); }
  /// Of those that have a place in the trial. The victims that are waited for are those of `trigger`'s
  /// decision. Absent: somebody who would have to go does not only stand in the way where the group is to be.
  std::optional<PostFilterResult> preempt(const api::Pod& trigger, std::string job);
  /// "0/5 nodes are available: ...": of the last that found no room; empty: it is not for the nodes, nor for
  /// the quota that the preemptor is of.
  std::string why() const { return why_.nodes != 0 ? fit_error(why_) : std::string(); }

 private:
  class Together;
  /// What Together asks one after the other of pods that are alike is asked once.
  struct Asked {
    const PodAttempt* attempt = nullptr;
    const void* kind = nullptr;
  };
  struct Candidate {
    Row row;
    std::int64_t cost;
    VerdictId verdict = kPass;  // without all that may go; once it is known that this is not enough
  };
  /// The rows that could be emptied for pods that are asked alike, the cheapest first; those before `next`
  /// are not enough.
  struct Candidates {
    std::vector<Candidate> rows;
    std::size_t next = 0;
    std::uint32_t nobody = 0, no_help = 0;
    std::map<std::string, std::uint32_t> reasons = {};        // of the other rows where pods may go
    std::map<VerdictId, std::uint32_t> without_victims = {};  // what refuses it on those of `nobody`
    bool listed = false;
  };
  using Victims = std::vector<const PodInfo*>;

  Symbol account(const api::Pod& pod) const;
  bool lacks_beside(const api::Pod& pod);
  void list(Candidates& all, const PodAttempt& attempt);
  bool place_on(const api::Pod& pod, Candidate& candidate, const PodAttempt*& attempt);
  Victims lower(Row row, const PodAttempt& attempt) const;
  bool keep_budgets(Victims& victims) const;
  Victims possible_victims(Row row, const PodAttempt& attempt, bool& kept) const;
  void explain(const Candidates& all);
  void set_aside(Row row, const Victims& victims);
  void bring_back(Row row, const PodInfo& victim);
  void spare();
  std::vector<std::pair<Row, Victims>> victims() const;
  bool accounts_hold() const;
  bool free_for(const api::Pod& pod);
  bool all_fit();

  Preemptor& by_;
  Placements& places_;
  const std::int32_t priority_;
  std::vector<RoomBeside*> beside_;  // the profile's
  /// By kind; of a preemptor that is a quota's by account, too.
  std::map<std::pair<const void*, Symbol>, Candidates> candidates_;
  std::vector<std::pair<Row, Victims>> aside_;
  /// What they use of quotas is free; who is on a row that was emptied is set aside, too.
  std::unordered_map<const PodInfo*, Row> freed_;
  std::set<Symbol> freed_accounts_;
  /// Of each account that pods of the group have one of them, while victims are spared.
  std::vector<std::pair<RoomBeside*, const PodInfo*>> accounts_;
  std::vector<std::int64_t> costs_;
  bool opened_ = false, kept_ = false, reaches_over_rows_ = false;
  Diagnosis why_;
};

}  // namespace koord::scheduling::preemption
