// The agent's metrics for `koord docs`: the parts that register them are made, and never run.
#include <boost/asio/system_executor.hpp>

#include "docs.hpp"
#include "framework/executor/executor.hpp"
#include "framework/executor/kernel_files.hpp"
#include "framework/qos/manager.hpp"
#include "framework/report/reporter.hpp"
#include "framework/sampler/sampler.hpp"
#include "framework/serve/exported.hpp"
#include "framework/serve/run_queue.hpp"
#include "framework/states/kubelet.hpp"
#include "gates.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/manual_clock.hpp"
#include "koord/kube/config.hpp"
#include "koord/kube/transport.hpp"
#include "plugins.hpp"

namespace koord::koordlet {

namespace {

class NoLog final : public LogSink {
 public:
  void write(LogLevel, std::string) override {}
};

}  // namespace

void register_metrics(metrics::Registry& registry) {
  NoLog sink;
  ManualClock clock;
  Logger log(sink, clock);
  host::Root root;
  root.cgroup = "/";  // any folder that is there
  const auto cgroups = host::CgroupFs::open(root, host::CgroupVersion::v2);
  if (!cgroups) return;
  SeriesStore series{SeriesStore::Limits{}};
  SamplerConfig sampling;
  sampling.psi = sampling.page_cache = true;
  const Sampler sampler(sampling, *cgroups, root, series, registry, log);
  KernelFiles files;
  Executor executor(*cgroups, files, clock, log, registry, {}, nullptr);
  const FeatureGates gates(koordlet::gates());
  const auto no_topology = [] { return std::shared_ptr<const host::Topology>(); };
  const auto manager =
      QosManager::make(strategy_table(), {executor, clock, log, registry, gates, no_topology}, {});
  const RunQueue run_queue(nullptr, "", *cgroups, log, registry);
  const KubeletClient kubelet(boost::asio::system_executor(), clock, registry, {}, {});
  const Exported exported(registry, registry, clock.now());
  const NodeMetricGauges node_metric(registry);
}

}  // namespace koord::koordlet
