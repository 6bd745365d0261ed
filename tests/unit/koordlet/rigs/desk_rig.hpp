// DeskRig: a desk beside the reconciler of the same agent, and requests as runtimes make them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/hooks/desk.hpp"
#include "rigs/hooks_rig.hpp"

namespace koord::koordlet::testing {

class DeskRig : public HooksRig {
 public:
  explicit DeskRig(host::CgroupVersion version = host::CgroupVersion::v1, std::string journal = {})
      : HooksRig(version, std::move(journal)) {
    open();
  }

  /// A desk that knows what the inventory says now.
  void open(Desk::Options options = {}) {
    desk.reset();
    auto made = make(std::move(options));
    if (!made) throw std::runtime_error(made.error().message());
    desk = std::move(*made);
    publish();
  }
  Result<std::unique_ptr<Desk>> make(Desk::Options options) {
    options.dry_run.insert(options.dry_run.end(), dry_run.begin(), dry_run.end());
    return Desk::make(
        {.strategies = asked.empty() ? strategies : StrategyTable(asked),
         .gates = gates,
         .hub = hub,
         .cgroup_version = kernel.version(),
         .topology = [this] { return topology; },
         .has = [this](host::Knob knob,
                       std::string_view group) { return executor->setting(knob, group).has_value(); },
         .setting = [this](host::Knob knob, std::string_view group) -> std::optional<std::int64_t> {
           return knob == host::Knob::cpu_period && !group.empty() ? period : std::nullopt;
         },
         .is_set = [this](std::string_view flag) { return set.contains(flag); },
         .bears = [this] { ++bears; },
         .clock = clock,
         .log = Logger(log, clock, 1),
         .metrics = desk_metrics},
        std::move(options));
  }
  void publish() { hub.publish(inventory); }

  Verdict ask(const RuntimeRequest& request, Transport transport = Transport::nri) {
    auto verdict = desk->answer(request, transport);
    if (!verdict) throw std::runtime_error(verdict.error().message());
    return std::move(*verdict);
  }

  InventoryHub hub;
  std::vector<const StrategyEntry*> asked;  // in place of the agent's
  metrics::Registry desk_metrics;
  std::optional<std::int64_t> period;  // of every group, in microseconds
  int bears = 0;
  std::unique_ptr<Desk> desk;
};

/// What a runtime says before it makes the container "c" of a pod.
inline RuntimeRequest birth(std::string uid, std::string parent) {
  RuntimeRequest request{.moment = RuntimeMoment::create_container};
  request.sandbox.id = "aa11";
  request.sandbox.uid = std::move(uid);
  request.sandbox.ns = "ns";
  request.sandbox.name = "p";
  request.sandbox.cgroup_parent = std::move(parent);
  request.container.emplace();
  request.container->name = "c";
  request.container->resources.cpu_shares = 2;
  return request;
}
inline RuntimeRequest sandbox_of(RuntimeRequest request) {
  request.moment = RuntimeMoment::run_sandbox;
  request.container.reset();
  return request;
}

}  // namespace koord::koordlet::testing
