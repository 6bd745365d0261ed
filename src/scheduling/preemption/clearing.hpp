// Clearing: room for pods that are placed together: who has to go from which nodes so that all of them fit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "koord/scheduling/plugin/cycle_plugin.hpp"
#include "koord/scheduling/plugin/group_plugin.hpp"
#include "scheduling/preemption/preemptor.hpp"

namespace koord::scheduling::preemption {

/// Koordinator's preemption of jobs, on a trial of a group's plugin. A pod that finds no place is given one
/// on the node that costs the least to empty (JobCosts; of several the first by name), from which all
/// possible victims are set aside in the trial, so that the next pods find what is left of it, and all
/// plugins see the cluster without them. In the end victims are brought back, the most important of jobs
/// first, as long as everybody still fits. Unlike there, pods reach over nodes, and nobody goes whom a
/// disruption budget keeps, unless the preemptor's rule says so. As long as the place_group() that it is made
/// in.
class Clearing {
 public:
  /// Those of a lower priority than `priority`, the lowest of the group, may go. All outlive it.
  Clearing(Preemptor& by, Placements& places, std::int32_t priority);
  /// Nobody is set aside any more.
  ~Clearing();
  Clearing(const Clearing&) = delete;
  Clearing& operator=(const Clearing&) = delete;

  /// Why these pods preempt nobody now, whoever might go; empty: they may. `trigger` is the one that found no
  /// place, and one of them.
  std::string not_eligible(const api::Pod& trigger, const std::vector<const api::Pod*>& pods);
  /// False: nobody's going makes room for it, and nothing has changed.
  bool place(const api::Pod& pod);
  /// Of those that have a place in the trial. The victims that are waited for are those of `trigger`'s
  /// decision.
  PostFilterResult preempt(const api::Pod& trigger, std::string job);
  /// "0/5 nodes are available: ...": of the last that found no room; empty: it is not for the nodes.
  std::string why() const { return why_.nodes != 0 ? fit_error(why_) : std::string(); }

 private:
  class Together;
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
    std::map<std::string, std::uint32_t> reasons = {};  // of the other rows where pods may go
    bool listed = false;
  };
  void list(Candidates& all, const PodAttempt& attempt);
  bool place_on(const api::Pod& pod, Candidate& candidate, const PodAttempt*& attempt);
  std::vector<const PodInfo*> possible_victims(Row row, const PodAttempt& attempt, bool& kept) const;
  void explain(const Candidates& all);
  std::vector<const PodInfo*> spare(Row row, const std::vector<const PodInfo*>& gone,
                                    std::vector<const PodInfo*> members);
  bool all_fit();

  Preemptor& by_;
  Placements& places_;
  const std::int32_t priority_;
  std::unordered_map<const void*, Candidates> candidates_;  // by kind
  std::vector<std::pair<Row, std::vector<const PodInfo*>>> aside_;
  bool reaches_over_rows_ = false;
  Diagnosis why_;
};

}  // namespace koord::scheduling::preemption
