// The agent's metrics, collected from its parts: see metrics.hpp.
#include "setup/metrics.hpp"

#include <vector>

#include "framework/action/actions.hpp"
#include "framework/action/process_kind.hpp"
#include "framework/devices/device_watch.hpp"
#include "framework/devices/gpu_driver.hpp"
#include "framework/executor/executor.hpp"
#include "framework/hooks/desk.hpp"
#include "framework/hooks/reconciler.hpp"
#include "framework/qos/manager.hpp"
#include "framework/report/forecast_gauges.hpp"
#include "framework/report/reporter.hpp"
#include "framework/sampler/read_faults.hpp"
#include "framework/sampler/sampler.hpp"
#include "framework/serve/resource_gauges.hpp"
#include "framework/states/kubelet.hpp"
#include "framework/tick/tick_schedule.hpp"
#include "plugins/tc_network/tc_network.hpp"
#include "setup/gates.hpp"
#include "transports/container_runtime/container_runtime.hpp"
#include "transports/hook_server/hook_server.hpp"
#include "transports/nri/transport.hpp"
#include "transports/pod_resources/pod_resources.hpp"

namespace koord::koordlet {

std::vector<metrics::Table> metric_tables(StrategyTable strategies, CollectorTable collectors) {
  std::vector<metrics::Table> all = {Actions::kMetrics,
                                     Executor::kMetrics,
                                     QosManager::kMetrics,
                                     KubeletClient::kMetrics,
                                     NodeMetricGauges::kMetrics,
                                     ForecastGauges::kInternal,
                                     ForecastGauges::kExternal,
                                     ResourceGauges::kInternal,
                                     ResourceGauges::kExternal,
                                     Sampler::kMetrics,
                                     ReadFaults::kMetrics,
                                     TickSchedule::kMetrics,
                                     kProcessMetrics,
                                     kReconcilerMetrics,
                                     kGateMetrics,
                                     Desk::kMetrics,
                                     DeviceWatch::kMetrics,
                                     GpuDriver::kMetrics,
                                     HookServer::kMetrics,
                                     ContainerRuntime::kMetrics,
                                     PodResources::kMetrics,
                                     nri::Transport::kMetrics,
                                     tc_network::TcNetwork::kMetrics};
  for (const CollectorEntry* collector : collectors) all.push_back(collector->metrics);
  for (const StrategyEntry* strategy : strategies) all.push_back(strategy->metrics);
  return all;
}

}  // namespace koord::koordlet
