// A scheduler with NodeNUMAResource beside the oracle: see numa_world.hpp.
#include "random/numa/numa_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/scheduling.hpp"
#include "koord/api/schema/codec.hpp"
#include "support/reference/matching.hpp"
#include "support/reference/numa_machine.hpp"

namespace koord::scheduling::test {

namespace {

constexpr int kProbes = 10, kAskedEachStep = 3;
constexpr std::size_t kTold = 12, kMostPods = 24, kMostWaiting = 5;

reference::Config oracle_of(unsigned seed) {
  reference::Config oracle;
  oracle.filters = {"NodeUnschedulable", "NodeName", "NodeResourcesFit", "NodeNUMAResource"};
  oracle.scores = {{"NodeResourcesFit", 1}, {"NodeNUMAResource", 1}};
  oracle.preemption = false;
  reference::NumaArgs& args = oracle.numa;
  if (seed % 3 == 1) args.bind = "SpreadByPCPUs";
  if (seed % 7 == 3) args.bind = "";
  args.most = seed % 4 == 1;
  args.zones_most = seed % 4 > 1;
  if (seed % 5 == 2) args.resources = {{"cpu", 2}, {"hugepages-2Mi", 1}, {"memory", 1}};
  if (seed % 5 == 3) args.resources = {{"cpu", 1}, {"kubernetes.io/batch-cpu", 3}, {"memory", 2}};
  return oracle;
}

std::string args_of(const reference::NumaArgs& args) {
  std::string resources;
  for (const auto& [name, weight] : args.resources)
    resources += fmt::format(R"({}{{"name":"{}","weight":{}}})", resources.empty() ? "" : ",", name, weight);
  const auto strategy = [&](bool most) {
    return fmt::format(R"({{"type":"{}","resources":[{}]}})", most ? "MostAllocated" : "LeastAllocated",
                       resources);
  };
  return fmt::format(R"({{"defaultCPUBindPolicy":"{}","scoringStrategy":{},"numaScoringStrategy":{}}})",
                     args.bind, strategy(args.most), strategy(args.zones_most));
}

KubeSchedulerConfiguration config_of(const reference::Config& oracle) {
  KubeSchedulerConfiguration config;
  ProfileConfig& profile = config.profiles.emplace_back();
  Plugins& plugins = profile.plugins.ensure();
  plugins.multi_point.disabled = {{"*", {}}};
  plugins.queue_sort.enabled = {{"PrioritySort", {}}};
  for (const std::string& name : oracle.filters) plugins.filter.enabled.push_back({name, {}});
  plugins.pre_filter.enabled = {{"NodeResourcesFit", {}}, {"NodeNUMAResource", {}}};
  for (const auto& [name, weight] : oracle.scores) {
    plugins.score.enabled.push_back({name, static_cast<std::int32_t>(weight)});
    plugins.pre_score.enabled.push_back({name, {}});
  }
  plugins.reserve.enabled = {{"NodeNUMAResource", {}}};
  plugins.pre_bind.enabled = {{"NodeNUMAResource", {}}, {"DefaultPreBind", {}}};
  plugins.bind.enabled = {{"DefaultBinder", {}}};
  profile.plugin_config.push_back({"NodeNUMAResource", api::RawJson{args_of(oracle.numa)}, nullptr});
  return config;
}

}  // namespace

RandomNumaWorld::RandomNumaWorld(unsigned seed, EngineOptions options)
    : seed_(seed), options_(std::move(options)), random_(seed), oracle_(oracle_of(seed)) {
  start();
  for (int i = 0; i < 4; ++i) put_node();
  for (int i = 0; i < kProbes; ++i) probes_.push_back(random_.pod(fmt::format("probe-{}", i)));
}

void RandomNumaWorld::start() {
  world_ = std::make_unique<World>(config_of(oracle_), options_);
  cluster_.now = world_->clock.now();
}

/// Whoever comes next knows what the API server has, told in any order.
void RandomNumaWorld::restart() {
  done_ = "restart";
  while (!flights_.empty()) end_a_binding(random_.chance(50));
  for (auto& [key, pod] : written_) cluster_.pods[key] = pod;
  written_.clear();
  start();
  std::vector<std::function<void()>> told;
  for (const auto& [name, node] : cluster_.nodes)
    told.emplace_back([this, n = node] { world_->engine.put_node(n); });
  for (const auto& [name, topology] : cluster_.topologies)
    told.emplace_back([this, o = topology] { world_->engine.put_object(o); });
  for (const auto& [key, pod] : cluster_.pods)
    told.emplace_back([this, p = pod] { world_->engine.put_pod(p); });
  for (const auto& [key, pod] : waiting_) told.emplace_back([this, p = pod] { world_->engine.put_pod(p); });
  for (std::size_t i = told.size(); i > 1; --i)
    std::swap(told[i - 1], told[static_cast<std::size_t>(random_.below(static_cast<int>(i)))]);
  for (const auto& tell_one : told) tell_one();
  ++met_["restarts"];
}

void RandomNumaWorld::step() {
  ++steps_;
  done_.clear();
  change();
  last_changes_.push_back(fmt::format("{}: {}", steps_, done_));
  if (last_changes_.size() > kTold) last_changes_.erase(last_changes_.begin());
  world_->clock.advance(std::chrono::seconds(11));
  cluster_.now = world_->clock.now();
  decide();
  for (int i = 0; i < kAskedEachStep; ++i)
    compare(probes_[static_cast<std::size_t>((steps_ * kAskedEachStep + i) % kProbes)]);
  compare(pod(fmt::format("probe-at-{}", steps_)));
}

void RandomNumaWorld::change() {
  if (cluster_.nodes.empty()) return put_node();
  const int what = random_.below(100);
  if (what < 9) return put_node();
  if (what < 11) return remove_node();
  if (what < 20) {
    const auto it = std::next(cluster_.nodes.begin(), random_.below(static_cast<int>(cluster_.nodes.size())));
    return put_topology(std::string(it->first));
  }
  if (what < 22) return remove_topology();
  if (what < 25) return restart();
  if (what < 32) return place_foreign_pod();
  if (what < 38) return change_pod();
  if (what < 56 && !cluster_.pods.empty()) return remove_pod(any_of(cluster_.pods));
  if (what < 64) return end_a_binding(random_.chance(60));
  add_pod();
}

void RandomNumaWorld::put_node() {
  const std::string name = random_.node_name();
  const bool rebuilt = random_.chance(25);
  const auto node = random_.node(name, rebuilt);
  done_ += fmt::format("put {}node {} ", rebuilt ? "another " : "", api::encode(*node));
  const bool fresh = cluster_.nodes.count(name) == 0;
  cluster_.nodes[name] = node;
  world_->engine.put_node(node);
  // Its agent tells of it now or later.
  if (random_.chance(rebuilt || fresh ? 85 : 10)) put_topology(name);
}

void RandomNumaWorld::put_topology(const std::string& name) {
  const auto topology = random_.topology(name);
  done_ += fmt::format("put topology {}", api::encode(*topology));
  cluster_.topologies[name] = topology;
  world_->engine.put_object<api::NodeResourceTopology>(topology);
}

void RandomNumaWorld::remove_node() {
  const auto it = std::next(cluster_.nodes.begin(), random_.below(static_cast<int>(cluster_.nodes.size())));
  done_ = fmt::format("remove node {}", it->first);
  world_->engine.remove_node(it->first);
  cluster_.nodes.erase(it);
}

void RandomNumaWorld::remove_topology() {
  if (cluster_.topologies.empty()) return;
  const auto it =
      std::next(cluster_.topologies.begin(), random_.below(static_cast<int>(cluster_.topologies.size())));
  done_ = fmt::format("remove topology {}", it->first);
  const auto last = it->second;
  cluster_.topologies.erase(it);
  world_->engine.remove_object(last);
}

const std::string& RandomNumaWorld::any_of(const Pods& pods) {
  return std::next(pods.begin(), random_.below(static_cast<int>(pods.size())))->first;
}

/// Now and then one that went comes again, and wants what it had.
std::shared_ptr<const api::Pod> RandomNumaWorld::pod(const std::string& name) {
  if (gone_ == nullptr || !random_.chance(8)) return random_.pod(name);
  return changed(gone_, [&](api::Pod& p) {
    p.metadata.name = name;
    p.metadata.uid = "uid-" + name;
    p.spec.scheduler_name = "default-scheduler";
    p.spec.node_name = {};
    p.metadata.annotations[api::kSchedulingHint] = R"({"extensions":{"NodeNUMAResource":{}}})";
  });
}

void RandomNumaWorld::add_pod() {
  if (waiting_.size() >= kMostWaiting) return remove_pod(waiting_.begin()->first);
  if (cluster_.pods.size() >= kMostPods) return remove_pod(cluster_.pods.begin()->first);
  auto pod = this->pod(fmt::format("p{}", ++pods_));
  if (random_.chance(40)) {
    // Of a class that is known.
    pod = changed(probes_[static_cast<std::size_t>(random_.below(kProbes))], [&](api::Pod& p) {
      p.metadata.name = pod->metadata.name;
      p.metadata.uid = pod->metadata.uid;
    });
  }
  done_ = fmt::format("add pod {}", pod->metadata.name);
  waiting_[reference::key_of(*pod)] = pod;
  world_->engine.put_pod(pod);
}

/// It may say that it was given what others have, or what is not there.
void RandomNumaWorld::place_foreign_pod() {
  if (cluster_.pods.size() >= kMostPods) return remove_pod(cluster_.pods.begin()->first);
  const auto pod = changed(random_.pod(fmt::format("f{}", ++pods_)), [&](api::Pod& p) {
    p.spec.scheduler_name = "another";
    const std::string node = random_.node_name();
    p.spec.node_name = Symbol(node);
    if (random_.chance(80))
      p.metadata.annotations[api::ResourceStatus::kAnnotation] = Symbol(random_.status(node));
  });
  done_ = fmt::format("place {} on {}", pod->metadata.name, pod->spec.node_name.view());
  cluster_.pods[reference::key_of(*pod)] = pod;
  world_->engine.put_pod(pod);
}

/// One that is bound.
void RandomNumaWorld::change_pod() {
  if (cluster_.pods.empty()) return;
  const std::string key = any_of(cluster_.pods);
  if (flights_.contains(key)) return end_a_binding(true);
  const auto counted = cluster_.pods.at(key);
  const auto last = written_.contains(key) ? written_.at(key) : counted;
  const int what = random_.below(5);
  done_ = fmt::format("change {}: {}", key, what);
  const auto now = changed(last, [&](api::Pod& p) {
    auto& annotations = p.metadata.annotations;
    if (what == 0) p.status.phase = "Succeeded";
    if (what == 1) annotations.erase(api::ResourceStatus::kAnnotation);
    if (what == 2)
      annotations[api::ResourceStatus::kAnnotation] = Symbol(random_.status(p.spec.node_name.str()));
    if (what == 3) annotations[api::ResourceSpec::kAnnotation] = Symbol(random_.spec());
    if (what == 4) p.metadata.labels["app"] = "a1";
  });
  world_->engine.put_pod(now);
  if (what == 0) {
    written_.erase(key);
    cluster_.pods.erase(key);
    return;
  }
  // What cannot be read, or is gone, takes nothing back.
  written_.erase(key);
  if (!reference::gift_of(*now) && reference::gift_of(*counted)) {
    written_[key] = now;
    return;
  }
  cluster_.pods[key] = now;
}

void RandomNumaWorld::remove_pod(std::string key) {
  const auto waits = waiting_.find(key);
  const auto placed = waits == waiting_.end() ? cluster_.pods.at(key) : waits->second;
  const auto last = written_.contains(key) ? written_.at(key) : placed;
  done_ = fmt::format("remove {}", key);
  if (reference::gift_of(*placed)) gone_ = placed;
  waiting_.erase(key);
  cluster_.pods.erase(key);
  written_.erase(key);
  world_->engine.remove_pod(*last);
  const auto flight = flights_.extract(key);
  if (!flight.empty()) world_->engine.binding_failed(*flight.mapped().pod);
}

void RandomNumaWorld::end_a_binding(bool well) {
  if (flights_.empty()) return;
  const auto it = std::next(flights_.begin(), random_.below(static_cast<int>(flights_.size())));
  const std::string key = it->first;
  const Flight flight = it->second;
  flights_.erase(it);
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

void RandomNumaWorld::empty() {
  done_ = "all go";
  while (!waiting_.empty()) remove_pod(waiting_.begin()->first);
  while (!cluster_.pods.empty()) remove_pod(cluster_.pods.begin()->first);
  for (const auto& probe : probes_) compare(probe);
  const NodeTable& table = world_->engine.nodes();
  for (Row row = 0; row < table.rows(); ++row)
    if (table.node(row) && !table.pods(row).empty())
      tell(table.name(row).view(), "something is left on its row when all have gone");
}

}  // namespace koord::scheduling::test
