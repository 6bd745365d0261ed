// The figures of a cluster and how they are drawn: see cluster.hpp.
#include "top/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "koord/api/koordinator/quota.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "top/cells.hpp"

namespace koord::koordlet {

namespace {

/// What a table of reasons may hold: whoever makes pods words them.
constexpr std::size_t kMostReasons = 1000;
constexpr std::size_t kNames = 3;
/// Shown of the reasons while there are nodes to be shown, too.
constexpr std::size_t kReasonsBesideNodes = 5;
/// The same of quotas, of which so many are kept.
constexpr std::size_t kQuotasBesideNodes = 8, kMostQuotas = 10'000;
/// Agents report once a minute; the manager takes back what it lent after a quarter of an hour.
constexpr std::chrono::minutes kOld{3};
/// What the columns behind a node's name take.
constexpr std::size_t kBehindName = 62;
/// The same of a quota's.
constexpr std::size_t kBehindQuota = 63;

std::string age(std::chrono::seconds seconds) {
  const std::int64_t count = std::max<std::int64_t>(seconds.count(), 0);
  if (count < 120) return fmt::format("{}s", count);
  if (count < 7'200) return fmt::format("{}m", count / 60);
  return count < 172'800 ? fmt::format("{}h", count / 3'600) : fmt::format("{}d", count / 86'400);
}

std::string of(double part, double whole) { return whole > 0 ? percent(part / whole) : std::string(kNone); }

std::string size(double amount) { return bytes(static_cast<std::int64_t>(std::min(amount, 9e18))); }

std::string one_decimal(double amount) { return fmt::format("{:.1f}", amount); }

/// Why the scheduler has found no node.
template <class Conditions>
std::string last_word(const Conditions& conditions, std::string_view type) {
  for (const auto& condition : conditions)
    if (condition.type == type && condition.status == "False")
      return condition.message.empty() ? condition.reason.str() : std::string(condition.message);
  return "nobody has looked at it yet";
}

}  // namespace

std::optional<ClusterOrder> parse_cluster_order(std::string_view text) {
  if (text == "cpu") return ClusterOrder::cpu;
  if (text == "batch") return ClusterOrder::batch;
  if (text == "name") return ClusterOrder::name;
  return std::nullopt;
}

ClusterFigures::Amount ClusterFigures::amount(const api::ResourceList& list, std::string_view cpu,
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
  mine.capacity = amount(node.status.capacity, "cpu", "memory");
  mine.lent = amount(node.status.allocatable, api::kBatchCpu, api::kBatchMemory);
  mine.lent.cpu /= 1000;
}

void ClusterFigures::add(const api::NodeMetric& metric) {
  const auto it = by_name_.find(metric.metadata.name);
  const api::NodeMetricStatus& status = metric.status;
  if (it == by_name_.end() || !status.update_time || !status.node_metric) return;
  Node& node = nodes_[it->second];
  if (node.reported) return;
  node.reported = status.update_time;
  node.used = amount(status.node_metric->node_usage.resources, "cpu", "memory");
  node.by_tier[system] = amount(status.node_metric->system_usage.resources, "cpu", "memory");
  for (const api::PodMetricInfo& pod : status.pods_metric) {
    const Tier where = tier(pod.priority.view());
    node.by_tier[where] += amount(pod.pod_usage.resources, "cpu", "memory");
    ++pods_[where];
  }
  for (const api::HostApplicationMetricInfo& application : status.host_application_metric)
    node.by_tier[tier(application.priority.view())] += amount(application.usage.resources, "cpu", "memory");
}

void ClusterFigures::add(const api::Pod& pod) {
  const std::string_view phase = pod.status.phase.view();
  if (phase == "Succeeded" || phase == "Failed") return;
  if (pod.spec.node_name.empty())
    return wait(last_word(pod.status.conditions, "PodScheduled"),
                fmt::format("{}/{}", pod.metadata.namespace_.view(), pod.metadata.name),
                pod.metadata.creation_timestamp);
  const auto it = by_name_.find(std::string(pod.spec.node_name.view()));
  if (it == by_name_.end()) return;
  Amount asked = amount(api::pod_requests(pod), api::kBatchCpu, api::kBatchMemory);
  asked.cpu /= 1000;
  nodes_[it->second].asked += asked;
}

void ClusterFigures::add(const api::Reservation& reservation) {
  const api::ReservationStatus& status = reservation.status;
  if (!status.node_name.empty() || (!status.phase.empty() && status.phase != "Pending")) return;
  ++reservations_;
  wait(last_word(status.conditions, "Scheduled"), fmt::format("reservation {}", reservation.metadata.name),
       reservation.metadata.creation_timestamp);
}

void ClusterFigures::add(const api::ElasticQuota& quota) {
  const api::ObjectMeta& meta = quota.metadata;
  if (meta.name == api::kRootQuota || quotas_.size() >= kMostQuotas) return;
  const auto said = [&](std::string_view annotation) {
    auto read = api::read_annotation<api::AnnotatedResources>(meta.annotations, annotation);
    return read && *read ? amount((*read)->resources, "cpu", "memory") : Amount();
  };
  Quota& mine = quotas_.emplace_back();
  mine.name = meta.name;
  mine.min = amount(quota.spec.min, "cpu", "memory");
  mine.used = amount(quota.status.used, "cpu", "memory");
  mine.runtime = said(api::kQuotaRuntime);
  mine.request = said(api::kQuotaRequest);
  mine.lends = api::quota_terms(quota).lends;
}

void ClusterFigures::wait(std::string why, std::string name, const api::Time& since) {
  ++wait_;
  // The scheduler's words, which are Koordinator's.
  constexpr std::string_view kRefused = "quotas, quotaName: ";
  if (const auto at = why.find(kRefused); at != std::string::npos) {
    const std::size_t begin = at + kRefused.size();
    std::string quota = why.substr(begin, why.find(',', begin) - begin);
    if (quota_waiters_.size() < kMostQuotas || quota_waiters_.contains(quota))
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

void ClusterFigures::add_head(std::string& out, std::string_view server, api::Time now,
                              std::size_t width) const {
  std::size_t ready = 0, reporting = 0, silent = 0;
  Amount capacity, unknown, used, lent, asked, batch_used;
  for (const Node& node : nodes_) {
    ready += node.ready;
    reporting += node.reported && now.at - node.reported->at <= kOld;
    silent += !node.reported;
    (node.reported ? capacity : unknown) += node.capacity;
    used += node.used;
    lent += node.lent;
    asked += node.asked;
    batch_used += node.by_tier[batch];
  }
  const auto line = [&](const std::string& text) { out += fmt::format("{}\n", clean(text, width)); };
  line(fmt::format("{}  {}  {} nodes: {} ready, {} report; {} pods{} wait", server, now.to_string(),
                   nodes_.size(), ready, reporting, wait_ - reservations_,
                   reservations_ > 0 ? fmt::format(" and {} reservations", reservations_) : ""));
  line(fmt::format("CPU {} of {} cores used ({}), memory {} of {} ({})", one_decimal(used.cpu),
                   one_decimal(capacity.cpu), of(used.cpu, capacity.cpu), size(used.memory),
                   size(capacity.memory), of(used.memory, capacity.memory)));
  if (silent > 0)
    line(fmt::format("not counted, because {} never reported: {} cores, memory {}",
                     silent == 1 ? "1 node" : fmt::format("{} nodes", silent), one_decimal(unknown.cpu),
                     size(unknown.memory)));
  line(
      fmt::format("lent to batch work: CPU {} cores, {} asked for, {} used; memory {}, {} asked for, {} used",
                  one_decimal(lent.cpu), one_decimal(asked.cpu), one_decimal(batch_used.cpu),
                  size(lent.memory), size(asked.memory), size(batch_used.memory)));
}

void ClusterFigures::add_tiers(std::string& out, std::size_t width) const {
  static constexpr std::array<std::string_view, kTiers> kTierNames = {
      "koord-prod", "koord-mid", "koord-batch", "koord-free", "no class", "system"};
  Amount capacity;
  for (const Node& node : nodes_)
    if (node.reported) capacity += node.capacity;
  out += fmt::format("\n{:<12} {:>7} {:>9} {:>5} {:>8} {:>5}\n", "TIER", "PODS", "CPU", "", "MEM", "");
  for (std::size_t i = 0; i < kTiers; ++i) {
    Amount sum;
    for (const Node& node : nodes_) sum += node.by_tier[i];
    if (i != prod && i != batch && i != system && pods_[i] == 0 && sum.cpu == 0) continue;
    const std::string pods = i == system ? std::string(kNone) : std::to_string(pods_[i]);
    out += fmt::format("{}\n", clean(fmt::format("{:<12} {:>7} {:>9} {:>5} {:>8} {:>5}", kTierNames[i], pods,
                                                 one_decimal(sum.cpu), of(sum.cpu, capacity.cpu),
                                                 size(sum.memory), of(sum.memory, capacity.memory)),
                                     width));
  }
}

void ClusterFigures::add_waiting(std::string& out, api::Time now, std::size_t width, std::size_t most) const {
  if (wait_ == 0) return;
  out += fmt::format("\n{:>6} {:>5}  {}\n", "WAIT", "SINCE", "WHY, AND FOR EXAMPLE WHO");
  std::vector<const std::pair<const std::string, Reason>*> order;
  order.reserve(waiting_.size());
  for (const auto& entry : waiting_) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->second.pods > b->second.pods; });
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) {
    const auto& [why, reason] = *order[i];
    std::string names;
    for (const std::string& name : reason.names)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    out += fmt::format(
        "{}\n",
        clean(fmt::format("{:>6} {:>5}  {}", reason.pods, age(now.at - reason.oldest->at), why), width));
    out += fmt::format(
        "{}\n",
        clean(fmt::format("{:>14}{}{}", "", names, reason.pods > reason.names.size() ? ", ..." : ""), width));
  }
  std::size_t more = unlisted_;
  for (std::size_t i = most; i < order.size(); ++i) more += order[i]->second.pods;
  if (more > 0) out += fmt::format("... and {} more for other reasons\n", more);
}

/// Whom pods wait for, then who has borrowed most.
void ClusterFigures::add_quotas(std::string& out, std::size_t width, std::size_t most) const {
  if (quotas_.empty()) return;
  struct Row {
    const Quota* quota;
    std::size_t waiters;
  };
  std::vector<Row> rows;
  for (const Quota& quota : quotas_) {
    const auto found = quota_waiters_.find(quota.name);
    rows.push_back({&quota, found != quota_waiters_.end() ? found->second : 0});
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    if (a.waiters != b.waiters) return a.waiters > b.waiters;
    if (a.quota->borrowed() != b.quota->borrowed()) return a.quota->borrowed() > b.quota->borrowed();
    if (a.quota->used.cpu != b.quota->used.cpu) return a.quota->used.cpu > b.quota->used.cpu;
    return a.quota->name < b.quota->name;
  });
  const std::size_t name_width = std::min<std::size_t>(width - kBehindQuota, 40);
  out += fmt::format("\n{:<{}} {:>7} {:>7} {:>7} {:>7} {:>7} {:>15} {:>6}\n", "QUOTA (CPU)", name_width,
                     "MIN", "USED", "MAY USE", "LENT", "BORROWS", "MEMORY/MAY USE", "WAIT");
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const Quota& q = *rows[i].quota;
    // Of those that share with nobody nothing is written.
    const bool shares = q.runtime.cpu > 0 || q.runtime.memory > 0;
    out += fmt::format(
        "{}\n",
        clean(fmt::format("{:<{}} {:>7} {:>7} {:>7} {:>7} {:>7} {:>15} {:>6}", clean(q.name, name_width),
                          name_width, one_decimal(q.min.cpu), one_decimal(q.used.cpu),
                          shares ? one_decimal(q.runtime.cpu) : std::string(kNone), one_decimal(q.lent()),
                          one_decimal(q.borrowed()),
                          fmt::format("{}/{}", size(q.used.memory),
                                      shares ? size(q.runtime.memory) : std::string(kNone)),
                          rows[i].waiters),
              name_width + kBehindQuota));
  }
  if (rows.size() > most) out += fmt::format("... and {} more quotas\n", rows.size() - most);
}

std::string ClusterFigures::render(std::string_view server, api::Time now, const ClusterPage& page,
                                   std::size_t width, std::size_t height) const {
  width = std::max(width, kLeastWidth);
  const std::size_t name_width = std::min<std::size_t>(width - kBehindName, 60);
  std::string out;
  add_head(out, server, now, width);
  add_tiers(out, width);
  add_quotas(out, width, height > 0 ? kQuotasBesideNodes : kMostQuotas);
  add_waiting(out, now, width, height > 0 ? kReasonsBesideNodes : kMostReasons);
  out += fmt::format("\n{:<{}} {:>5} {:>5} {:>7} {:>7} {:>11} {:>11} {:>9}\n", "NODE", name_width, "CPU",
                     "MEM", "PROD", "BATCH", "ASKED/LENT", "MEMORY", "STATE");

  std::vector<std::size_t> order(nodes_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto weight = [&](const Node& node) {
    if (page.order == ClusterOrder::batch) return node.lent.cpu;
    return node.capacity.cpu > 0 ? node.used.cpu / node.capacity.cpu : 0;
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Node &left = nodes_[a], &right = nodes_[b];
    if (page.order != ClusterOrder::name && weight(left) != weight(right))
      return weight(left) > weight(right);
    return left.name < right.name;
  });
  const auto used = static_cast<std::size_t>(std::count(out.begin(), out.end(), '\n'));
  const std::size_t fit = std::max<std::size_t>(lines_that_fit(order.size(), used, height), 1);
  const std::size_t rows = page.rows > 0 ? page.rows : fit;
  const std::size_t pages = std::max<std::size_t>((order.size() + rows - 1) / rows, 1);
  const std::size_t number = std::clamp<std::size_t>(page.number, 1, pages);
  const std::size_t first = (number - 1) * rows, end = std::min(first + rows, order.size());
  for (std::size_t i = first; i < end; ++i) {
    const Node& node = nodes_[order[i]];
    const bool known = node.reported.has_value();
    const auto cpu = [&](Tier where) {
      return known ? one_decimal(node.by_tier[where].cpu) : std::string(kNone);
    };
    out += fmt::format(
        "{}\n",
        clean(fmt::format("{:<{}} {:>5} {:>5} {:>7} {:>7} {:>11} {:>11} {:>9}", clean(node.name, name_width),
                          name_width, known ? of(node.used.cpu, node.capacity.cpu) : cpu(prod),
                          known ? of(node.used.memory, node.capacity.memory) : cpu(prod), cpu(prod),
                          cpu(batch), fmt::format("{:.1f}/{:.1f}", node.asked.cpu, node.lent.cpu),
                          fmt::format("{}/{}", size(node.asked.memory), size(node.lent.memory)),
                          state(node, now)),
              name_width + kBehindName));
  }
  if (pages > 1)
    out += fmt::format("page {} of {}: {} nodes (--page, --rows, --sort=cpu|batch|name)\n", number, pages,
                       order.size());
  return out;
}

}  // namespace koord::koordlet
