// Explanation: why a pod is where it is, or nowhere, and what would change that; as `koord explain` prints
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "koord/api/schema/schema.hpp"
#include "koord/scheduling/engine/attempt_log.hpp"
#include "koord/scheduling/plugin/explain_plugin.hpp"

namespace koord::scheduling::explain {

/// Why some nodes refuse the pod: the first filter that does, of each.
struct RefusalView {
  std::string plugin;
  std::vector<std::string> reasons;
  std::int64_t nodes = 0;
  std::vector<std::string> examples;  // nodes
  bool preemption_may_help = false;
  KOORD_STRUCT(RefusalView);
};

struct PluginScoreView {
  std::string plugin;
  std::int64_t score = 0;  // 0 to 100
  std::int64_t weight = 0;
  KOORD_STRUCT(PluginScoreView);
};

struct NodeScoreView {
  std::string node;
  std::int64_t total = 0;
  std::vector<PluginScoreView> plugins;
  KOORD_STRUCT(NodeScoreView);
};

struct ChangeView {
  std::string kind, subject;
  std::string asked, at_most;  // of a request
  KOORD_STRUCT(ChangeView);
};

struct RemedyView {
  std::vector<ChangeView> changes;  // all of them
  std::int64_t nodes = 0;
  std::vector<std::string> examples;
  std::string sentence;  // what follows "It would fit if"
  KOORD_STRUCT(RemedyView);
};

struct NodeKindView {
  std::string like;
  std::int64_t nodes = 0;
  std::string allocatable;
  bool fits = false;
  std::string plugin;
  std::vector<std::string> reasons;  // why not
  KOORD_STRUCT(NodeKindView);
};

struct VictimView {
  std::string pod;  // namespace/name
  std::int64_t priority = 0;
  std::string node;  // where a gang's victims are on several
  KOORD_STRUCT(VictimView);
};

struct PreemptionView {
  std::string node;  // the pod's then; empty: it would preempt nobody
  std::string job;   // for whom they go, where that is not the pod alone: its group of gangs
  std::vector<VictimView> victims;
  std::string message;  // why nobody
  KOORD_STRUCT(PreemptionView);
};

struct ExplanationView {
  std::string pod;  // namespace/name; reservation:NAME if it was asked of a reservation
  bool exists = false;
  std::string scheduler_name, profile;
  std::int64_t priority = 0;
  std::string node;  // that it is on
  /// placed, fits, unschedulable, gated, ending, finished; of a reservation also invalid (it lacks
  /// something) and unserved (no profile knows reservations)
  std::string outcome;
  std::vector<std::string> summary;  // sentences
  std::int64_t nodes = 0, pods = 0;  // in the cluster
  std::int64_t feasible = 0;
  std::vector<NodeScoreView> best;  // of them, and of the node that it is on
  std::int64_t equally_good = 0;    // as the first of them
  std::string prefilter_message;    // said before nodes were looked at
  std::vector<RefusalView> refused;
  std::vector<MatchedReservationView> reservations;  // some that are for the pod, or that it names
  std::int64_t more_reservations = 0;
  std::vector<ReservationView> reservation;  // one, if it was asked of a reservation
  std::string message;                       // what the scheduler would say of an attempt now
  std::vector<RemedyView> remedies;
  std::vector<RefusalView> hopeless;  // whatever the pod is changed to
  std::vector<NodeKindView> node_kinds;
  std::vector<PreemptionView> preemption;  // one, if it was tried
  std::vector<AttemptRecord> attempts;     // that a running scheduler remembers, the oldest first
  std::vector<std::string> notes;
  KOORD_STRUCT(ExplanationView);
};

/// Lines of text, each ended. Scores are shown of the plugins that tell the nodes apart, `wide` of all.
std::string render(const ExplanationView& view, bool wide = false);

}  // namespace koord::scheduling::explain
