// SchedulerNodeFit: whether a pod would find room on a node, by all rules that the scheduler has.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fitting/scheduler_model.hpp"
#include "framework/plugin.hpp"

namespace koord::descheduler {

/// The filters of the pod's profile (SchedulerModel) on the cluster without the pod: what it uses now is
/// free, its replacement need not keep away from it, its quota does not count it twice, its gang is as it is.
/// So on its own node it has its room, unless another rule would not take it there again. What goes in the
/// pass still counts. What a pod's claims of volumes and devices say of nodes holds for its replacement, too.
/// Of one pass, for which it holds the model, which has just caught up; it and the snapshot outlive it, and
/// so do pods that it is asked about, unchanged.
class SchedulerNodeFit final : public NodeFit {
 public:
  SchedulerNodeFit(SchedulerModel& model, const Snapshot& snapshot);
  ~SchedulerNodeFit() override;

  bool fits(const api::Pod& pod, const NodeView& node) override;
  /// By the scores of its profile; of several that are equally good the first by name.
  const NodeView* destination(const api::Pod& pod, const Snapshot& snapshot) override;
  /// Devices and CPUs are not given out in between.
  std::vector<const NodeView*> destinations(std::span<const PodPtr> pods, const Snapshot& snapshot) override;

 private:
  struct Asked;  // the last pod: of one pod many nodes are asked in a row
  using Row = std::uint32_t;

  Row row_of(const NodeView& node);
  PodPtr known(const api::Pod& pod) const;
  const NodeView* best(const api::Pod& pod, const Snapshot& snapshot);
  void ask(const api::Pod& pod);
  void ask_without(const api::Pod& pod);

  SchedulerModel& model_;
  const Snapshot& snapshot_;
  std::unique_ptr<Asked> asked_;
  std::vector<Row> rows_;  // by node of the snapshot
};

}  // namespace koord::descheduler
