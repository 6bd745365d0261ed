// QosRig: an executor, a QoS manager and everything below them on a simulated kernel, driven tick by tick.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/qos/manager.hpp"
#include "framework/tick/best_effort_use.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/base/manual_clock.hpp"
#include "plugins.hpp"
#include "rigs/fake_processes.hpp"
#include "rigs/fake_resctrl.hpp"
#include "rigs/machines.hpp"
#include "rigs/sim_kernel.hpp"
#include "setup/gates.hpp"

namespace koord::koordlet::testing {

inline constexpr const char* kBeRoot = "kubepods/besteffort";

/// Remembers what it is told to do; the test says what becomes of it.
class FakeRunner final : public ActionRunner {
 public:
  struct Told {
    Action action;
    Done done;
  };
  void run(const Action& action, Done done) override { told.push_back({action, std::move(done)}); }
  /// Of all that is under way.
  void finish(const Result<>& outcome = {}) {
    for (Told& one : std::exchange(told, {})) one.done(outcome);
  }
  std::vector<Told> told;
};

/// A pod or host application and what it uses.
struct Used {
  std::string name;
  Qos qos = Qos::ls;
  double cpu = kUnknown;
  std::string cpus = {};  // of its resource status
  host::KubeQos kube_qos = host::KubeQos::burstable;
  std::string group = {};
  double memory = kUnknown;  // bytes
};

class QosRig {
 public:
  explicit QosRig(host::CgroupVersion version, std::string journal = {})
      : kernel(version), journal_path(std::move(journal)) {
    inventory.be_roots = {kBeRoot};
    inventory.pods_known = true;
    inventory.slo_known = true;
    inventory.node.name = "n1";
    capacity(16);
    topology = machine(16, 2);
    start();
  }

  void capacity(int cpus) {
    inventory.node.capacity_milli_cpu = inventory.node.allocatable_milli_cpu = cpus * 1000;
  }
  void slo(bool enable, std::string_view policy, std::int64_t threshold = 70,
           std::optional<std::int64_t> min = {}) {
    auto spec = std::make_shared<api::NodeSloSpec>();
    auto& strategy = spec->resource_used_threshold_with_be.emplace();
    strategy.enable = enable;
    strategy.cpu_suppress_policy = policy;
    strategy.cpu_suppress_threshold_percent = threshold;
    strategy.cpu_suppress_min_percent = min;
    inventory.slo = spec;
  }
  void pods(const std::vector<Used>& list) {
    inventory.pods.clear();
    inventory.own_cpus = {};
    pod_usage.clear();
    for (const Used& used : list) {
      auto pod = std::make_shared<PodInfo>();
      pod->uid = pod->name = used.name;
      pod->qos = used.qos;
      pod->kube_qos = used.qos == Qos::be ? host::KubeQos::besteffort : used.kube_qos;
      const std::string parent = used.qos == Qos::be ? kBeRoot : "kubepods/burstable";
      pod->group = used.group.empty() ? fmt::format("{}/pod{}", parent, used.name) : used.group;
      if (!used.cpus.empty()) pod->cpus = *host::CpuSet::parse(used.cpus);
      OwnCpus& own = inventory.own_cpus;
      if (pod->cpus && used.qos == Qos::lse) own.lse = own.lse | *pod->cpus;
      if (pod->cpus && used.qos == Qos::lsr) own.lsr = own.lsr | *pod->cpus;
      inventory.pods.push_back(pod);
      pod_usage.push_back({.cpu = used.cpu, .memory = used.memory});
    }
    ++inventory.generation;
  }
  void applications(const std::vector<Used>& list) {
    inventory.host_applications.clear();
    application_usage.clear();
    for (const Used& used : list) {
      inventory.host_applications.push_back({.name = used.name, .qos = used.qos, .group = used.group});
      application_usage.push_back({.cpu = used.cpu});
    }
    ++inventory.generation;
  }

  /// A best-effort tree on the simulated kernel: the kubelet's root, besteffort, and below it these groups.
  void be_tree(std::string_view cpus, std::int64_t quota, const std::vector<std::string>& below) {
    kernel.group("kubepods").cpus = topology->online;
    kernel.group(kBeRoot).quota = quota;
    kernel.group(kBeRoot).cpus = *host::CpuSet::parse(cpus);
    for (const std::string& name : below)
      kernel.group(std::string(kBeRoot) + "/" + name).cpus = *host::CpuSet::parse(cpus);
  }

  /// A new agent; what the old one knew has gone, the kernel and the journal have not.
  void start() {
    manager.reset();
    actions.reset();
    process_settings.clear();
    groups.reset();
    executor.reset();
    runner.told.clear();
    fs = std::make_unique<host::CgroupFs>(kernel.fs());
    metrics = std::make_unique<metrics::Registry>();
    executor = std::make_unique<Executor>(*fs, kernel, clock, Logger(log, clock, 1), *metrics,
                                          Executor::Options{.netlink = netlink}, nullptr);
    Actions::Options acting = action_options;
    acting.file = {.path = journal_path.empty() ? "" : journal_path + "-evicted", .boot_id = "boot"};
    actions = std::make_unique<Actions>(acting, runner, clock, Logger(log, clock, 1), *metrics);
    auto loaded = actions->load();
    if (!loaded) throw std::runtime_error(loaded.error().message());
    unfinished = std::move(*loaded);
    std::vector<ProcessSettings*> kinds;
    for (const StrategyEntry* row : strategies) {
      if (row->sets == nullptr) continue;
      ProcessSettings::Options setting;
      setting.book = {.path = journal_path.empty() ? "" : fmt::format("{}-{}", journal_path, row->sets->file),
                      .boot_id = "boot"};
      process_settings.push_back(std::make_unique<ProcessSettings>(
          *row->sets, setting, processes,
          [](const std::function<void()>& work, const std::function<void()>& done) {
            work();
            done();
          },
          clock, Logger(log, clock, 1), *metrics, nullptr));
      kinds.push_back(process_settings.back().get());
      if (auto read = kinds.back()->load(); !read) throw std::runtime_error(read.error().message());
    }
    groups = std::make_unique<ResctrlGroups>(
        ResctrlGroups::Options{
            .book = {.path = journal_path.empty() ? "" : journal_path + "-resctrl", .boot_id = "boot"}},
        resctrl,
        [](const std::function<void()>& work, const std::function<void()>& done) {
          work();
          done();
        },
        clock, Logger(log, clock, 1), nullptr);
    if (auto read = groups->load(); !read) throw std::runtime_error(read.error().message());
    auto made = QosManager::make(strategies,
                                 {.executor = *executor,
                                  .clock = clock,
                                  .log = Logger(log, clock, 1),
                                  .metrics = *metrics,
                                  .gates = gates,
                                  .topology = [this] { return topology; },
                                  .actions = *actions,
                                  .series = series,
                                  .processes = kinds,
                                  .resctrl = groups.get()},
                                 {.journal = {.path = journal_path, .boot_id = "boot"},
                                  .seconds =
                                      [this](std::string_view flag) {
                                        const auto it = seconds.find(flag);
                                        return it == seconds.end() ? interval : it->second;
                                      },
                                  .is_set = [this](std::string_view flag) { return set.contains(flag); },
                                  .dry_run = dry_run});
    if (!made) throw std::runtime_error(made.error().message());
    manager = std::move(*made);
  }

  void tick(double node_cpu, bool complete = true, double be_cpu = kUnknown) {
    clock.advance(std::chrono::seconds(1));
    TickView view;
    view.at = clock.mono();
    view.wall = clock.now();
    view.interval = std::chrono::seconds(1);
    view.inventory = std::make_shared<const Inventory>(inventory);
    view.node.cpu = node_cpu;
    const BestEffortUse roots{.usage_milli = be_cpu * 1000};
    view.slots.show(&roots, view.at);
    view.pods = pod_usage;
    view.host_applications = application_usage;
    view.complete = complete;
    view.pods_listed = clock.mono();
    if (shape) shape(view);
    manager->tick(view);
  }

  /// What is said of a strategy.
  QosManager::StrategyReport report(std::string_view name) const {
    for (const auto& report : manager->strategies())
      if (report.name == name) return report;
    throw std::runtime_error(fmt::format("no strategy {}", name));
  }

  ManualClock clock;
  CapturedLog log;
  SimKernel kernel;
  std::string journal_path;
  KernelFiles* netlink = nullptr;
  FeatureGates gates{koordlet::gates()};
  StrategyTable strategies = strategy_table();
  nanoseconds interval = std::chrono::seconds(1);
  std::map<std::string, nanoseconds, std::less<>> seconds;  // of flags that are not `interval`
  std::set<std::string, std::less<>> set;                   // flags that are true
  std::vector<std::string> dry_run;
  Actions::Options action_options;
  std::function<void(TickView&)> shape;  // the last word on what a tick sees
  std::shared_ptr<const host::Topology> topology;
  Inventory inventory;
  std::vector<Usage> pod_usage, application_usage;
  std::unique_ptr<host::CgroupFs> fs;
  std::unique_ptr<metrics::Registry> metrics;
  std::unique_ptr<Executor> executor;
  SeriesStore series{{}};
  FakeRunner runner;
  std::unique_ptr<Actions> actions;
  FakeProcesses processes;
  std::vector<std::unique_ptr<ProcessSettings>> process_settings;
  FakeResctrl resctrl{kernel};
  std::unique_ptr<ResctrlGroups> groups;
  std::vector<std::string> unfinished;  // what the last start() found
  std::unique_ptr<QosManager> manager;
};

}  // namespace koord::koordlet::testing
