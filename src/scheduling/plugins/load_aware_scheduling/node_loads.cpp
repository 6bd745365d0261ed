// NodeLoads: see node_loads.hpp.
#include "scheduling/plugins/load_aware_scheduling/node_loads.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"

namespace koord::scheduling::load_aware {

namespace {

constexpr nanoseconds kReportInterval = std::chrono::minutes(1);
/// Reports as rare as this are none.
constexpr std::int64_t kRarest = std::int64_t{10} * 365 * 24 * 3600;

void add(Amounts& sum, const Amounts& amounts, bool take_back = false) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += take_back ? -amounts[i] : amounts[i];
}

/// By how much an estimate is more than what is used.
std::int64_t beyond(const Amounts& estimated, const Amounts* used, std::size_t i) {
  return std::max<std::int64_t>(estimated[i] - (used != nullptr ? (*used)[i] : 0), 0);
}

void add_beyond(Amounts& sum, const Amounts& estimated, const Amounts* used, bool take_back) {
  for (std::size_t i = 0; i < sum.size(); ++i)
    sum[i] += take_back ? -beyond(estimated, used, i) : beyond(estimated, used, i);
}

bool any_beyond(const Amounts& estimated, const Amounts* used) {
  for (std::size_t i = 0; i < estimated.size(); ++i)
    if (beyond(estimated, used, i) != 0) return true;
  return false;
}

Amounts& sum_of(Amounts (&sums)[4], NodeLoads::Part part) { return sums[static_cast<std::size_t>(part)]; }

/// The aggregated usage of a type over a period; of no period: over the longest that there is, else the usage
/// of now, as while a node agent has not been there for long.
std::optional<Amounts> aggregated(const api::NodeMetricInfo& info, std::string_view type,
                                  nanoseconds duration, const Resources& resources) {
  const api::ResourceList* found = nullptr;
  nanoseconds longest{0};
  for (const api::AggregatedUsage& usage : info.aggregated_node_usages) {
    const api::ResourceMap* of_type = usage.usage.find(type);
    if (of_type == nullptr || of_type->resources.empty()) continue;
    const nanoseconds period = usage.duration.value_or(api::Duration()).value;
    if (duration != nanoseconds{0} ? period != duration : period < longest) continue;
    longest = period;
    found = &of_type->resources;
  }
  if (found != nullptr) return resources.amounts(*found);
  if (duration != nanoseconds{0}) return {};
  return resources.amounts(info.node_usage.resources);
}

}  // namespace

NodeLoads::NodeLoads(const LoadAwareSchedulingArgs& args, NodeTable& nodes,
                     ObjectStore<api::NodeMetric>& metrics, const Clock& clock)
    : args_(args),
      nodes_(nodes),
      metrics_(metrics),
      clock_(clock),
      resources_(args),
      estimator_(args, resources_),
      defaults_(make_thresholds(args, resources_)) {
  metrics_.on_change([this](const api::NodeMetric* before, const api::NodeMetric* now) { put(before, now); });
}

NodeLoads::RowLoad& NodeLoads::at(Row row) {
  if (row >= rows_.size()) {
    rows_.resize(nodes_.rows());
    seen_.resize(nodes_.rows(), {State::unreported, false, &defaults_});
    amounts_.resize(nodes_.rows() * 4 * resources_.size(), 0);
  }
  return rows_[row];
}

NodeLoads::Load NodeLoads::load(Row row) const {
  if (row >= seen_.size()) return {};
  const Seen& seen = seen_[row];
  return {seen.state, seen.expired, seen.thresholds, amounts_.data() + row * 4 * resources_.size(),
          resources_.size()};
}

std::optional<WallTime> NodeLoads::next_expiry() const {
  if (ages_.empty()) return {};
  return ages_.begin()->first;
}

std::optional<Row> NodeLoads::find(std::string_view node) const {
  const Row row = nodes_.find(node);
  if (row == kNoRow || row >= rows_.size() || (!rows_[row].metric && rows_[row].pods.empty())) return {};
  return row;
}

// Reports

/// What is reported of no node that there is waits in the store.
void NodeLoads::put(const api::NodeMetric* before, const api::NodeMetric* now) {
  const std::string& name = (now != nullptr ? now : before)->metadata.name;
  const Row row = nodes_.find(name);
  if (row == kNoRow || !nodes_.node(row)) return;
  report(row, now != nullptr ? metrics_.find({}, name) : nullptr);
  nodes_.mark(row);
}

/// nullptr: there is none any more.
void NodeLoads::report(Row row, std::shared_ptr<const api::NodeMetric> metric) {
  RowLoad& load = at(row);
  const auto age = [&] {
    return std::pair(*load.reported_at + std::chrono::seconds(*args_.node_metric_expiration_seconds), row);
  };
  if (load.reported_at) ages_.erase(age());
  load.reported_at.reset();
  load.metric = std::move(metric);
  load.reported.clear();
  load.used.clear();
  load.usage.assign(resources_.size(), 0);
  for (Amounts& sum : load.sums) sum.assign(resources_.size(), 0);
  load.expired = false;
  if (load.metric == nullptr) {
    for (Pod& pod : load.pods) pod.reported = -1;
    return sum_up(row);
  }
  const api::NodeMetricStatus& status = load.metric->status;
  if (status.update_time) load.reported_at = bounded(*status.update_time);
  load.expired = !load.reported_at || age().first <= clock_.now();
  if (!load.expired) ages_.insert(age());
  const auto& policy = load.metric->spec.metric_collect_policy;
  load.interval = policy && policy->report_interval_seconds
                      ? std::chrono::seconds(std::clamp(*policy->report_interval_seconds, -kRarest, kRarest))
                      : kReportInterval;
  if (status.node_metric) {
    load.usage = resources_.amounts(status.node_metric->node_usage.resources);
    if (args_.prod_usage_include_sys)
      sum_of(load.sums, Part::prod_usage) = resources_.amounts(status.node_metric->system_usage.resources);
  }
  read_pods(load, resources_);
  for (Pod& pod : load.pods) {
    pod.reported = find_reported(load, *pod.info->pod);
    account(load, pod, false);
  }
  aggregate(load);
  sum_up(row);
}

void NodeLoads::read_pods(RowLoad& load, const Resources& resources) {
  const auto& pods = load.metric->status.pods_metric;
  const auto key = [&](std::uint32_t i) {
    return std::tuple(pods[i].namespace_.view(), std::string_view(pods[i].name), i);
  };
  for (std::uint32_t i = 0; i < pods.size(); ++i)
    if (!pods[i].pod_usage.resources.empty()) load.reported.push_back(i);
  std::ranges::sort(load.reported, {}, key);
  load.used.reserve(load.reported.size());
  for (const std::uint32_t i : load.reported)
    load.used.push_back(resources.amounts(pods[i].pod_usage.resources));
}

/// -1: it is not among them. Of several of one name the last counts.
std::int32_t NodeLoads::find_reported(const RowLoad& load, const api::Pod& pod) {
  if (load.metric == nullptr) return -1;
  const auto& pods = load.metric->status.pods_metric;
  const std::pair<std::string_view, std::string_view> name{pod.metadata.namespace_.view(), pod.metadata.name};
  const auto key = [&](std::uint32_t i) {
    return std::pair<std::string_view, std::string_view>(pods[i].namespace_.view(), pods[i].name);
  };
  const auto after = std::ranges::upper_bound(load.reported, name, {}, key);
  if (after == load.reported.begin() || key(*std::prev(after)) != name) return -1;
  return static_cast<std::int32_t>(after - load.reported.begin()) - 1;
}

void NodeLoads::aggregate(RowLoad& load) const {
  load.compared = load.usage;
  load.scored = load.usage;
  if (load.metric == nullptr || !load.metric->status.node_metric) return;
  const api::NodeMetricInfo& info = *load.metric->status.node_metric;
  if (const Thresholds& t = thresholds(load); t.aggregated)
    load.compared = aggregated(info, t.type, t.duration, resources_);
  if (args_.aggregated && !args_.aggregated->score_aggregation_type.empty())
    load.scored =
        aggregated(info, args_.aggregated->score_aggregation_type,
                   args_.aggregated->score_aggregated_duration.value_or(api::Duration()).value, resources_);
}

// Pods

NodeLoads::Pod NodeLoads::make(const RowLoad& load, const PodInfo& pod) const {
  const api::Pod& object = *pod.pod;
  const api::KoordPriority of = priority_class(object);
  const api::PodCondition* scheduled = true_since(object, "PodScheduled");
  Pod made{&pod,
           scheduled != nullptr ? bounded(scheduled->last_transition_time) : clock_.now(),
           {},
           of == api::KoordPriority::prod,
           find_reported(load, object),
           Amounts(resources_.size())};
  made.deadline = estimator_.deadline(object, made.since);
  if (api::is_reserve_pod(object.metadata)) {
    made.prod = false;
    made.estimated.clear();
    return made;
  }
  estimator_.estimate(object, of, made.estimated);
  if (!any(made.estimated)) made.estimated.clear();
  return made;
}

NodeLoads::Share NodeLoads::share(const RowLoad& load, const Pod& pod) {
  Share s;
  const auto place = static_cast<std::size_t>(pod.reported);
  const bool there = pod.reported >= 0;
  if (there) s.used = &load.used[place];
  s.prod_used =
      there && pod.prod && load.metric->status.pods_metric[load.reported[place]].priority == "koord-prod";
  if (pod.estimated.empty()) return s;
  // Whatever was measured of it in its first moments is too little.
  s.delta = !there || !load.reported_at || *load.reported_at - load.interval < pod.since ||
            (pod.deadline && *pod.deadline > *load.reported_at);
  s.prod_delta = pod.prod && (s.delta || !s.prod_used);
  return s;
}

void NodeLoads::account(RowLoad& load, const Pod& pod, bool take_back) {
  const Share s = share(load, pod);
  if (s.prod_used) add(sum_of(load.sums, Part::prod_usage), *s.used, take_back);
  if (s.delta) add_beyond(sum_of(load.sums, Part::delta), pod.estimated, s.used, take_back);
  if (s.prod_delta)
    add_beyond(sum_of(load.sums, Part::prod_delta), pod.estimated, s.prod_used ? s.used : nullptr, take_back);
  if (!pod.estimated.empty()) add(sum_of(load.sums, Part::estimated), pod.estimated, take_back);
}

bool NodeLoads::adds(Row row, const Pod& pod, Part part) const {
  const Share s = share(rows_[row], pod);
  switch (part) {
    case Part::prod_usage: return s.prod_used;
    case Part::delta: return s.delta && any_beyond(pod.estimated, s.used);
    case Part::prod_delta: return s.prod_delta && any_beyond(pod.estimated, s.prod_used ? s.used : nullptr);
    case Part::estimated: return !pod.estimated.empty();
  }
  return false;
}

void NodeLoads::pod_added(Row row, const PodInfo& pod) {
  RowLoad& load = at(row);
  load.pods.push_back(make(load, pod));
  if (load.metric == nullptr) return;
  account(load, load.pods.back(), false);
  sum_up(row);
}

void NodeLoads::pod_removed(Row row, const PodInfo& pod) {
  RowLoad& load = at(row);
  // As the table does it: the last one takes its place.
  Pod& gone = load.pods[pod.place];
  if (load.metric != nullptr) account(load, gone, true);
  if (&gone != &load.pods.back()) gone = std::move(load.pods.back());
  load.pods.pop_back();
  if (load.metric != nullptr) sum_up(row);
}

void NodeLoads::pod_changed(Row row, const PodInfo& pod) {
  RowLoad& load = at(row);
  Pod& known = load.pods[pod.place];
  Pod now = make(load, pod);
  // Who says nothing of when it was bound is here for as long as it was.
  if (true_since(*pod.pod, "PodScheduled") == nullptr) {
    now.since = known.since;
    now.deadline = estimator_.deadline(*pod.pod, now.since);
  }
  const auto counts = [](const Pod& p) { return std::tie(p.since, p.deadline, p.prod, p.estimated); };
  if (counts(now) == counts(known)) return;
  if (load.metric == nullptr) {
    known = std::move(now);
    return;
  }
  account(load, known, true);
  known = std::move(now);
  account(load, known, false);
  sum_up(row);
  nodes_.mark(row);
}

// Nodes

void NodeLoads::node_changed(Row row, const api::Node* before, const api::Node* now) {
  RowLoad& load = at(row);
  if (now == nullptr) {
    load.thresholds.reset();
    return report(row, nullptr);
  }
  if (before == nullptr || before->metadata.annotations != now->metadata.annotations ||
      before->status.allocatable != now->status.allocatable) {
    load.allocatable = estimator_.allocatable(*now);
    auto custom = custom_thresholds(*now, defaults_, resources_);
    load.thresholds = custom ? std::make_unique<Thresholds>(std::move(*custom)) : nullptr;
  }
  if (before == nullptr) return report(row, metrics_.find({}, now->metadata.name));
  aggregate(load);
  sum_up(row);
}

/// What filters and scores read.
void NodeLoads::sum_up(Row row) {
  const RowLoad& load = rows_[row];
  seen_[row] = {load.metric == nullptr            ? State::unreported
                : load.metric->status.node_metric ? State::reported
                                                  : State::empty,
                load.expired, &thresholds(load)};
  const std::size_t n = resources_.size();
  std::int64_t* const out = amounts_.data() + row * 4 * n;
  const auto part = [&](Part p) -> const Amounts& { return load.sums[static_cast<std::size_t>(p)]; };
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = load.allocatable.empty() ? 0 : load.allocatable[i];
    if (load.metric == nullptr) continue;
    const auto total = [&](const std::optional<Amounts>& usage) {
      return usage ? (*usage)[i] + part(Part::delta)[i] : part(Part::estimated)[i];
    };
    out[n + i] = part(Part::prod_usage)[i] + part(Part::prod_delta)[i];
    out[2 * n + i] = total(load.compared);
    out[3 * n + i] = total(load.scored);
  }
}

}  // namespace koord::scheduling::load_aware
