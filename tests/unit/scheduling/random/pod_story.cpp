// What happens in the story of one plugin: see pod_story.hpp.
#include "random/pod_story.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/koordinator/scheduling.hpp"
#include "support/reference/matching.hpp"

namespace koord::scheduling::test {

namespace {

constexpr int kNodes = 4, kProbes = 10, kAskedEachStep = 3;
constexpr std::size_t kTold = 12, kMostPods = 24, kMostWaiting = 5;

}  // namespace

KubeSchedulerConfiguration config_of_plugin(const reference::Config& oracle, const std::string& plugin,
                                            std::string args) {
  KubeSchedulerConfiguration config;
  ProfileConfig& profile = config.profiles.emplace_back();
  Plugins& plugins = profile.plugins.ensure();
  plugins.multi_point.disabled = {{"*", {}}};
  plugins.queue_sort.enabled = {{"PrioritySort", {}}};
  for (const std::string& name : oracle.filters) plugins.filter.enabled.push_back({name, {}});
  plugins.pre_filter.enabled = {{plugin, {}}};
  for (const auto& [name, weight] : oracle.scores) {
    plugins.score.enabled.push_back({name, static_cast<std::int32_t>(weight)});
    plugins.pre_score.enabled.push_back({name, {}});
  }
  plugins.reserve.enabled = {{plugin, {}}};
  plugins.pre_bind.enabled = {{plugin, {}}, {"DefaultPreBind", {}}};
  plugins.bind.enabled = {{"DefaultBinder", {}}};
  profile.plugin_config.push_back({plugin, api::RawJson{std::move(args)}, nullptr});
  return config;
}

std::string scoring_strategy(bool most, const std::map<std::string, std::int64_t>& weights) {
  std::string resources;
  for (const auto& [name, weight] : weights)
    resources += fmt::format(R"({}{{"name":"{}","weight":{}}})", resources.empty() ? "" : ",", name, weight);
  return fmt::format(R"({{"type":"{}","resources":[{}]}})", most ? "MostAllocated" : "LeastAllocated",
                     resources);
}

PodStory::PodStory(unsigned seed, EngineOptions options, reference::Config oracle,
                   KubeSchedulerConfiguration config, std::string plugin, FeatureGates gates)
    : oracle_(std::move(oracle)),
      seed_(seed),
      options_(std::move(options)),
      config_(std::move(config)),
      gates_(std::move(gates)),
      plugin_(std::move(plugin)) {}

void PodStory::begin() {
  start();
  for (int i = 0; i < kNodes; ++i) put_node();
  put_others();
  for (int i = 0; i < kProbes; ++i) probes_.push_back(begin_life(new_pod(fmt::format("probe-{}", i))));
  note();
}

void PodStory::start() {
  world_ = std::make_unique<World>(config_, options_, plugin_table(), gates_);
  cluster_.now = world_->clock.now();
}

/// Whoever comes next knows what the API server has, told in any order.
void PodStory::restart() {
  done_ = "restart";
  while (!flights_.empty()) end_a_binding(random().chance(50));
  for (auto& [key, pod] : written_) cluster_.pods[key] = pod;
  written_.clear();
  start();
  Told told;
  for (const auto& [name, node] : cluster_.nodes)
    told.emplace_back([this, n = node] { world_->engine.put_node(n); });
  tell_others(told);
  for (const auto* pods : {&cluster_.pods, &waiting_})
    for (const auto& [key, pod] : *pods) told.emplace_back([this, p = pod] { world_->engine.put_pod(p); });
  for (std::size_t i = told.size(); i > 1; --i)
    std::swap(told[i - 1], told[static_cast<std::size_t>(random().below(static_cast<int>(i)))]);
  for (const auto& tell_one : told) tell_one();
  ++met_["restarts"];
}

void PodStory::step() {
  ++steps_;
  done_.clear();
  if (cluster_.nodes.empty())
    put_node();
  else
    change(random().below(100));
  note();
  last_changes_.push_back(fmt::format("{}: {}", steps_, done_));
  if (last_changes_.size() > kTold) last_changes_.erase(last_changes_.begin());
  world_->clock.advance(std::chrono::seconds(11));
  cluster_.now = world_->clock.now();
  decide();
  check_waiting();
  for (int i = 0; i < kAskedEachStep; ++i)
    compare(probes_[static_cast<std::size_t>((steps_ * kAskedEachStep + i) % kProbes)]);
  const Pod now = begin_life(pod(fmt::format("probe-at-{}", steps_)));
  compare(now);
  end_life(*now);
}

void PodStory::put_node() {
  const std::string name = random().node_name();
  const bool rebuilt = random().chance(25);
  const auto made = node(name, rebuilt);
  done_ += fmt::format("put {}node {} ", rebuilt ? "another " : "", api::encode(*made));
  const bool fresh = !cluster_.nodes.contains(name);
  cluster_.nodes[name] = made;
  world_->engine.put_node(made);
  note();
  // Its agent tells of it now or later.
  if (random().chance(rebuilt || fresh ? 85 : 10)) put_machine(name);
}

void PodStory::remove_node() {
  const std::string name = any_of(cluster_.nodes);
  done_ = fmt::format("remove node {}", name);
  world_->engine.remove_node(name);
  cluster_.nodes.erase(name);
  ++met_["nodes lost"];
}

/// Now and then one that went comes again, and wants what it had.
PodStory::Pod PodStory::pod(const std::string& name) {
  if (gone_ == nullptr || !random().chance(8)) return new_pod(name);
  return changed(gone_, [&](api::Pod& p) {
    p.metadata.name = name;
    p.metadata.uid = "uid-" + name;
    p.spec.scheduler_name = "default-scheduler";
    p.spec.node_name = {};
    p.metadata.annotations[api::kSchedulingHint] =
        Symbol(fmt::format(R"({{"extensions":{{"{}":{{}}}}}})", plugin_));
  });
}

void PodStory::add_pod() {
  if (waiting_.size() >= kMostWaiting) return remove_pod(waiting_.begin()->first);
  if (cluster_.pods.size() >= kMostPods) return remove_pod(cluster_.pods.begin()->first);
  auto pod = this->pod(fmt::format("p{}", ++pods_));
  if (random().chance(40)) {
    // Of a class that is known.
    pod = changed(probes_[static_cast<std::size_t>(random().below(kProbes))], [&](api::Pod& p) {
      p.metadata.name = pod->metadata.name;
      p.metadata.uid = pod->metadata.uid;
    });
  }
  pod = begin_life(pod);
  done_ = fmt::format("add pod {}", pod->metadata.name);
  waiting_[reference::key_of(*pod)] = pod;
  world_->engine.put_pod(pod);
}

void PodStory::place_foreign_pod() {
  if (cluster_.pods.size() >= kMostPods) return remove_pod(cluster_.pods.begin()->first);
  const auto pod = changed(begin_life(new_pod(fmt::format("f{}", ++pods_))), [&](api::Pod& p) {
    p.spec.scheduler_name = "another";
    p.spec.node_name = Symbol(random().node_name());
    say_given(p);
  });
  done_ = fmt::format("place {} on {}", pod->metadata.name, pod->spec.node_name.view());
  cluster_.pods[reference::key_of(*pod)] = pod;
  world_->engine.put_pod(pod);
}

/// One that is bound.
void PodStory::change_pod() {
  if (cluster_.pods.empty()) return;
  const std::string key = any_of(cluster_.pods);
  if (flights_.contains(key)) return end_a_binding(true);
  const auto counted = cluster_.pods.at(key);
  const auto last = written_.contains(key) ? written_.at(key) : counted;
  const int ways = ways_to_annotate(), what = random().below(ways + 2);
  done_ = fmt::format("change {}: {}", key, what);
  const auto now = changed(last, [&](api::Pod& p) {
    if (what == 0)
      p.status.phase = "Succeeded";
    else if (what > ways)
      p.metadata.labels["app"] = "a1";
    else
      annotate(p, what - 1);
  });
  world_->engine.put_pod(now);
  written_.erase(key);
  if (what == 0) {
    cluster_.pods.erase(key);
    end_life(*now);
    return;
  }
  // What cannot be read, or is gone, takes nothing back.
  if (!has_gift(*now) && has_gift(*counted)) {
    written_[key] = now;
    return;
  }
  cluster_.pods[key] = now;
}

void PodStory::remove_pod(std::string key) {
  const auto waits = waiting_.find(key);
  const auto placed = waits == waiting_.end() ? cluster_.pods.at(key) : waits->second;
  const auto last = written_.contains(key) ? written_.at(key) : placed;
  done_ = fmt::format("remove {}", key);
  if (has_gift(*placed)) gone_ = placed;
  waiting_.erase(key);
  cluster_.pods.erase(key);
  written_.erase(key);
  world_->engine.remove_pod(*last);
  const auto flight = flights_.extract(key);
  if (!flight.empty()) world_->engine.binding_failed(*flight.mapped().pod);
  end_life(*last);
}

void PodStory::end_a_binding(bool well) {
  if (flights_.empty()) return;
  const auto it = std::next(flights_.begin(), random().below(static_cast<int>(flights_.size())));
  const std::string key = it->first;
  const Flight flight = it->second;
  flights_.erase(it);
  well = prepare_binding(*cluster_.pods.at(key), well);
  done_ += fmt::format(" the binding of {} ends {}", flight.pod->metadata.name, well ? "well" : "badly");
  if (well) {
    world_->engine.put_pod(cluster_.pods.at(key));
    if (flight.tells_end) world_->engine.binding_succeeded(*flight.pod);
    return;
  }
  cluster_.pods.erase(key);
  waiting_[key] = flight.pod;
  world_->engine.binding_failed(*flight.pod);
}

void PodStory::empty() {
  done_ = "all go";
  while (!waiting_.empty()) remove_pod(waiting_.begin()->first);
  while (!cluster_.pods.empty()) remove_pod(cluster_.pods.begin()->first);
  note();
  for (const auto& probe : probes_) compare(probe);
  const NodeTable& table = world_->engine.nodes();
  for (Row row = 0; row < table.rows(); ++row)
    if (table.node(row) && !table.pods(row).empty())
      tell(table.name(row).view(), "something is left on its row when all have gone");
}

}  // namespace koord::scheduling::test
