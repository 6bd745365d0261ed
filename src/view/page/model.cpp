// Model: rows of nodes, and their JSON; see model.hpp.
#include "view/page/model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "koord/api/figures/cluster_figures.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/json/writer.hpp"

namespace koord::view {

namespace {

constexpr std::size_t kPodsShown = 512;

double tenths(double amount) { return std::round(amount * 10) / 10; }
std::int64_t permille(double part, double whole) {
  return whole > 0 ? std::llround(std::clamp(part / whole, 0.0, 9.999) * 1000) : 0;
}

std::string_view tier_of(std::string_view priority) {
  switch (api::parse_koord_priority(priority)) {
    case api::KoordPriority::prod: return kTiers[0];
    case api::KoordPriority::mid: return kTiers[1];
    case api::KoordPriority::batch: return kTiers[2];
    case api::KoordPriority::free: return kTiers[3];
    case api::KoordPriority::none: break;
  }
  return kTiers[4];
}

void write(json::Writer& json, std::string_view key, const figures::Amount& amount) {
  json.key(key).begin_array().value(tenths(amount.cpu_cores)).value(amount.memory_bytes).end_array();
}

}  // namespace

void Model::set_node(const std::shared_ptr<const api::Node>& node, const api::NodeMetric* metric,
                     MonoTime at) {
  figures::ClusterFigures figures;
  figures.add(*node);
  if (metric != nullptr) figures.add(*metric);
  Row& row = rows_[node->metadata.name];
  figures::NodeRow made = std::move(figures.view("", {}).nodes.front());
  made.asked = row.figures.asked;
  made.over_asked = row.figures.over_asked;
  const bool news = metric != nullptr && made.reported && made.reported != row.figures.reported;
  row.node = node;
  row.figures = std::move(made);
  if (news) remember(row, *metric, at);
  gone_.erase(node->metadata.name);
  changed_.insert(node->metadata.name);
}

void Model::remember(Row& row, const api::NodeMetric& metric, MonoTime at) const {
  Usage usage;
  for (const figures::TierRow& tier : row.figures.tiers) {
    const std::size_t place = tier_index(tier.name);
    usage.cpu[place] = tier.used.cpu_cores;
    usage.memory[place] = static_cast<double>(tier.used.memory_bytes);
  }
  usage.lent_cpu = row.figures.lent.cpu_cores;
  std::vector<PodUsage> pods;
  pods.reserve(metric.status.pods_metric.size());
  for (const api::PodMetricInfo& pod : metric.status.pods_metric) {
    const api::Quantity* cpu = pod.pod_usage.resources.find("cpu");
    std::string name(pod.namespace_.view());
    name.append("/").append(pod.name);
    pods.push_back({std::move(name), tier_index(tier_of(pod.priority.view())), cpu ? cpu->to_double() : 0});
  }
  row.history.add(at, usage, pods);
}

void Model::remove_node(const std::string& name) {
  if (rows_.erase(name) == 0) return;
  changed_.erase(name);
  gone_.insert(name);
}

void Model::set_pods(const api::Node& node, const Pods& pods) {
  const auto found = rows_.find(node.metadata.name);
  if (found == rows_.end()) return;
  figures::ClusterFigures figures;
  figures.add(node);
  for (const auto& pod : pods) figures.add(*pod);
  const figures::NodeRow made = std::move(figures.view("", {}).nodes.front());
  figures::NodeRow& row = found->second.figures;
  if (row.asked.cpu_cores == made.asked.cpu_cores && row.asked.memory_bytes == made.asked.memory_bytes &&
      row.over_asked == made.over_asked)
    return;
  row.asked = made.asked;
  row.over_asked = made.over_asked;
  changed_.insert(node.metadata.name);
}

Model::Pressure Model::pressure(const Row& row) {
  for (const api::NodeCondition& condition : row.node->status.conditions)
    for (const std::string_view known : {"MemoryPressure", "DiskPressure", "PIDPressure"})
      if (condition.type == known && condition.status == "True") return {1, known};
  const figures::NodeRow& n = row.figures;
  if (n.over_asked) return {1, "batch pods ask for more than is lent"};
  const double cpu = n.capacity.cpu_cores > 0 ? n.used.cpu_cores / n.capacity.cpu_cores : 0;
  const double memory = n.capacity.memory_bytes > 0 ? static_cast<double>(n.used.memory_bytes) /
                                                          static_cast<double>(n.capacity.memory_bytes)
                                                    : 0;
  return cpu >= memory ? Pressure{cpu, "CPU"} : Pressure{memory, "memory"};
}

std::string Model::state(const Row& row, api::Time now) {
  constexpr std::chrono::minutes kOld{3};  // agents report once a minute
  const figures::NodeRow& n = row.figures;
  if (n.ready && n.reported && now.at - n.reported->at > kOld) return "old report";
  if (n.ready && n.reported) return n.cordoned ? "cordoned" : "ready";
  return n.state;
}

std::string Model::frame(api::Time now, std::size_t waiting, bool all) const {
  std::string out;
  json::Writer json(out);
  figures::Amount capacity, used, lent, asked;
  std::array<double, kTiers.size()> tiers{};
  std::size_t ready = 0;
  const auto add = [](figures::Amount& sum, const figures::Amount& one) {
    sum.cpu_cores += one.cpu_cores;
    sum.memory_bytes = static_cast<std::int64_t>(
        std::min(static_cast<double>(sum.memory_bytes) + static_cast<double>(one.memory_bytes), 9e18));
  };
  for (const auto& [name, row] : rows_) {
    ready += row.figures.ready;
    if (row.figures.reported) add(capacity, row.figures.capacity);
    add(used, row.figures.used);
    add(lent, row.figures.lent);
    add(asked, row.figures.asked);
    for (const figures::TierRow& tier : row.figures.tiers)
      tiers[tier_index(tier.name)] += tier.used.cpu_cores;
  }
  json.begin_object().member("whole", all).member("time", now.to_string());
  json.member("nodes", rows_.size()).member("ready", ready).member("waiting", waiting);
  write(json, "capacity", capacity);
  write(json, "used", used);
  write(json, "lent", lent);
  write(json, "asked", asked);
  json.key("tiers").begin_array();
  for (const double each : tiers) json.value(tenths(each));
  json.end_array().key("rows").begin_array();
  const auto add_row = [&](const std::string& name, const Row& row) {
    const figures::NodeRow& n = row.figures;
    const Pressure p = pressure(row);
    json.begin_array().value(name).value(permille(n.used.cpu_cores, n.capacity.cpu_cores));
    json.value(
        permille(static_cast<double>(n.used.memory_bytes), static_cast<double>(n.capacity.memory_bytes)));
    json.value(tenths(n.lent.cpu_cores)).value(tenths(n.asked.cpu_cores)).value(tenths(n.capacity.cpu_cores));
    json.value(std::llround(std::clamp(p.share, 0.0, 1.0) * 1000))
        .value(p.cause)
        .value(row.shown_state)
        .end_array();
  };
  if (all) {
    for (const auto& [name, row] : rows_) add_row(name, row);
  } else {
    for (const std::string& name : changed_)
      if (const auto found = rows_.find(name); found != rows_.end()) add_row(name, found->second);
  }
  json.end_array().key("gone").begin_array();
  if (!all)
    for (const std::string& name : gone_) json.value(name);
  json.end_array().end_object();
  return out;
}

std::string Model::whole(api::Time now, std::size_t waiting) {
  look_at_states(now);
  return frame(now, waiting, true);
}

void Model::look_at_states(api::Time now) {
  for (auto& [name, row] : rows_) {
    std::string word = state(row, now);
    if (word == row.shown_state) continue;
    row.shown_state = std::move(word);
    changed_.insert(name);
  }
}

std::string Model::delta(api::Time now, std::size_t waiting) {
  look_at_states(now);
  std::string out = frame(now, waiting, false);
  forget_changes();
  return out;
}

void Model::forget_changes() {
  changed_.clear();
  gone_.clear();
}

std::string Model::node(const std::string& name, api::Time now, MonoTime at, const Pods& pods) const {
  const auto found = rows_.find(name);
  if (found == rows_.end()) return {};
  const Row& row = found->second;
  std::string out;
  json::Writer json(out);
  json.begin_object().member("name", name).member("state", state(row, now));
  const Pressure p = pressure(row);
  json.member("pressure", p.share).member("cause", p.cause);
  json.key("figures").raw(api::encode(row.figures));
  json.key("history").begin_object();
  row.history.write(json, at);
  json.end_object().key("tiers").begin_array();
  for (const std::string_view tier : kTiers) json.value(tier);
  json.end_array()
      .member("more_pods", pods.size() - std::min(pods.size(), kPodsShown))
      .key("pods")
      .begin_array();
  for (const auto& pod : std::span(pods).first(std::min(pods.size(), kPodsShown))) {
    json.begin_object()
        .member("namespace", pod->metadata.namespace_.view())
        .member("name", pod->metadata.name);
    const api::KoordPriority priority = api::koord_priority(*pod);
    json.member("tier", tier_of(api::to_string(priority)))
        .member("phase", pod->status.phase.view())
        .end_object();
  }
  json.end_array().end_object();
  return out;
}

}  // namespace koord::view
