// Agent: the node agent put together, every part handed what it needs, in the order of dependence.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "framework/action/actions.hpp"
#include "framework/action/pod_runner.hpp"
#include "framework/audit/auditor.hpp"
#include "framework/executor/executor.hpp"
#include "framework/executor/threaded_files.hpp"
#include "framework/keep/host_lock.hpp"
#include "framework/keep/state_dirs.hpp"
#include "framework/predict/predictor.hpp"
#include "framework/qos/manager.hpp"
#include "framework/report/reporter.hpp"
#include "framework/report/topology_reporter.hpp"
#include "framework/sampler/sampler.hpp"
#include "framework/serve/observer.hpp"
#include "framework/serve/resource_gauges.hpp"
#include "framework/standalone/standalone.hpp"
#include "framework/states/claim_lookup.hpp"
#include "framework/states/states.hpp"
#include "framework/tick/tick_schedule.hpp"
#include "koord/async/task_group.hpp"
#include "koord/runtime/role.hpp"
#include "lifecycle/health.hpp"
#include "plugins/tc_network/tc_network.hpp"
#include "plugins/terway_qos/terway_files.hpp"
#include "setup/devices.hpp"
#include "setup/flags.hpp"
#include "setup/transports.hpp"

namespace koord::koordlet {

class Agent final : public runtime::Role {
 public:
  /// What can only be made with success before the agent is.
  struct Parts {
    Place place;
    host::CgroupFs cgroups;
    std::shared_ptr<const NodeFacts> facts;  // null: not readable yet
    std::string boot_id;
    kube::Client* client = nullptr;  // without it
    KubeletClient::Credentials credentials;
    KernelCounters counters;
    StrategyTable strategies = {};
    CollectorTable collectors = {};
  };
  /// Declares informers, routes and health checks; reads the standalone file; runs nothing.
  static Result<std::unique_ptr<Agent>> make(runtime::RoleContext& context, Parts parts);
  Task<Result<>> run() override;
  /// What /external-metrics shows; the others are the context's.
  const metrics::Registry& external_metrics() const { return external_; }

 private:
  Agent(runtime::RoleContext& context, Parts parts);
  Result<> set_up();
  Result<> lock();
  BootFile::Place boot_file(std::string_view name) const;
  void set_up_actions();
  void set_up_processes();
  void set_up_resctrl();
  Result<> set_up_strategies();
  void set_up_states();
  Result<> set_up_kubernetes();
  void set_up_topology_report();
  Result<> set_up_transports();
  Result<> set_up_standalone(const std::string& file);
  void serve();
  Task<Result<>> tick();
  Task<Result<>> rest();
  Task<Result<>> keep_checkpoint();
  Task<Result<>> save_checkpoint();
  Result<> withdraw_hook_server();
  BootFile::Place terway_mark() const;
  tc_network::Host network_host() const;
  Result<> withdraw_terway();
  Task<Result<>> end_for_cleanup();
  Task<Result<>> clean_up();
  Task<Result<std::size_t>> free_groups();
  Task<Result<>> do_later(std::function<void()> work, std::function<void()> done);
  void restore_checkpoint();
  void fail(std::string_view what, const Error& error);
  std::vector<SourceStatus> sources() const;
  /// Null: the machine's CPUs are not known yet.
  std::shared_ptr<const host::Topology> topology() const;

  runtime::RoleContext& context_;
  Logger log_;
  Parts parts_;
  StateDirs dirs_;
  std::optional<HostLock> lock_;
  std::string locked_;  // its file
  nanoseconds interval_;
  metrics::Registry external_;
  InventoryHub hub_;
  std::unique_ptr<Auditor> auditor_;
  ThreadedFiles files_;
  std::unique_ptr<Executor> executor_;
  SeriesStore series_;
  std::optional<kube::EventRecorder> recorder_;
  WorkerPool stoppers_{1};  // of pods: whose workers wait for a disk keep nobody alive
  std::optional<PodRunner> runner_;
  std::optional<Actions> actions_;
  KernelProcesses processes_;
  std::vector<std::unique_ptr<ProcessSettings>> process_settings_;
  KernelResctrl resctrl_;
  std::optional<ResctrlGroups> resctrl_groups_;
  std::unique_ptr<QosManager> qos_;
  TickSchedule schedule_;
  std::shared_ptr<GpuDriver> gpus_;  // null: nobody asks NVIDIA's driver
  std::unique_ptr<SmiWatch> smi_;    // in its place
  std::unique_ptr<Sampler> sampler_;
  std::optional<Observer> observer_;
  std::optional<Health> health_;  // not while it cleans up
  std::optional<ResourceGauges> resource_gauges_;
  std::optional<Standalone> standalone_;
  std::optional<States> states_;
  std::optional<Predictor> predictor_;
  std::optional<Reporter> reporter_;
  std::optional<TopologyReporter> topology_reporter_;
  std::optional<ClaimLookup> claims_;  // with the gate BlkIOReconcile
  std::unique_ptr<terway_qos::TerwayFiles> terway_;
  std::unique_ptr<tc_network::TcNetwork> tc_network_;  // with the gate TCNetworkQoS
  std::unique_ptr<Devices> devices_;                   // null: none are looked for
  std::unique_ptr<Transports> transports_;             // null: without Kubernetes, or cleaning up
  std::string checkpoint_;                             // the file; empty: none
  bool checkpoint_refused_ = false;

  Event ended_, news_;
  std::optional<Error> failure_;
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
