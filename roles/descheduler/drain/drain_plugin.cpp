// The plugin Drain: it chooses no pods in passes, but goes on with DrainNodeGroups and DrainNodes while the
// role leads.
#include <memory>
#include <string>

#include "drain/controller.hpp"
#include "drain/gate.hpp"
#include "drain/scheduler_placement.hpp"
#include "evictions/evictable.hpp"
#include "framework/plugin_table.hpp"
#include "koord/base/feature_gate.hpp"

namespace koord::descheduler {

namespace drain {
namespace {

std::string why_not(const api::Pod& pod) {
  std::string all;
  for (const std::string_view why : why_not_evictable(pod, {})) {
    if (!all.empty()) all += ", ";
    all += why;
  }
  return all;
}

std::unique_ptr<Placement> placement_by(SchedulerModel* scheduler) {
  if (scheduler != nullptr) return std::make_unique<SchedulerPlacement>(*scheduler);
  return std::make_unique<BasicPlacement>();
}

class Drain final : public Plugin {
 public:
  explicit Drain(PluginContext& context)
      : dry_run_(context.dry_run),
        placement_(placement_by(context.scheduler)),
        controller_({.clock = context.clock,
                     .log = context.log,
                     .informers = *context.informers,
                     .client = *context.client,
                     .events = context.events,
                     .may_write = context.may_write,
                     .why_not = why_not,
                     .placement = *placement_}) {}

  void start(TaskGroup& tasks) override {
    if (!dry_run_) controller_.start(tasks);
  }
  void stop() override { controller_.stop(); }

 private:
  bool dry_run_;
  std::unique_ptr<Placement> placement_;
  Controller controller_;
};

Result<std::unique_ptr<Plugin>> make(const Args&, PluginContext& context) {
  if (!context.gates.enabled(kDrainGate))
    return Error(Code::invalid,
                 "the plugin Drain needs --feature-gates=Drain=true, and the rights of "
                 "packaging/manifests-gates/Drain.yaml");
  // A configuration is being checked: there is no cluster.
  if (context.client == nullptr) return std::unique_ptr<Plugin>(std::make_unique<Plugin>());
  return std::unique_ptr<Plugin>(std::make_unique<Drain>(context));
}

}  // namespace
}  // namespace drain

extern const PluginEntry kDrain{.name = "Drain", .deschedules = true, .once = true, .make = &drain::make};

}  // namespace koord::descheduler
