// What a cluster's objects add up to: see cluster_figures.hpp.
#include "koord/api/figures/cluster_figures.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/gang.hpp"
#include "koord/api/koordinator/quota.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/pod_group.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"

namespace koord::figures {

namespace {

/// What a table of reasons may hold: whoever makes pods words them.
constexpr std::size_t kMostReasons = 1000;
constexpr std::size_t kNames = 3;
constexpr std::size_t kMostGroups = 10'000;  // quotas, gangs, reservations: of each
/// Agents report once a minute; the manager takes back what it lent after a quarter of an hour.
constexpr std::chrono::minutes kOld{3};
/// Amounts are sums of thousandths.
constexpr double kLittle = 1e-6;

/// Why the scheduler has found no node.
template <class Conditions>
std::string last_word(const Conditions& conditions, std::string_view type) {
  for (const auto& condition : conditions)
    if (condition.type == type && condition.status == "False")
      return condition.message.empty() ? condition.reason.str() : std::string(condition.message);
  return "nobody has looked at it yet";
}

std::string key(const api::ObjectMeta& meta, std::string_view name) {
  return fmt::format("{}/{}", meta.namespace_.view(), name);
}

}  // namespace

Amount ClusterFigures::Sum::amount() const {
  return {cpu, static_cast<std::int64_t>(std::clamp(memory, -9e18, 9e18))};
}

ClusterFigures::Sum ClusterFigures::sum(const api::ResourceList& list, std::string_view cpu,
                                        std::string_view memory) {
  const auto value = [&](std::string_view name) {
    const api::Quantity* found = list.find(name);
    // More is nobody's machine, and must not break sums and columns.
    return found ? std::clamp(found->to_double(), 0.0, 1e18) : 0;
  };
  return {value(cpu), value(memory)};
}

ClusterFigures::Tier ClusterFigures::tier(std::string_view priority) {
  switch (api::parse_koord_priority(priority)) {
    case api::KoordPriority::prod: return prod;
    case api::KoordPriority::mid: return mid;
    case api::KoordPriority::batch: return batch;
    case api::KoordPriority::free: return free_;
    case api::KoordPriority::none: return none;
  }
  return none;
}

void ClusterFigures::add(const api::Node& node) {
  const auto [it, added] = by_name_.emplace(node.metadata.name, nodes_.size());
  if (!added) return;  // a page that shifted
  Node& mine = nodes_.emplace_back();
  mine.name = node.metadata.name;
  mine.cordoned = node.spec.unschedulable;
  for (const api::NodeCondition& condition : node.status.conditions)
    if (condition.type == "Ready") mine.ready = condition.status == "True";
  mine.capacity = sum(node.status.capacity, "cpu", "memory");
  mine.lent = sum(node.status.allocatable, api::kBatchCpu, api::kBatchMemory);
  mine.lent.cpu /= 1000;
}

void ClusterFigures::add(const api::NodeMetric& metric) {
  const auto it = by_name_.find(metric.metadata.name);
  const api::NodeMetricStatus& status = metric.status;
  if (it == by_name_.end() || !status.update_time || !status.node_metric) return;
  Node& node = nodes_[it->second];
  if (node.reported) return;
  node.reported = status.update_time;
  node.used = sum(status.node_metric->node_usage.resources, "cpu", "memory");
  node.tiers.used[system] = sum(status.node_metric->system_usage.resources, "cpu", "memory");
  for (const api::PodMetricInfo& pod : status.pods_metric) {
    const Tier where = tier(pod.priority.view());
    node.tiers.used[where] += sum(pod.pod_usage.resources, "cpu", "memory");
    ++node.tiers.pods[where];
  }
  for (const api::HostApplicationMetricInfo& application : status.host_application_metric)
    node.tiers.used[tier(application.priority.view())] += sum(application.usage.resources, "cpu", "memory");
}

void ClusterFigures::add(const api::Pod& pod) {
  const std::string_view phase = pod.status.phase.view();
  if (phase == "Succeeded" || phase == "Failed") return;
  const bool waits = pod.spec.node_name.empty();
  std::string why = waits ? last_word(pod.status.conditions, "PodScheduled") : std::string();
  add_member(pod, why);
  if (waits) {
    if (const std::string_view quota = api::quota_name(pod.metadata);
        !quota.empty() && (quotas_named_.size() < kMostGroups || quotas_named_.contains(quota)))
      ++quotas_named_[std::string(quota)];
    return wait(std::move(why), key(pod.metadata, pod.metadata.name), pod.metadata.creation_timestamp);
  }
  const auto it = by_name_.find(std::string(pod.spec.node_name.view()));
  if (it == by_name_.end()) return;
  Sum asked = sum(api::pod_requests(pod), api::kBatchCpu, api::kBatchMemory);
  asked.cpu /= 1000;
  nodes_[it->second].asked += asked;
}

void ClusterFigures::add_member(const api::Pod& pod, const std::string& why) {
  const auto gang = api::gang_of(pod.metadata);
  if (!gang) return;
  std::string name = key(pod.metadata, gang->name.view());
  if (gangs_.size() >= kMostGroups && !gangs_.contains(name)) return;
  Gang& mine = gangs_[std::move(name)];
  ++mine.pods;
  if (gang->source != api::GangSource::pod_group && !mine.exists)
    if (const auto terms = api::gang_terms(pod.metadata); terms.min) {
      mine.exists = true;
      mine.min = terms.min;
    }
  if (!pod.spec.node_name.empty()) {
    ++mine.placed;
    return;
  }
  ++mine.waiting;
  if (mine.why.empty()) mine.why = why;
  if (!mine.since || pod.metadata.creation_timestamp < *mine.since)
    mine.since = pod.metadata.creation_timestamp;
}

void ClusterFigures::add(const api::PodGroup& group) {
  std::string name = key(group.metadata, group.metadata.name);
  if (gangs_.size() >= kMostGroups && !gangs_.contains(name)) return;
  Gang& mine = gangs_[std::move(name)];
  mine.exists = true;
  mine.min = group.spec.min_member;
  mine.ended = group.status.phase == "Finished" || group.status.phase == "Failed";
}

void ClusterFigures::add(const api::Reservation& reservation) {
  const api::ReservationStatus& status = reservation.status;
  const std::string_view phase = status.phase.view();
  if (phase == "Succeeded" || phase == "Failed") return;
  const bool waits = status.node_name.empty() && (phase.empty() || phase == "Pending");
  std::string why = waits ? last_word(status.conditions, "Scheduled") : std::string();
  if (reservations_.size() < kMostGroups)
    reservations_.push_back({.name = reservation.metadata.name,
                             .phase = phase.empty() ? "Pending" : std::string(phase),
                             .node = status.node_name.str(),
                             .created = reservation.metadata.creation_timestamp,
                             .reserved = sum(status.allocatable, "cpu", "memory").amount(),
                             .used = sum(status.allocated, "cpu", "memory").amount(),
                             .owners = static_cast<std::int64_t>(status.current_owners.size()),
                             .why = why});
  if (!waits) return;
  ++waiting_reservations_;
  wait(std::move(why), fmt::format("reservation {}", reservation.metadata.name),
       reservation.metadata.creation_timestamp);
}

void ClusterFigures::add(const api::ElasticQuota& quota) {
  const api::ObjectMeta& meta = quota.metadata;
  if (meta.name == api::kRootQuota || quotas_.size() >= kMostGroups) return;
  const auto said = [&](std::string_view annotation) {
    auto read = api::read_annotation<api::AnnotatedResources>(meta.annotations, annotation);
    return read && *read ? sum((*read)->resources, "cpu", "memory") : Sum();
  };
  const api::QuotaTerms terms = api::quota_terms(quota);
  Quota& mine = quotas_.emplace_back();
  mine.name = meta.name;
  mine.parent = terms.parent == api::kRootQuota ? "" : terms.parent;
  mine.min = sum(quota.spec.min, "cpu", "memory");
  mine.used = sum(quota.status.used, "cpu", "memory");
  mine.runtime = said(api::kQuotaRuntime);
  mine.request = said(api::kQuotaRequest);
  mine.lends = terms.lends;
}

void ClusterFigures::wait(std::string why, std::string name, const api::Time& since) {
  ++wait_;
  // The scheduler's words, which are Koordinator's.
  constexpr std::string_view kRefused = "quotas, quotaName: ";
  if (const auto at = why.find(kRefused); at != std::string::npos) {
    const std::size_t begin = at + kRefused.size();
    std::string quota = why.substr(begin, why.find(',', begin) - begin);
    if (quota_waiters_.size() < kMostGroups || quota_waiters_.contains(quota))
      ++quota_waiters_[std::move(quota)];
  }
  if (waiting_.size() >= kMostReasons && !waiting_.contains(why)) {
    ++unlisted_;
    return;
  }
  Reason& reason = waiting_[std::move(why)];
  ++reason.pods;
  if (reason.names.size() < kNames) reason.names.push_back(std::move(name));
  if (!reason.oldest || since < *reason.oldest) reason.oldest = since;
}

std::string ClusterFigures::state(const Node& node, api::Time now) {
  if (!node.ready) return "NotReady";
  if (!node.reported) return "no report";
  if (const auto old = now.at - node.reported->at; old > kOld) return fmt::format("{} old", age(old));
  return node.cordoned ? "cordoned" : "ready";
}

std::vector<TierRow> ClusterFigures::Tiers::rows(bool all) const {
  static constexpr std::array<std::string_view, kTiers> kTierNames = {
      "koord-prod", "koord-mid", "koord-batch", "koord-free", "none", "system"};
  std::vector<TierRow> rows;
  for (std::size_t i = 0; i < kTiers; ++i) {
    const bool always = all && (i == prod || i == batch || i == system);
    if (always || pods[i] > 0 || used[i].cpu > 0)
      rows.push_back({std::string(kTierNames[i]), pods[i], used[i].amount()});
  }
  return rows;
}

NodeRow ClusterFigures::row(const Node& node, api::Time now) {
  return {
      .name = node.name,
      .state = state(node, now),
      .ready = node.ready,
      .cordoned = node.cordoned,
      .reported = node.reported,
      .capacity = node.capacity.amount(),
      .used = node.used.amount(),
      .lent = node.lent.amount(),
      .asked = node.asked.amount(),
      .over_asked = node.asked.cpu > node.lent.cpu + kLittle || node.asked.memory > node.lent.memory + 0.5,
      .tiers = node.tiers.rows(false)};
}

/// Whom pods wait for, then who has borrowed most.
void ClusterFigures::add_quotas(ClusterView& view) const {
  for (const Quota& quota : quotas_) {
    const auto found = quota_waiters_.find(quota.name);
    QuotaRow& row = view.quotas.emplace_back();
    row = {.name = quota.name,
           .parent = quota.parent,
           .min = quota.min.amount(),
           .used = quota.used.amount(),
           .requested = quota.request.amount(),
           .may_use = {},
           .lent_cpu_cores =
               quota.lends ? std::max(0.0, quota.min.cpu - std::max(quota.request.cpu, quota.used.cpu)) : 0,
           .borrowed_cpu_cores = std::max(0.0, quota.used.cpu - quota.min.cpu),
           .waiting = found != quota_waiters_.end() ? found->second : 0};
    // Of those that share with nobody nothing is written.
    if (quota.runtime.cpu > 0 || quota.runtime.memory > 0) row.may_use.ensure() = quota.runtime.amount();
  }
  std::ranges::sort(view.quotas, [](const QuotaRow& a, const QuotaRow& b) {
    if (a.waiting != b.waiting) return a.waiting > b.waiting;
    if (a.borrowed_cpu_cores != b.borrowed_cpu_cores) return a.borrowed_cpu_cores > b.borrowed_cpu_cores;
    if (a.used.cpu_cores != b.used.cpu_cores) return a.used.cpu_cores > b.used.cpu_cores;
    return a.name < b.name;
  });
  if (!knows_quotas_) return;
  for (const auto& [name, pods] : quotas_named_)
    if (name != api::kRootQuota &&
        std::ranges::none_of(quotas_, [&name](const Quota& quota) { return quota.name == name; }))
      view.missing.push_back({"quota", name, pods});
}

void ClusterFigures::add_gangs(ClusterView& view) const {
  for (const auto& [name, gang] : gangs_) {
    std::string state = "complete";
    if (!gang.exists)
      state = knows_groups_ ? "does not exist" : "nobody says how many";
    else if (gang.ended || (gang.pods == 0 && gang.min.value_or(0) == 0))
      state = "ended";
    else if (gang.pods < gang.min.value_or(0))
      state = "short";
    else if (gang.waiting > 0)
      state = "waiting";
    view.gangs.push_back({.name = name,
                          .state = state,
                          .min = gang.min,
                          .pods = gang.pods,
                          .placed = gang.placed,
                          .waiting = gang.waiting,
                          .since = gang.since,
                          .why = gang.why});
    if (!gang.exists && knows_groups_ && gang.waiting > 0)
      view.missing.push_back({"gang", name, gang.waiting});
  }
  std::ranges::stable_sort(view.gangs,
                           [](const GangRow& a, const GangRow& b) { return a.waiting > b.waiting; });
}

void ClusterFigures::add_waiting(ClusterView& view) const {
  for (const auto& [why, reason] : waiting_)
    view.waiting.push_back({why, reason.pods, reason.names, *reason.oldest});
  std::ranges::stable_sort(view.waiting, [](const WaitRow& a, const WaitRow& b) { return a.pods > b.pods; });
  view.more_waiting = unlisted_;
}

ClusterView ClusterFigures::view(std::string_view server, api::Time now) const {
  ClusterView view;
  view.server = server;
  view.time = now;
  view.waiting_pods = wait_ - waiting_reservations_;
  view.waiting_reservations = waiting_reservations_;
  view.notes = notes_;
  Sum capacity, unknown, used, lent, asked, batch_used;
  Tiers tiers;
  for (const Node& node : nodes_) {
    view.ready += node.ready;
    view.reporting += node.reported && now.at - node.reported->at <= kOld;
    view.silent += !node.reported;
    view.lending += node.lent.cpu > 0;
    (node.reported ? capacity : unknown) += node.capacity;
    used += node.used;
    lent += node.lent;
    asked += node.asked;
    batch_used += node.tiers.used[batch];
    for (std::size_t i = 0; i < kTiers; ++i) {
      tiers.used[i] += node.tiers.used[i];
      tiers.pods[i] += node.tiers.pods[i];
    }
    view.nodes.push_back(row(node, now));
    view.over_asked += view.nodes.back().over_asked;
  }
  std::ranges::sort(view.nodes, {}, &NodeRow::name);
  view.capacity = capacity.amount();
  view.unknown = unknown.amount();
  view.used = used.amount();
  view.lent = lent.amount();
  view.asked = asked.amount();
  view.batch_used = batch_used.amount();
  view.tiers = tiers.rows(true);
  add_quotas(view);
  add_gangs(view);
  view.reservations = reservations_;
  std::ranges::sort(view.reservations, {}, &ReservationRow::name);
  add_waiting(view);
  return view;
}

}  // namespace koord::figures
