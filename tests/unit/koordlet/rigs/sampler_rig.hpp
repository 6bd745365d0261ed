// SamplerRig: a sampler of a fake machine, driven tick by tick.
#pragma once

#include "collectors.hpp"
#include "framework/sampler/sampler.hpp"
#include "koord/base/manual_clock.hpp"
#include "rigs/fake_node.hpp"

namespace koord::koordlet::testing {

inline bool every_gate(std::string_view) { return true; }

struct SamplerRig {
  explicit SamplerRig(FakeNode& fake, SamplerConfig config = {}, KernelCounters counters = {})
      : node(fake),
        fs(fake.cgroups()),
        sampler(std::move(config), collector_table(), fs, fake.root(), series, registry, Logger(log, clock),
                std::move(counters)) {}
  const TickView& tick(const std::shared_ptr<const Inventory>& what, nanoseconds time) {
    return sampler.tick(what, MonoTime(std::chrono::minutes(10) + time), WallTime(time));
  }
  double last(Metric metric, const std::string& entity, nanoseconds time) {
    const auto got =
        series.aggregate(metric, entity, MonoTime(std::chrono::minutes(10) + time), std::chrono::seconds(30));
    return got ? got->last : kUnknown;
  }

  FakeNode& node;
  ManualClock clock;
  CapturedLog log;
  metrics::Registry registry;
  SeriesStore series{{}};
  host::CgroupFs fs;
  Sampler sampler;
};

}  // namespace koord::koordlet::testing
