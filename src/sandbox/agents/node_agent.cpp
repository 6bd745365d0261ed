// The state of a simulated agent: see node_agent.hpp.
#include "sandbox/agents/node_agent.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sandbox/store/object.hpp"

namespace koord::sandbox {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr double kEvictCoolTime = 20;  // seconds
constexpr double kDefaultEvictWindow = 60;
/// Samples that a node keeps at most, and a pod.
constexpr std::size_t kMostSamples = 1024, kMostOfPod = 128;
/// An aggregate counts once its samples span this share of its window.
constexpr double kWarm = 0.5;

api::ResourceMap resources(const Usage& usage) {
  api::ResourceMap out;
  out.resources["cpu"] = api::Quantity::from_milli(std::llround(usage.cpu * 1000));
  out.resources["memory"] =
      api::Quantity::from_int(std::llround(usage.memory), api::Quantity::Format::binary_si);
  return out;
}

/// The value that so many of the sorted ones do not exceed.
double quantile(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

AgentTotals& AgentTotals::operator+=(const AgentTotals& other) {
  seconds += other.seconds;
  capacity += other.capacity;
  latency_sensitive += other.latency_sensitive;
  best_effort += other.best_effort;
  system += other.system;
  busy += other.busy;
  lost += other.lost;
  suppressed += other.suppressed;
  evictions += other.evictions;
  return *this;
}

NodeAgent::NodeAgent(const Trace& trace, std::size_t machine, const AgentSettings& settings, MonoTime began,
                     MonoTime now)
    : trace_(trace), machine_(machine), settings_(settings), began_(began), last_(now), reported_(now) {
  set_policy({});
}

void NodeAgent::set_policy(const api::NodeMetricSpec& spec) {
  constexpr std::int64_t kDay = 86'400;
  interval_ = std::chrono::seconds(60);
  aggregate_ = 300;
  windows_ = {std::chrono::minutes(5), std::chrono::minutes(10), std::chrono::minutes(30)};
  if (const api::NodeMetricCollectPolicy* policy = spec.metric_collect_policy.get()) {
    if (policy->report_interval_seconds)
      interval_ = std::chrono::seconds(std::clamp<std::int64_t>(*policy->report_interval_seconds, 30, kDay));
    if (policy->aggregate_duration_seconds)
      aggregate_ =
          static_cast<double>(std::clamp<std::int64_t>(*policy->aggregate_duration_seconds, 60, kDay));
    if (policy->node_aggregate_policy && !policy->node_aggregate_policy->durations.empty()) {
      windows_.clear();
      for (const api::Duration& each : policy->node_aggregate_policy->durations)
        windows_.push_back(each.value);
    }
  }
  if (settings_.report_interval.count() > 0) interval_ = settings_.report_interval;
}

void NodeAgent::add_pod(SimulatedPod pod) {
  std::string key = Object::make_key(pod.ns, pod.name);
  pods_.insert_or_assign(std::move(key), Pod{.is = std::move(pod)});
}

bool NodeAgent::has_pod(std::string_view ns, std::string_view name, std::string_view uid) const {
  const auto pod = pods_.find(Object::make_key(ns, name));
  return pod != pods_.end() && pod->second.is.uid == uid;
}

void NodeAgent::remove_pod(std::string_view ns, std::string_view name) {
  if (const auto pod = pods_.find(Object::make_key(ns, name)); pod != pods_.end()) pods_.erase(pod);
}

std::chrono::milliseconds NodeAgent::period() const {
  using std::chrono::milliseconds;
  return std::clamp(std::chrono::duration_cast<milliseconds>(interval_ / 5), milliseconds(100),
                    milliseconds(10'000));
}

double NodeAgent::trace_time(MonoTime at) const { return Seconds(at - began_).count() * settings_.speed; }

const api::ResourceThresholdStrategy* NodeAgent::threshold() const {
  return slo_ ? slo_->spec.resource_used_threshold_with_be.get() : nullptr;
}

NodeAgent::TickOutcome NodeAgent::tick(MonoTime now) {
  const nanoseconds passed = now - last_;
  last_ = now;
  const double at = trace_time(now);
  std::vector<const SimulatedPod*> pods;
  pods.reserve(pods_.size());
  for (const auto& [key, pod] : pods_) pods.push_back(&pod.is);
  // A time beyond what nanoseconds hold begins anew with the trace.
  const double whole = Seconds(trace_.length()).count();
  const auto time = std::chrono::duration_cast<nanoseconds>(Seconds(std::fmod(at, whole)));
  moment_ = play(node_, pods, trace_.at(machine_, time), threshold());

  used_ = used_ || !pods_.empty();
  const double seconds = used_ ? Seconds(passed).count() : 0;
  totals_.seconds += seconds;
  totals_.capacity += node_.capacity.cpu * seconds;
  totals_.latency_sensitive += moment_.latency_sensitive.cpu * seconds;
  totals_.best_effort += moment_.best_effort.cpu * seconds;
  totals_.system += moment_.system.cpu * seconds;
  totals_.suppressed += moment_.suppressed ? seconds : 0;
  std::size_t i = 0;
  for (auto& [key, pod] : pods_) {
    const Usage& used = moment_.pods[i++];
    if (pod.is.busy) {
      totals_.busy += used.cpu * seconds;
      pod.busy += used.cpu * seconds;
      if (pod.evicted) totals_.lost += used.cpu * seconds;
    }
    const double speed = pod.is.best_effort ? moment_.speed() : 1;
    pod.worked += std::chrono::duration_cast<nanoseconds>(Seconds(seconds * speed));
    pod.used.push_back({static_cast<float>(used.cpu), static_cast<float>(used.memory)});
  }
  samples_.push_back({at, moment_.node, moment_.system, satisfaction(pods, moment_)});
  forget(at);

  TickOutcome outcome;
  const char* reason = "";
  for (const std::size_t victim : whom_to_evict(at, pods, reason))
    outcome.evict.push_back({pods[victim]->ns, pods[victim]->name, pods[victim]->uid, reason});
  if (now - reported_ >= interval_) {
    outcome.report = true;
    reported_ = now;
  }
  return outcome;
}

void NodeAgent::evicted(std::string_view ns, std::string_view name) {
  evicted_at_ = trace_time(last_);
  ++totals_.evictions;
  const auto pod = pods_.find(Object::make_key(ns, name));
  if (pod == pods_.end() || pod->second.evicted) return;
  pod->second.evicted = true;
  totals_.lost += pod->second.busy;
}

void NodeAgent::forget(double at) {
  double longest = aggregate_;
  for (const nanoseconds window : windows_) longest = std::max(longest, Seconds(window).count());
  while (samples_.size() > kMostSamples || (samples_.size() > 1 && samples_.front().at < at - longest))
    samples_.pop_front();
  std::size_t recent = 1;
  while (recent < std::min(samples_.size(), kMostOfPod) &&
         samples_[samples_.size() - recent - 1].at >= at - aggregate_)
    ++recent;
  for (auto& [key, pod] : pods_)
    while (pod.used.size() > recent) pod.used.pop_front();
}

std::vector<std::size_t> NodeAgent::whom_to_evict(double at, const std::vector<const SimulatedPod*>& pods,
                                                  const char*& reason) {
  const api::ResourceThresholdStrategy* slo = threshold();
  const bool leaving = std::ranges::any_of(pods_, [](const auto& entry) { return entry.second.evicted; });
  if (!slo || leaving || at - evicted_at_ < kEvictCoolTime) return {};
  reason = "BEMemoryEvict";
  if (auto victims = evict_for_memory(node_, pods, moment_, *slo); !victims.empty()) return victims;
  reason = "BECPUEvict";
  const double window = static_cast<double>(
      std::clamp<std::int64_t>(slo->cpu_evict_time_window_seconds.value_or(0), 0, 86'400));
  Satisfaction sum;
  double count = 0;
  for (auto it = samples_.rbegin();
       it != samples_.rend() && it->at >= at - (window > 0 ? window : kDefaultEvictWindow); ++it, ++count) {
    sum.limit += it->best_effort.limit;
    sum.asked += it->best_effort.asked;
    sum.used += it->best_effort.used;
  }
  return evict_for_cpu(pods, moment_, {sum.limit / count, sum.asked / count, sum.used / count}, *slo);
}

api::ResourceMap NodeAgent::average(const Pod& pod) const {
  Usage sum;
  for (const SmallUsage& used : pod.used) sum += {used.cpu, used.memory};
  const auto count = static_cast<double>(pod.used.size());
  return resources({sum.cpu / count, sum.memory / count});
}

api::ResourceMap NodeAgent::average(Usage Sample::*what) const {
  Usage sum;
  double count = 0;
  for (auto it = samples_.rbegin(); it != samples_.rend(); ++it) {
    if (count > 0 && it->at < samples_.back().at - aggregate_) break;
    sum += (*it).*what;
    ++count;
  }
  return count > 0 ? resources({sum.cpu / count, sum.memory / count}) : api::ResourceMap();
}

std::vector<api::AggregatedUsage> NodeAgent::aggregates(Usage Sample::*what) const {
  std::vector<api::AggregatedUsage> all;
  for (const nanoseconds window : windows_) {
    api::AggregatedUsage one;
    one.duration.emplace(window);
    const double seconds = Seconds(window).count();
    std::vector<double> cpu, memory;
    double first = samples_.empty() ? 0 : samples_.back().at;
    for (auto it = samples_.rbegin(); it != samples_.rend() && it->at >= samples_.back().at - seconds; ++it) {
      cpu.push_back(((*it).*what).cpu);
      memory.push_back(((*it).*what).memory);
      first = it->at;
    }
    const bool warm = !cpu.empty() && samples_.back().at - first >= kWarm * seconds;
    std::sort(cpu.begin(), cpu.end());
    std::sort(memory.begin(), memory.end());
    static constexpr std::array<std::pair<const char*, double>, 4> kShares = {
        {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}}};
    one.usage["avg"] = warm ? resources({mean(cpu), mean(memory)}) : api::ResourceMap();
    for (const auto& [name, share] : kShares)
      one.usage[name] =
          warm ? resources({quantile(cpu, share), quantile(memory, share)}) : api::ResourceMap();
    all.push_back(std::move(one));
  }
  return all;
}

api::NodeMetricStatus NodeAgent::status(WallTime now) const {
  api::NodeMetricStatus status;
  status.update_time = api::Time{std::chrono::floor<std::chrono::seconds>(now)};
  api::NodeMetricInfo& node = status.node_metric.emplace();
  node.node_usage = average(&Sample::node);
  node.aggregated_node_usages = aggregates(&Sample::node);
  node.system_usage = average(&Sample::system);
  node.aggregated_system_usages = aggregates(&Sample::system);
  for (const auto& [key, pod] : pods_) {
    if (pod.used.empty()) continue;
    api::PodMetricInfo one;
    one.name = pod.is.name;
    one.namespace_ = Symbol(pod.is.ns);
    one.pod_usage = average(pod);
    one.priority = Symbol(api::to_string(pod.is.priority));
    one.qos = Symbol(api::to_string(pod.is.qos));
    status.pods_metric.push_back(std::move(one));
  }
  status.prod_reclaimable_metric.emplace();  // nobody predicts anything here
  return status;
}

nanoseconds NodeAgent::worked(std::string_view ns, std::string_view name) const {
  const auto pod = pods_.find(Object::make_key(ns, name));
  return pod == pods_.end() ? nanoseconds(0) : pod->second.worked;
}

}  // namespace koord::sandbox
