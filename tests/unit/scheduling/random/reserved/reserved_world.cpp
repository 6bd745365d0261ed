// A scheduler of pods and reservations beside the oracle: see reserved_world.hpp.
#include "random/reserved/reserved_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/schema/codec.hpp"
#include "scheduling/plugins/reservation/control/upkeep.hpp"
#include "support/reference/matching.hpp"
#include "support/reference/reservations.hpp"

namespace koord::scheduling::test {

namespace {

constexpr int kProbes = 6;
constexpr std::size_t kTold = 12, kMostPods = 40, kMostReservations = 14, kMostWaiting = 5;

KubeSchedulerConfiguration config_of(const reference::Config& oracle, unsigned seed) {
  KubeSchedulerConfiguration config;
  ProfileConfig& profile = config.profiles.emplace_back();
  Plugins& plugins = profile.plugins.ensure();
  plugins.multi_point.disabled = {{"*", {}}};
  plugins.queue_sort.enabled = {{"PrioritySort", {}}};
  for (const std::string& name : oracle.filters) {
    plugins.filter.enabled.push_back({name, {}});
    if (name == "NodeAffinity" || name == "NodePorts" || name == "NodeResourcesFit" || name == "Reservation")
      plugins.pre_filter.enabled.push_back({name, {}});
  }
  for (const auto& [name, weight] : oracle.scores) {
    plugins.score.enabled.push_back({name, static_cast<std::int32_t>(weight)});
    plugins.pre_score.enabled.push_back({name, {}});
  }
  plugins.post_filter.enabled = {{"Reservation", {}}};
  plugins.reserve.enabled = {{"Reservation", {}}};
  plugins.pre_bind.enabled = {{"Reservation", {}}, {"DefaultPreBind", {}}};
  plugins.bind.enabled = {{"Reservation", {}}, {"DefaultBinder", {}}};
  if (seed % 4 == 0)
    profile.plugin_config.push_back(
        {"Reservation", api::RawJson{R"({"ignoredResources":["example.com/gpu"]})"}, nullptr});
  return config;
}

reference::Config oracle_of(unsigned seed) {
  reference::Config oracle;
  oracle.filters = {"NodeUnschedulable", "NodeName",         "TaintToleration", "NodeAffinity",
                    "NodePorts",         "NodeResourcesFit", "Reservation"};
  oracle.scores = {{"TaintToleration", 3},
                   {"NodeAffinity", 2},
                   {"NodeResourcesFit", 1},
                   {"NodeResourcesBalancedAllocation", 1},
                   {"Reservation", 5000}};
  oracle.preemption = false;
  if (seed % 4 == 0) oracle.unreserved_resources = {"example.com/gpu"};
  return oracle;
}

}  // namespace

ReservedWorld::ReservedWorld(unsigned seed, EngineOptions options, PluginTable table)
    : seed_(seed), options_(std::move(options)), table_(table), random_(seed), oracle_(oracle_of(seed)) {
  start();
  for (int i = 0; i < 4; ++i) put_node();
  for (int i = 0; i < kProbes; ++i) probes_.push_back(random_.pod(fmt::format("probe-{}", i), {"r1", "r2"}));
}

void ReservedWorld::start() {
  world_ = std::make_unique<World>(config_of(oracle_, seed_), options_, table_);
  cluster_.now = world_->clock.now();
}

/// Whoever comes next knows what the API server has, told in any order.
void ReservedWorld::restart() {
  done_ = "restart";
  while (!flights_.empty()) end_a_binding(random_.chance(50));
  start();
  std::vector<std::function<void()>> told;
  for (const auto& [name, node] : cluster_.nodes)
    told.push_back([this, n = node] { world_->engine.put_node(n); });
  for (const auto& [key, r] : cluster_.reservations)
    told.push_back([this, o = r] { world_->engine.put_object(o); });
  for (const auto& [key, pod] : cluster_.pods) told.push_back([this, p = pod] { world_->engine.put_pod(p); });
  for (const auto& [key, pod] : waiting_) told.push_back([this, p = pod] { world_->engine.put_pod(p); });
  for (std::size_t i = told.size(); i > 1; --i)
    std::swap(told[i - 1], told[static_cast<std::size_t>(random_.below(static_cast<int>(i)))]);
  for (const auto& tell_one : told) tell_one();
  ++met_["restarts"];
}

void ReservedWorld::step() {
  ++steps_;
  done_.clear();
  change();
  last_changes_.push_back(fmt::format("{}: {}", steps_, done_));
  if (last_changes_.size() > kTold) last_changes_.erase(last_changes_.begin());
  world_->clock.advance(std::chrono::seconds(11));
  cluster_.now = world_->clock.now();
  decide();
  check_sums();
  check_owners();
  for (const auto& probe : probes_) compare(probe);
  compare(random_.pod(fmt::format("probe-at-{}", steps_), names()));
}

void ReservedWorld::change() {
  if (cluster_.nodes.empty()) return put_node();
  const int what = random_.below(100);
  if (what < 8) return put_node();
  if (what < 10) return remove_node();
  if (what < 12) return restart();
  if (what < 26) return add_reservation();
  if (what < 38) return change_reservation();
  if (what < 44) return keep_up();
  if (what < 48) return remove_reservation(any_reservation());
  if (what < 56) return place_foreign_pod();
  if (what < 62) return change_pod();
  if (what < 72 && !cluster_.pods.empty())
    return remove_pod(
        std::next(cluster_.pods.begin(), random_.below(static_cast<int>(cluster_.pods.size())))->first);
  if (what < 80) return end_a_binding(random_.chance(60));
  add_pod();
}

void ReservedWorld::put_node() {
  auto node = random_.node(random_.node_name());
  const auto old = cluster_.nodes.find(node->metadata.name);
  if (old != cluster_.nodes.end() && random_.chance(60)) {
    auto copy = std::make_shared<api::Node>(*old->second);
    if (random_.chance(50))
      copy->metadata.labels = node->metadata.labels;
    else
      copy->status = node->status;
    node = copy;
  }
  done_ = fmt::format("put node {}", api::encode(*node));
  cluster_.nodes[node->metadata.name] = node;
  world_->engine.put_node(node);
}

void ReservedWorld::remove_node() {
  const auto it = std::next(cluster_.nodes.begin(), random_.below(static_cast<int>(cluster_.nodes.size())));
  done_ = fmt::format("remove node {}", it->first);
  world_->engine.remove_node(it->first);
  cluster_.nodes.erase(it);
}

std::vector<std::string> ReservedWorld::names() const {
  std::vector<std::string> all;
  for (const auto& [key, r] : cluster_.reservations) all.push_back(key);
  return all;
}

/// Empty: there is none.
std::string ReservedWorld::any_reservation() {
  const auto all = names();
  return all.empty() ? "" : all[static_cast<std::size_t>(random_.below(static_cast<int>(all.size())))];
}

void ReservedWorld::add_reservation() {
  if (cluster_.reservations.size() >= kMostReservations) return remove_reservation(any_reservation());
  auto r = random_.reservation(fmt::format("r{}", ++reservations_));
  if (random_.chance(40)) {
    // Somebody else has placed it.
    auto placed = std::make_shared<api::Reservation>(*r);
    placed->status.phase = "Available";
    placed->status.node_name = random_.node_name();
    placed->status.allocatable = random_.amounts();
    if (random_.chance(10))
      placed->status.allocatable["pods"] = api::Quantity::from_int(1 + random_.below(3));
    r = placed;
  }
  done_ = fmt::format("add {}", api::encode(*r));
  cluster_.reservations[r->metadata.name] = r;
  world_->engine.put_object<api::Reservation>(r);
}

void ReservedWorld::change_reservation() {
  const std::string name = any_reservation();
  if (name.empty()) return;
  auto copy = std::make_shared<api::Reservation>(*cluster_.reservations.at(name));
  // What is on its way is written as it was decided.
  if (cluster_.placed.contains(copy->metadata.uid)) return;
  random_.change(*copy);
  done_ = fmt::format("change {}", api::encode(*copy));
  cluster_.reservations[name] = copy;
  world_->engine.put_object<api::Reservation>(copy);
}

/// What the controller of reservations writes; who has what is as the oracle says.
void ReservedWorld::keep_up() {
  const std::string name = any_reservation();
  if (name.empty()) return;
  const api::Reservation& r = *cluster_.reservations.at(name);
  const auto kept = reference::kept_on_nodes(cluster_);
  const auto at = kept.find(r.metadata.uid);
  reservation::Holders holders;
  for (const auto& [key, pod] : cluster_.pods)
    if (!flights_.contains(pod->metadata.uid)) holders.put(*pod);
  const auto settled = reservation::settled(r, holders, true, cluster_.now);
  done_ = fmt::format("keep up {}: {}", name, settled ? api::encode(*settled) : "as it is");
  if (!settled) return;
  if (at == kept.end() || !at->second.available) return tell(name, "it is written, and is on no node");
  ++met_["written statuses"];
  cluster_.reservations[name] = std::make_shared<const api::Reservation>(*settled);
  world_->engine.put_object(cluster_.reservations.at(name));
}

void ReservedWorld::remove_reservation(const std::string& name) {
  if (name.empty()) return;
  done_ = fmt::format("remove {}", name);
  const auto last = cluster_.reservations.at(name);
  cluster_.reservations.erase(name);
  world_->engine.remove_object(last);
  if (cluster_.placed.erase(last->metadata.uid) == 0) return;
  const Flight flight = flights_.at(last->metadata.uid);
  flights_.erase(last->metadata.uid);
  world_->engine.binding_failed(*flight.pod);
}

void ReservedWorld::add_pod() {
  if (waiting_.size() >= kMostWaiting) return remove_pod(waiting_.begin()->first);
  if (cluster_.pods.size() >= kMostPods) return remove_pod(cluster_.pods.begin()->first);
  auto pod = random_.pod(fmt::format("p{}", ++pods_), names());
  if (random_.chance(40)) {
    // Of a class that is known.
    pod = changed(probes_[static_cast<std::size_t>(random_.below(kProbes))], [&](api::Pod& p) {
      p.metadata.name = pod->metadata.name;
      p.metadata.uid = pod->metadata.uid;
    });
  }
  if (random_.chance(5))
    pod = changed(pod, [](api::Pod& p) {
      p.metadata.annotations[api::ReservationAllocated::kAnnotation] = R"({"name":"r1","uid":"uid-of-r1"})";
    });
  done_ = fmt::format("add pod {}", pod->metadata.name);
  waiting_[reference::key_of(*pod)] = pod;
  world_->engine.put_pod(pod);
}

/// It may say whose room it has as it likes.
void ReservedWorld::place_foreign_pod() {
  if (cluster_.pods.size() >= kMostPods) return remove_pod(cluster_.pods.begin()->first);
  const std::string of = any_reservation();
  const auto pod = changed(random_.pod(fmt::format("f{}", ++pods_), {}), [&](api::Pod& p) {
    p.spec.scheduler_name = "another";
    p.spec.node_name = random_.node_name();
    p.metadata.annotations.erase(api::ReservationAffinity::kAnnotation);
    if (of.empty() || random_.chance(30)) return;
    const api::Reservation& r = *cluster_.reservations.at(of);
    if (!r.status.node_name.empty() && random_.chance(80)) p.spec.node_name = r.status.node_name;
    p.metadata.annotations[api::ReservationAllocated::kAnnotation] =
        Symbol(fmt::format(R"({{"name":"{}","uid":"{}"}})", of, r.metadata.uid));
  });
  done_ = fmt::format("place {} on {}", pod->metadata.name, pod->spec.node_name.view());
  cluster_.pods[reference::key_of(*pod)] = pod;
  world_->engine.put_pod(pod);
}

/// Of one that is bound.
void ReservedWorld::change_pod() {
  if (cluster_.pods.empty()) return;
  const auto it = std::next(cluster_.pods.begin(), random_.below(static_cast<int>(cluster_.pods.size())));
  if (flights_.contains(it->second->metadata.uid)) return end_a_binding(true);
  const std::string key = it->first;
  const int what = random_.below(4);
  done_ = fmt::format("change {}: {}", key, what);
  const auto now = changed(it->second, [&](api::Pod& p) {
    if (what == 0) p.status.phase = "Succeeded";
    if (what == 1) p.metadata.annotations.erase(api::ReservationAllocated::kAnnotation);
    if (what == 2)
      p.metadata.annotations[api::ReservationAllocated::kAnnotation] =
          Symbol(fmt::format(R"({{"uid":"uid-of-{}"}})", any_reservation()));
    if (what == 3) p.metadata.labels["app"] = "a1";
  });
  world_->engine.put_pod(now);
  if (what == 0)
    cluster_.pods.erase(key);
  else
    cluster_.pods[key] = now;
}

void ReservedWorld::remove_pod(std::string of) {
  const std::string key = std::move(of);  // callers name an entry that goes
  const auto waits = waiting_.find(key);
  const auto pod = waits != waiting_.end() ? waits->second : cluster_.pods.at(key);
  done_ = fmt::format("remove {}", key);
  waiting_.erase(key);
  cluster_.pods.erase(key);
  world_->engine.remove_pod(*pod);
  if (const auto flight = flights_.find(pod->metadata.uid); flight != flights_.end()) {
    world_->engine.binding_failed(*flight->second.pod);
    flights_.erase(flight);
  }
}

void ReservedWorld::end_a_binding(bool well) {
  if (flights_.empty()) return;
  const auto it = std::next(flights_.begin(), random_.below(static_cast<int>(flights_.size())));
  const Flight flight = std::move(it->second);
  flights_.erase(it);
  done_ += fmt::format(" the binding of {} ends {}", flight.pod->metadata.name, well ? "well" : "badly");
  if (const std::string uid = reference::reserves_for(*flight.pod); !uid.empty()) {
    const auto node = cluster_.placed.extract(uid);
    const auto at = std::find_if(cluster_.reservations.begin(), cluster_.reservations.end(),
                                 [&](auto& each) { return each.second->metadata.uid == uid; });
    if (!well) {
      world_->engine.binding_failed(*flight.pod);
      return;
    }
    auto placed = std::make_shared<api::Reservation>(*at->second);
    placed->status.phase = "Available";
    placed->status.node_name = Symbol(node.mapped());
    placed->status.allocatable = api::pod_requests(*reference::reserve_pod(*at->second));
    const auto resized = api::read_annotation<api::ReservationResize>(placed->metadata.annotations);
    if (resized && *resized)
      for (const auto& [name, amount] : (*resized)->resources) placed->status.allocatable[name] = amount;
    at->second = placed;
    world_->engine.put_object<api::Reservation>(placed);
    if (flight.tells_end) world_->engine.binding_succeeded(*flight.pod);
    return;
  }
  const std::string key = reference::key_of(*flight.pod);
  if (well) {
    world_->engine.put_pod(cluster_.pods.at(key));
    if (flight.tells_end) world_->engine.binding_succeeded(*flight.pod);
    return;
  }
  cluster_.pods.erase(key);
  waiting_[key] = flight.pod;
  world_->engine.binding_failed(*flight.pod);
}

void ReservedWorld::empty() {
  done_ = "all go";
  while (!waiting_.empty()) remove_pod(waiting_.begin()->first);
  while (!cluster_.pods.empty() && random_.chance(95)) remove_pod(cluster_.pods.begin()->first);
  while (!cluster_.reservations.empty()) remove_reservation(cluster_.reservations.begin()->first);
  while (!cluster_.pods.empty()) remove_pod(cluster_.pods.begin()->first);
  check_sums();
  const NodeTable& table = world_->engine.nodes();
  for (Row row = 0; row < table.rows(); ++row) {
    if (!table.node(row)) continue;
    bool left = !table.pods(row).empty() || !table.ports(row).empty();
    for (ResourceId resource = 0; resource < table.resources().size(); ++resource)
      left = left || table.used(resource, row) != 0;
    if (left) tell(table.name(row).view(), "something is left on its row when all have gone");
  }
}

}  // namespace koord::scheduling::test
