// Observer: see observer.hpp.
#include "framework/serve/observer.hpp"

#include <algorithm>

#include "framework/qos/manager.hpp"
#include "framework/sampler/sampler.hpp"
#include "framework/tick/best_effort_use.hpp"
#include "framework/tick/blamed_waits.hpp"
#include "framework/tick/interference.hpp"
#include "framework/tick/run_queue_waits.hpp"
#include "koord/host/cgroup_paths.hpp"

namespace koord::koordlet {

namespace {

std::optional<std::int64_t> bytes(double value) {
  if (!known(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}
std::optional<double> number(double value) {
  return known(value) ? std::optional<double>(value) : std::nullopt;
}

UsageView view_of(const Usage& usage) {
  return {number(usage.cpu), bytes(usage.memory), bytes(usage.memory_with_page_cache),
          number(usage.throttled)};
}

api::Box<LatencyView> view_of(const host::LatencyHistogram* histogram) {
  if (histogram == nullptr || histogram->count() == 0) return {};
  return LatencyView{histogram->quantile_us(0.5), histogram->quantile_us(0.9), histogram->quantile_us(0.99),
                     histogram->mean_us(), static_cast<std::int64_t>(histogram->count())};
}

/// Null: it is not there.
template <class Value>
const Value* find(const std::unordered_map<std::string, Value>& all, const std::string& key) {
  const auto it = all.find(key);
  return it != all.end() ? &it->second : nullptr;
}

const host::LatencyHistogram* waits_of_pod(const TickView& seen, const std::string& uid) {
  const RunQueueWaits* const waits = seen.find<RunQueueWaits>();
  return waits != nullptr ? find(waits->pods, uid) : nullptr;
}

std::optional<double> cores(const std::optional<std::int64_t>& milli) {
  if (!milli) return std::nullopt;
  return static_cast<double>(*milli) / 1000;
}

/// What is known of the parts: a part without a figure does not make the sum unknown.
void add(double& sum, double value) {
  if (known(value)) sum = known(sum) ? sum + value : value;
}

void raise(double& part, double whole) {
  if (known(whole)) part = known(part) ? std::max(part, whole) : whole;
}

InterferenceView view_of(const InterferenceParts& parts, std::string_view name) {
  return {std::string(name),    parts.all(),      number(parts.run_queue),
          number(parts.memory), number(parts.io), number(parts.cpi)};
}

}  // namespace

std::optional<MonoTime> Observer::last_tick() const {
  const TickView& seen = parts_.sampler.view();
  return seen.tick > 0 ? std::optional(seen.at) : std::nullopt;
}

TierView Observer::tier(std::string_view name, bool best_effort) const {
  TierView tier;
  tier.name = name;
  Usage sum;
  host::LatencyHistogram waits;
  Usage inside;  // of the best-effort roots
  const TickView& seen = parts_.sampler.view();
  for (std::size_t i = 0; seen.inventory && i < seen.inventory->pods.size(); ++i) {
    const PodInfo& pod = *seen.inventory->pods[i];
    if (pod.is_be() != best_effort) continue;
    ++tier.pods;
    if (const auto* waited = waits_of_pod(seen, pod.uid)) waits += *waited;
    Usage& part = seen.inventory->in_best_effort(pod.group) ? inside : sum;
    add(part.cpu, seen.pods[i].cpu);
    add(part.memory, seen.pods[i].memory);
    add(sum.memory_with_page_cache, seen.pods[i].memory_with_page_cache);
  }
  // The roots have those too whom nobody has named yet.
  const BestEffortUse roots = best_effort_use(seen);
  if (best_effort) {
    raise(inside.cpu, roots.usage_milli / 1000);
    raise(inside.memory, roots.memory);
  }
  add(sum.cpu, inside.cpu);
  add(sum.memory, inside.memory);
  tier.usage = view_of(sum);
  if (best_effort && known(roots.real_limit_milli)) tier.limits.cpu_cores = roots.real_limit_milli / 1000;
  tier.run_queue_latency = view_of(&waits);
  return tier;
}

std::vector<SuppressionView> Observer::suppressed(std::string_view below) const {
  std::vector<SuppressionView> all;
  if (parts_.qos == nullptr) return all;
  for (const QosManager::Limit& limit : parts_.qos->limits()) {
    if (!below.empty() && !host::is_within(limit.group, below)) continue;
    all.push_back({std::string(limit.strategy), std::string(host::row(limit.knob).name), limit.group,
                   limit.value, limit.reason, limit.in_force, limit.held});
  }
  return all;
}

NodeView Observer::node() const {
  NodeView view;
  const TickView& seen = parts_.sampler.view();
  const Inventory& now = *parts_.hub.current();
  view.name = now.node.name;
  view.version = parts_.version;
  view.time = api::Time(parts_.clock.now());
  view.tick = static_cast<std::int64_t>(seen.tick);
  view.cgroup_version = parts_.cgroup_version == host::CgroupVersion::v2 ? "v2" : "v1";
  view.cgroup_driver = now.driver == host::CgroupDriver::systemd ? "systemd" : "cgroupfs";
  view.capacity = {static_cast<double>(now.node.capacity_milli_cpu) / 1000, now.node.capacity_memory};
  view.allocatable = {static_cast<double>(now.node.allocatable_milli_cpu) / 1000,
                      now.node.allocatable_memory};
  view.reserved_cpu_cores = static_cast<double>(now.node.reserved_milli_cpu) / 1000;
  view.usage = view_of(seen.node);
  view.tiers.push_back(tier("LS", false));
  view.tiers.push_back(tier("BE", true));
  TierView system;
  system.name = "system";
  system.usage = view_of(seen.system);
  view.tiers.push_back(std::move(system));
  view.complete = seen.complete;
  view.slo_known = now.slo != nullptr;
  if (parts_.qos != nullptr) {
    for (const QosManager::StrategyReport& report : parts_.qos->strategies()) {
      StrategyView one{
          std::string(report.name), report.enabled, report.status.active, report.status.summary, {}};
      if (report.held)
        one.held_seconds = std::chrono::duration_cast<std::chrono::seconds>(*report.held).count();
      view.strategies.push_back(std::move(one));
    }
    view.suppressed = suppressed("");
    for (const Executor::Failure& failure : parts_.qos->failures())
      view.failures.push_back({std::string(host::row(failure.knob).name), failure.group,
                               failure.error.message(), static_cast<std::int64_t>(failure.count)});
  }
  for (const SourceStatus& source : parts_.sources()) {
    SourceView one{source.name, source.ok, source.error, {}};
    if (source.last_good) one.last_good = api::Time(*source.last_good);
    view.sources.push_back(std::move(one));
  }
  for (const Availability& one : parts_.sampler.availability())
    view.collectors.push_back({std::string(one.name), one.works, one.reason});
  view.blame = blame();
  if (const auto* const lost = seen.find<Interference>())
    for (const Interference::Tier& tier : lost->tiers)
      view.interference.push_back(view_of(tier.parts, to_string(tier.qos)));
  return view;
}

api::Box<BlameView> Observer::blame() const {
  const BlamedWaits* waits = parts_.sampler.view().find<BlamedWaits>();
  if (waits == nullptr || waits->reading == 0) return {};
  BlameView view;
  view.period_seconds = std::chrono::duration<double>(waits->period).count();
  view.waits = static_cast<std::int64_t>(waits->waits);
  for (std::size_t i = 0; i < kRunners; ++i)
    view.runners.push_back({std::string(name_of(static_cast<Runner>(i))), waits->seconds[i]});
  view.caused_seconds = waits->caused_seconds;
  view.own_quota_seconds = waits->own_quota_seconds;
  view.best_effort_p99_us = waits->best_effort_p99_us;
  view.fit = waits->fit;
  view.why_unfit = waits->why_unfit;
  return view;
}

PodView Observer::pod(const PodInfo& info, const Usage& usage, std::span<const Usage> containers) const {
  PodView view;
  view.ns = info.ns;
  view.name = info.name;
  view.uid = info.uid;
  view.qos = to_string(with_default(info.qos, info.kube_qos));
  view.kube_qos = to_string(info.kube_qos);
  view.priority_class = to_string(info.priority_class);
  view.cgroup = info.group;
  view.usage = view_of(usage);
  const TickView& seen = parts_.sampler.view();
  view.run_queue_latency = view_of(waits_of_pod(seen, info.uid));
  const BlamedWaits* const blamed = seen.find<BlamedWaits>();
  if (const double* seconds = blamed != nullptr ? find(blamed->pods, info.uid) : nullptr)
    view.best_effort_wait_seconds = *seconds;
  const Interference* const lost = seen.find<Interference>();
  if (const InterferenceParts* parts = lost != nullptr ? find(lost->pods, info.uid) : nullptr)
    view.interference = view_of(*parts, {});
  view.suppressed = suppressed(info.group);
  const RunQueueWaits* const waits = seen.find<RunQueueWaits>();
  bool all_cpu = !info.containers.empty(), all_memory = all_cpu;
  std::int64_t milli = 0, memory = 0;
  for (std::size_t i = 0; i < info.containers.size(); ++i) {
    const ContainerInfo& container = info.containers[i];
    ContainerView one;
    one.name = container.name;
    one.id = container.id;
    one.limits = {cores(container.cpu_limit_milli), container.memory_limit};
    if (i < containers.size()) one.usage = view_of(containers[i]);
    one.run_queue_latency = view_of(waits != nullptr ? find(waits->containers, container.id) : nullptr);
    all_cpu = all_cpu && container.cpu_limit_milli;
    all_memory = all_memory && container.memory_limit;
    milli += container.cpu_limit_milli.value_or(0);
    memory += container.memory_limit.value_or(0);
    view.containers.push_back(std::move(one));
  }
  if (all_cpu) view.limits.cpu_cores = static_cast<double>(milli) / 1000;
  if (all_memory) view.limits.memory_bytes = memory;
  return view;
}

PodListView Observer::pods() const {
  PodListView view;
  // Figures and pods of one tick belong together; before the first one there are pods without figures.
  const TickView& seen = parts_.sampler.view();
  const Inventory& now = seen.inventory ? *seen.inventory : *parts_.hub.current();
  view.node = now.node.name;
  view.time = api::Time(parts_.clock.now());
  view.pods_known = now.pods_known;
  std::size_t at = 0;
  for (std::size_t i = 0; i < now.pods.size(); ++i) {
    const PodInfo& info = *now.pods[i];
    const std::size_t count = info.containers.size();
    std::span<const Usage> containers;
    if (at + count <= seen.containers.size()) containers = seen.containers.subspan(at, count);
    at += count;
    view.pods.push_back(pod(info, i < seen.pods.size() ? seen.pods[i] : Usage(), containers));
  }
  std::sort(view.pods.begin(), view.pods.end(), [](const PodView& a, const PodView& b) {
    return std::tie(a.ns, a.name) < std::tie(b.ns, b.name);
  });
  for (std::size_t i = 0; i < now.host_applications.size(); ++i) {
    const HostApplication& application = now.host_applications[i];
    PodView one;
    one.name = application.name;
    one.qos = to_string(application.qos);
    one.priority_class = to_string(application.priority_class);
    one.cgroup = application.group;
    if (i < seen.host_applications.size()) one.usage = view_of(seen.host_applications[i]);
    view.host_applications.push_back(std::move(one));
  }
  return view;
}

}  // namespace koord::koordlet
