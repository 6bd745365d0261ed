// SchedulerPlacement: where pods would go together, by all rules that the scheduler has.
#pragma once

#include "drain/placement.hpp"
#include "fitting/scheduler_model.hpp"

namespace koord::descheduler::drain {

/// Simulates in the model: all of the pods leave, and one after the other, the largest first, is assumed on
/// the node that its profile likes best of those that its filters let it go to; of several that are equally
/// good on the first by name, and on a last choice only where no other node takes it. What is reserved for
/// others is known to the profile's plugins as far as they heed it. Devices and CPUs are not given out: two
/// pods may be placed on what only one of them will get. The cluster is the model's after it has caught up,
/// in a pass that of the pass.
class SchedulerPlacement final : public Placement {
 public:
  explicit SchedulerPlacement(SchedulerModel& model) : model_(model) {}

  /// As BasicPlacement does it where the model is not whole.
  std::vector<Symbol> place(std::span<const PodPtr> pods, std::span<const Elsewhere> nodes) override;

 private:
  SchedulerModel& model_;
};

}  // namespace koord::descheduler::drain
