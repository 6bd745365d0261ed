// add_outlook(): see outlook.hpp.
#include "passes/outlook.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>

#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"

namespace koord::descheduler {
namespace {

constexpr std::array<std::string_view, 2> kResources = {"cpu", "memory"};
/// Of each of kResources: millicores, bytes.
using Amounts = std::array<std::int64_t, 2>;

Amounts amounts(const api::ResourceList& all) {
  Amounts made{};
  if (const api::Quantity* cpu = all.find("cpu")) made[0] = cpu->milli_value();
  if (const api::Quantity* memory = all.find("memory")) made[1] = memory->value();
  return made;
}

bool has_ended(const api::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

/// What a node's pods ask for and use.
struct Load {
  std::int64_t pods = 0;
  Amounts requested{}, used{};

  void add(const Load& more, std::int64_t sign) {
    pods += sign * more.pods;
    for (std::size_t r = 0; r < kResources.size(); ++r) {
      requested[r] += sign * more.requested[r];
      used[r] += sign * more.used[r];
    }
  }
};

bool is_measured(const NodeView& node) { return node.metric && node.metric->status.node_metric; }

Load load_of(const api::Pod& pod, const NodeView* node) {
  Load load{.pods = 1, .requested = amounts(api::pod_requests(pod)), .used = {}};
  if (node == nullptr || !node->metric) return load;
  for (const api::PodMetricInfo& each : node->metric->status.pods_metric)
    if (each.name == pod.metadata.name && each.namespace_ == pod.metadata.namespace_)
      load.used = amounts(each.pod_usage.resources);
  return load;
}

Load load_of(const NodeView& node) {
  Load load;
  for (const PodPtr& pod : node.pods)
    if (!has_ended(*pod)) load.add(load_of(*pod, nullptr), 1);
  if (is_measured(node)) load.used = amounts(node.metric->status.node_metric->node_usage.resources);
  return load;
}

/// Percent with one digit behind the point.
std::optional<double> share(std::int64_t amount, std::int64_t of) {
  if (of <= 0) return std::nullopt;
  return std::round(1000.0 * static_cast<double>(amount) / static_cast<double>(of)) / 10;
}

ReportedNode reported(const NodeView& node, const Load& change) {
  const Amounts capacity = amounts(node.node->status.allocatable);
  const Load now = load_of(node);
  Load after = now;
  after.add(change, 1);
  ReportedNode made{
      .name = node.node->metadata.name, .pods = now.pods, .pods_after = after.pods, .cpu = {}, .memory = {}};
  const std::array<ReportedLoad*, 2> loads = {&made.cpu, &made.memory};
  for (std::size_t r = 0; r < loads.size(); ++r) {
    loads[r]->requested = share(now.requested[r], capacity[r]);
    loads[r]->requested_after = share(after.requested[r], capacity[r]);
    if (!is_measured(node)) continue;
    loads[r]->used = share(now.used[r], capacity[r]);
    loads[r]->used_after = share(std::max<std::int64_t>(after.used[r], 0), capacity[r]);
  }
  return made;
}

double rounded(double percent) { return std::round(10 * percent) / 10; }

ReportedSpread spread_of(std::string_view resource, const std::vector<double>& now,
                         const std::vector<double>& after) {
  ReportedSpread made{.resource = std::string(resource), .nodes = static_cast<std::int64_t>(now.size())};
  const auto mean = [](const std::vector<double>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  };
  const auto deviation = [&](const std::vector<double>& all) {
    const double middle = mean(all);
    double sum = 0;
    for (const double each : all) sum += (each - middle) * (each - middle);
    return rounded(std::sqrt(sum / static_cast<double>(all.size())));
  };
  made.mean = rounded(mean(now));
  made.highest = rounded(*std::ranges::max_element(now));
  made.highest_after = rounded(*std::ranges::max_element(after));
  made.deviation = deviation(now);
  made.deviation_after = deviation(after);
  return made;
}

}  // namespace

void add_outlook(PassReport& report, const Snapshot& snapshot, std::span<const Move> moves) {
  std::map<std::string_view, Load> changes;  // by node's name
  for (const Move& move : moves) {
    const NodeView* from = snapshot.node(move.pod->spec.node_name.view());
    const Load load = load_of(*move.pod, from);
    if (from != nullptr) changes[from->node->metadata.name].add(load, -1);
    if (move.to != nullptr) changes[move.to->node->metadata.name].add(load, 1);
  }
  std::array<std::vector<double>, 2> now, after;
  for (const NodeView& node : snapshot.nodes()) {
    const auto change = changes.find(node.node->metadata.name);
    if (change != changes.end() && report.changed.size() < PassReport::kListed)
      report.changed.push_back(reported(node, change->second));
    if (!is_measured(node)) continue;
    const Amounts used = amounts(node.metric->status.node_metric->node_usage.resources);
    const Amounts capacity = amounts(node.node->status.allocatable);
    for (std::size_t r = 0; r < kResources.size(); ++r) {
      if (capacity[r] <= 0) continue;
      const auto percent = [&](std::int64_t amount) {
        return 100.0 * static_cast<double>(std::max<std::int64_t>(amount, 0)) /
               static_cast<double>(capacity[r]);
      };
      now[r].push_back(percent(used[r]));
      after[r].push_back(percent(used[r] + (change == changes.end() ? 0 : change->second.used[r])));
    }
  }
  for (std::size_t r = 0; r < kResources.size(); ++r)
    if (!now[r].empty()) report.spread.push_back(spread_of(kResources[r], now[r], after[r]));
}

}  // namespace koord::descheduler
