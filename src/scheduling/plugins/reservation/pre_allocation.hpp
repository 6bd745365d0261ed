// PreAllocation: reservations that are placed beside running pods and take their room over: what these have
// counts as theirs from then on, and stays the reservation's when they go.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/plugins/reservation/args.hpp"
#include "scheduling/plugins/reservation/matched.hpp"
#include "scheduling/plugins/reservation/preallocation/candidates.hpp"
#include "scheduling/plugins/reservation/preallocation/choose.hpp"
#include "scheduling/plugins/reservation/preallocation/taking_over.hpp"

namespace koord::scheduling::reservation {

/// Those of one reservation: for a cycle, until pods on rows or the ledger change.
struct Candidates {
  const Ledger::Entry* of = nullptr;
  std::shared_ptr<const api::Pod> reserve_pod = {};
  std::vector<Row> rows = {};  // ascending
  /// Of each row, in the order in which they are taken.
  std::vector<std::vector<Candidate>> on = {};

  /// nullptr: none there.
  const std::vector<Candidate>* at(Row row) const;
};

/// The part of the plugin that concerns these. Which pods are chosen on a row follows from the row before any
/// filter sees it: to the filters they are not there, but for what would count on top of the reservation.
class PreAllocation {
 public:
  /// What a reserve pod of its class asks for.
  struct Asked {
    std::vector<Amount> wanted;  // none zero or ignored
    Requests requests;
  };
  /// What apply() has done to a view; in its slots.
  struct Applied {
    std::shared_ptr<const Candidates> candidates;
    Chosen chosen;
    Amounts given_back;
  };
  using Pods = std::vector<std::shared_ptr<const api::Pod>>;

  PreAllocation(const PluginContext& context, Ledger& ledger, const IgnoredResources& ignored,
                bool omits_node_labels, const PreAllocationConfig* config);

  /// Of all others nothing is asked here.
  static bool concerns(const PodInfo& pod);

  /// First of all in an attempt.
  Status admit(const PodInfo& pod) const;
  PreFilterTransformer::After narrow(const PodInfo& pod) const;

  /// The reserve pod's candidates as they are now.
  std::shared_ptr<const Candidates> find(const PodInfo& pod) const;
  /// As find() found them last for this pod, in this cycle.
  std::shared_ptr<const Candidates> known(const PodInfo& pod) const;

  void apply(const std::shared_ptr<const Candidates>& candidates, const Asked& asked, NodeView& view) const;
  /// What speaks against the view's row; nothing: it will do.
  std::vector<std::string> judge(const Applied& applied, const Asked& asked, const NodeView& view) const;

  /// Of the rows with candidates among these, ascending. `otherwise` becomes that of all others.
  std::vector<std::pair<Row, std::int64_t>> score(const PodInfo& pod, const Asked& asked,
                                                  std::span<const Row> feasible,
                                                  std::int64_t& otherwise) const;

  // The attempt that has a node.
  /// `chosen` becomes whose room it takes over there.
  Status nominate(Row row, const PodInfo& pod, const Asked& asked, Pods& chosen) const;
  Status reserve(const PodAttempt& attempt, const Pods& chosen) const;
  void unreserve(const Pods& chosen) const;
  std::shared_ptr<PreBindWork> pre_bind(const PodAttempt& attempt, const Pods& chosen) const;

 private:
  const Ledger::Entry* entry(const PodInfo& pod) const;
  Chosen choose_on(const NodeView& view, const Amounts& given_back, const Asked& asked, const Facts& facts,
                   std::span<const Candidate> candidates) const;

  const PluginContext context_;
  Ledger& ledger_;
  const IgnoredResources& ignored_;
  const bool omits_node_labels_;
  bool has_cluster_mode_ = false, prefers_none_ = false;
  std::string priority_key_;
  PodSelectorRef of_cluster_;  // the pods that anybody may have; set where that mode is on
  mutable std::shared_ptr<const Candidates> known_;
};

}  // namespace koord::scheduling::reservation
