// Eviction: what the strategies that evict pods share: when they act at all, and what becomes of what they
// want.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "framework/qos/plugin.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "plugins/evict/settings.hpp"
#include "plugins/evict/victims.hpp"

namespace koord::koordlet::evict {

class Eviction : public Strategy {
 public:
  struct Terms {
    std::string_view name;        // the row's
    std::string_view cool_flag;   // for how long nobody goes after one has
    bool cools_at_start = false;  // the same after the agent's start: it has to have seen enough
  };
  Eviction(const PluginContext& context, const Terms& terms);

  StrategyStatus status() const final { return status_; }
  void release(const Inventory&, Plan&) final { status_ = {}; }
  void plan(const TickView& view, Plan& plan) final;

 protected:
  using Threshold = api::ResourceThresholdStrategy;
  /// What its features want now, each with a note of why.
  virtual void add_tasks(const TickView& view, const Threshold& slo, std::vector<Task>& tasks) = 0;

  /// More of batch and mid resources is asked than there is; `cpu`: of their CPU, otherwise of their memory.
  void by_allocatable(const TickView& view, const Threshold& slo, std::string_view feature, bool cpu,
                      std::vector<Task>& tasks);
  /// More of the node is used than the NodeSLO allows.
  struct Use {
    std::string_view feature;
    /// Of pods that enabled it, up to the NodeSLO's priority; otherwise of best-effort ones.
    bool of_enabled = true;
    std::optional<std::int64_t> threshold, lower;  // percent, the NodeSLO's
    std::string_view what;                         // "CPU"
    Resource resource{};
    std::optional<double> amount;  // nothing: not known now
    std::int64_t capacity = 0;     // in the amount's unit
    double Usage::*of_pod = nullptr;
    double scale = 1;  // from a pod's use to the amount's unit
  };
  void by_use(const TickView& view, const Threshold& slo, const Use& use, std::vector<Task>& tasks);

  const PluginContext& context_;
  Notes notes_;  // of one tick; kept for its memory

 private:
  Terms terms_;
  nanoseconds cool_;
  MonoTime started_;
  StrategyStatus status_;
};

}  // namespace koord::koordlet::evict
