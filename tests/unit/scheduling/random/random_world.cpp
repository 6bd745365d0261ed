// The incremental engine beside the oracle: see random_world.hpp.
#include "random/random_world.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "koord/api/schema/codec.hpp"
#include "support/reference/matching.hpp"

namespace koord::scheduling::test {

namespace {

constexpr int kProbes = 12;
constexpr int kStorage = 70;  // changes of claims, volumes and drivers before the first pod comes
constexpr std::size_t kMostWaiting = 6;
constexpr std::size_t kTold = 10;

int nodes_of(unsigned seed) { return 8 + static_cast<int>(seed % 33); }

std::vector<RandomProfile> profiles_of(unsigned seed) {
  RandomObjects objects(seed, nodes_of(seed));
  RandomLoads loads(seed);
  std::vector<RandomProfile> all;
  for (const char* name : PodLives::kProfiles) {
    RandomProfile made = objects.profile(name);
    if (!all.empty()) objects.vary(made);
    made = loads.with_loads(std::move(made));
    // One asks A first, the other B; or nobody, or B alone.
    made.seats = all.empty() ? (seed % 4 == 0 ? "" : "AB") : (seed % 3 == 0 ? "B" : "BA");
    for (const char seat : made.seats)
      made.config.plugins->multi_point.enabled.push_back({fmt::format("Seat{}", seat), {}});
    all.push_back(std::move(made));
  }
  return all;
}

bool is_missing_in(const Profile& made, const std::string& name) {
  return std::none_of(made.plugins.begin(), made.plugins.end(), [&](auto& p) { return p.name == name; });
}

std::unique_ptr<PlayedExtenders> extenders_of(unsigned seed) {
  return seed % 5 < 2 ? nullptr : std::make_unique<PlayedExtenders>();
}

EngineOptions with(EngineOptions options, const PlayedExtenders* extenders) {
  if (extenders != nullptr) options.extenders = ExtenderInterest(extenders->configured());
  return options;
}

KubeSchedulerConfiguration config_of(const std::vector<RandomProfile>& profiles,
                                     const PlayedExtenders* extenders) {
  KubeSchedulerConfiguration config;
  if (extenders != nullptr) config.extenders = extenders->configured();
  for (const RandomProfile& p : profiles) config.profiles.push_back(p.config);
  return config;
}

}  // namespace

RandomWorld::RandomWorld(unsigned seed, const EngineOptions& options, PluginTable table)
    : RandomWorld(seed, profiles_of(seed), extenders_of(seed), options, table) {}

RandomWorld::RandomWorld(unsigned seed, std::vector<RandomProfile> profiles,
                         std::unique_ptr<PlayedExtenders> extenders, EngineOptions options, PluginTable table)
    : seed_(seed),
      random_(seed, nodes_of(seed)),
      loads_(seed),
      lives_(seed),
      nodes_(nodes_of(seed)),
      extenders_(std::move(extenders)),
      world_(config_of(profiles, extenders_.get()), with(std::move(options), extenders_.get()),
             with_seats(table)) {
  for (const Profile& made : world_.engine.profiles()) {
    RandomProfile& profile = profiles[served_.size()];
    Served& here = served_[made.scheduler_name];
    here = {std::move(profile.oracle), std::move(profile.seats), {}, !is_missing_in(made, "VolumeBinding")};
    // What the profile does not have the oracle is not asked for either.
    const auto is_missing = [&](const std::string& name) { return is_missing_in(made, name); };
    std::erase_if(here.oracle.filters, is_missing);
    std::erase_if(here.oracle.scores, [&](auto& s) { return is_missing(s.name); });
    if (extenders_) here.oracle.extended = PlayedExtenders::expected();
    here.oracle.preemption = !is_missing("DefaultPreemption");
    for (const auto& each : made.post_filters)
      if (made.plugin_name(each.index) == "DynamicResources") here.claims = "no new claims to deallocate, ";
  }
  for (const char* name : RandomObjects::kNamespaces)
    change_object(cluster_.namespaces, random_.namespace_object(name));
  change_object(cluster_.drivers, random_.driver());
  for (int i = 0; i < kStorage; ++i) change_storage();
  for (const char* ns : {"default", "team", "staging"})
    for (const std::string& name : RandomObjects::claim_names())
      if (!cluster_.claims.contains(fmt::format("{}/{}", ns, name)))
        put_object(cluster_.claims, *random_.claim(ns, name, nullptr));
  for (int i = 0; i < kProbes; ++i) probes_.push_back(loads_.dress(random_.pod(fmt::format("probe-{}", i))));
  // One that is like the first but in what NodeResourcesFit alone reads.
  probes_.back() = changed(probes_.front(), [](api::Pod& p) {
    p.metadata.name = "probe-twin";
    p.spec.containers[0].resources.requests["ephemeral-storage"] = api::Quantity::must("9Gi");
  });
  cluster_.now = world_.clock.now();
}

void RandomWorld::step() {
  ++steps_;
  done_.clear();
  ++moves_;
  change();
  last_changes_.push_back(fmt::format("{}: {}", steps_, done_));
  if (last_changes_.size() > kTold) last_changes_.erase(last_changes_.begin());
  // Who waits for his backoff has waited long enough.
  pass_time();
  answer_held();
  decide();
  check_seats();
  if (steps_ % 8 == 0) look_for_forgotten();
  for (std::size_t i = 0; i < probes_.size(); ++i)
    compare(*probes_[i], world_.engine.profiles()[(i + static_cast<std::size_t>(steps_)) % 2]);
}

void RandomWorld::pass_time() {
  world_.clock.advance(std::chrono::seconds(11));
  cluster_.now = world_.clock.now();
}

void RandomWorld::change() {
  if (cluster_.nodes.empty()) return put_node();
  if (loads_.on() && loads_.chance(35)) return report_load();
  if (lives_.chance(12)) return change_unplaced_pod();
  const int what = random_.below(100);
  if (what < 12) return put_node();
  if (what < 15) return remove_node();
  if (what < 30) return remove_pod();
  if (what < 40) return place_foreign_pod();
  if (what < 50) return change_placed_pod();
  if (what < 60) return settle_assumed();
  if (what < 68) return change_object();
  if (what < 80) return change_storage();
  add_pod();
}

void RandomWorld::put_node() {
  const int index = random_.below(nodes_);
  std::shared_ptr<const api::Node> node = loads_.dress(random_.node(index));
  // Often one thing changes of a node and not all.
  if (const auto old = cluster_.nodes.find(node->metadata.name);
      old != cluster_.nodes.end() && random_.chance(60)) {
    auto copy = std::make_shared<api::Node>(*old->second);
    if (loads_.on() && loads_.chance(30)) copy->metadata.annotations = node->metadata.annotations;
    switch (random_.below(4)) {
      case 0: copy->metadata.labels = node->metadata.labels; break;
      case 1: copy->spec = node->spec; break;
      case 2: copy->status.images = node->status.images; break;
      default: copy->status.allocatable = node->status.allocatable; break;
    }
    node = copy;
  }
  const auto old = cluster_.nodes.find(node->metadata.name);
  done_ = fmt::format("put node {}: {} instead of {}", node->metadata.name, api::encode(*node),
                      old == cluster_.nodes.end() ? "none" : api::encode(*old->second));
  if (old == cluster_.nodes.end()) last_wake_ = steps_;
  cluster_.nodes[node->metadata.name] = node;
  world_.engine.put_node(node);
}

void RandomWorld::remove_node() {
  const auto it = std::next(cluster_.nodes.begin(), random_.below(static_cast<int>(cluster_.nodes.size())));
  const std::string name = it->first;
  done_ = fmt::format("remove node {}", name);
  cluster_.nodes.erase(it);
  world_.engine.remove_node(name);
}

void RandomWorld::add_pod() {
  auto pod = loads_.dress(random_.pod(fmt::format("p{}", ++pods_)));
  if (random_.chance(50)) {
    // One of a class that is known.
    auto copy = std::make_shared<api::Pod>(*probes_[static_cast<std::size_t>(random_.below(kProbes))]);
    copy->metadata.name = pod->metadata.name;
    copy->metadata.uid = pod->metadata.uid;
    pod = copy;
  }
  if (random_.chance(10))
    pod = changed(pod, [&](api::Pod& p) { p.status.nominated_node_name = random_.node_name(); });
  pod = lives_.dress(pod, extenders_ != nullptr);
  done_ =
      fmt::format("add {}, nominated to \"{}\"", pod->metadata.name, pod->status.nominated_node_name.view());
  put_waiting(pod);
}

void RandomWorld::place_foreign_pod() {
  auto pod = changed(loads_.dress(random_.pod(fmt::format("p{}", ++pods_))), [&](api::Pod& p) {
    p.spec.scheduler_name = "another";
    loads_.settle(p, cluster_.now);
    // Its node may be unknown yet.
    p.spec.node_name = random_.node_name();
    if (random_.chance(80)) p.status.start_time = random_.start_time();
  });
  done_ = fmt::format("place {} on {}", pod->metadata.name, pod->spec.node_name.view());
  cluster_.pods[reference::key_of(*pod)] = pod;
  world_.engine.put_pod(pod);
}

std::shared_ptr<const api::Pod> RandomWorld::any(const reference::ByKey<api::Pod>& pods) {
  return pods.empty() ? nullptr
                      : std::next(pods.begin(), random_.below(static_cast<int>(pods.size())))->second;
}

void RandomWorld::take_away(const std::string& key) {
  if (cluster_.pods.erase(key) != 0) last_wake_ = steps_;
  assumed_.erase(key);
  waiting_.erase(key);
  cluster_.nominated.erase(key);
  cluster_.assumed_at.erase(key);
}

void RandomWorld::remove_pod() {
  const auto pod = any(random_.chance(80) ? cluster_.pods : waiting_);
  if (!pod) return;
  done_ = fmt::format("remove {}", pod->metadata.name);
  const auto assumed = assumed_.find(reference::key_of(*pod));
  world_.engine.remove_pod(assumed == assumed_.end() ? *pod : *assumed->second);
  lose(reference::key_of(*pod));
}

void RandomWorld::change_placed_pod() {
  const auto pod = any(cluster_.pods);
  if (!pod || assumed_.contains(reference::key_of(*pod))) return;
  const int what = random_.below(3);
  const auto now = changed(pod, [&](api::Pod& p) {
    if (what == 0) p.metadata.labels = random_.pod_labels();
    if (what == 1) p.metadata.deletion_timestamp = api::Time(world_.clock.now());
    if (what == 2) p.status.phase = random_.chance(50) ? "Succeeded" : "Failed";
  });
  done_ = fmt::format("change {} ({})", pod->metadata.name,
                      what == 0   ? "labels"
                      : what == 1 ? "deletion"
                                  : "its end");
  world_.engine.put_pod(now);
  cluster_.pods[reference::key_of(*pod)] = now;
  if (what == 2) take_away(reference::key_of(*pod));
}

/// One that waits, or whose binding is on its way, is written anew by somebody else.
void RandomWorld::change_unplaced_pod() {
  const bool assumed = !assumed_.empty() && lives_.chance(40);
  const auto pod = any(assumed ? assumed_ : waiting_);
  if (!pod) return;
  const std::string key = reference::key_of(*pod);
  const auto now = lives_.change(*pod, assumed, random_.pod_labels());
  done_ =
      fmt::format("change {} {}: {}", assumed ? "assumed" : "waiting", pod->metadata.name, api::encode(*now));
  if (!assumed) return put_waiting(now);
  const auto flight = flights_.find(pod->metadata.uid);
  if (!flight->second.waits.empty() && now->spec.scheduler_name != pod->spec.scheduler_name) {
    // Nothing has been written: it begins anew there.
    world_.engine.put_pod(now);
    lose(key);
    return put_waiting(now);
  }
  assumed_[key] = flight->second.pod = now;
  // It takes what it asked for when it was decided; others go by its labels.
  cluster_.pods[key] =
      changed(cluster_.pods.at(key), [&](api::Pod& p) { p.metadata.labels = now->metadata.labels; });
  world_.engine.put_pod(now);
}

void RandomWorld::settle_assumed() {
  end_gone();
  const auto pod = any(assumed_);
  if (!pod) return;
  const std::string key = reference::key_of(*pod);
  if (!flights_.at(pod->metadata.uid).waits.empty()) {
    done_ = fmt::format("{} is bound by somebody else", pod->metadata.name);
    if (random_.chance(30)) confirm(key);
    return;
  }
  const bool well = random_.chance(70) || !pod->status.nominated_node_name.empty();
  done_ = fmt::format("{} the binding of {}", well ? "confirm" : "fail", pod->metadata.name);
  end_binding(key, well);
}

/// A node reports what it uses, or is not reported any more; maybe one that is not there.
void RandomWorld::report_load() {
  const std::string node = random_.node_name().str();
  const auto there = cluster_.node_metrics.find(node);
  if (there != cluster_.node_metrics.end() && loads_.chance(10)) {
    done_ = fmt::format("no report of {}", node);
    world_.engine.remove_object<api::NodeMetric>(there->second);
    cluster_.node_metrics.erase(there);
    return;
  }
  auto metric = loads_.report(node, cluster_);
  done_ = fmt::format("report {}", api::encode(*metric));
  cluster_.node_metrics[node] = metric;
  world_.engine.put_object<api::NodeMetric>(metric);
}

void RandomWorld::change_object() {
  switch (random_.below(6)) {
    case 0: return change_object(cluster_.namespaces, random_.namespace_object(random_.namespace_().view()));
    case 1: return change_object(cluster_.services, random_.service());
    case 2: return change_object(cluster_.replication_controllers, random_.replication_controller());
    case 3: return change_object(cluster_.replica_sets, random_.replica_set());
    case 4: return change_object(cluster_.stateful_sets, random_.stateful_set());
    default: return change_object(cluster_.budgets, random_.budget());
  }
}

void RandomWorld::change_storage() {
  const int what = random_.below(11);
  const auto known = [](const auto& all, const auto& made) {
    const api::ObjectMeta& meta = made->metadata;
    const auto it = all.find(
        meta.namespace_.empty() ? meta.name : fmt::format("{}/{}", meta.namespace_.view(), meta.name));
    return it == all.end() ? nullptr : it->second.get();
  };
  if (what < 4) return change_claim();
  if (what < 6) {
    const auto made = random_.volume(nullptr);
    const auto* there = known(cluster_.volumes, made);
    return change_object(cluster_.volumes, there != nullptr ? random_.volume(there) : made);
  }
  if (what == 6) {
    const auto made = random_.storage_class(nullptr);
    const auto* there = known(cluster_.classes, made);
    return change_object(cluster_.classes, there != nullptr ? random_.storage_class(there) : made);
  }
  if (what == 7) {
    const auto made = random_.capacity(nullptr);
    const auto* there = known(cluster_.capacities, made);
    return change_object(cluster_.capacities, there != nullptr ? random_.capacity(there) : made);
  }
  if (what < 10) return change_object(cluster_.csi_nodes, random_.csi_node(random_.node_name()));
  const auto made = random_.attachment();
  const auto there = cluster_.attachments.find(made->metadata.name);
  change_object(cluster_.attachments, there != cluster_.attachments.end() ? there->second : made);
}

/// One that pods share, or one that is made for a pod that waits or is there.
void RandomWorld::change_claim() {
  std::string ns = random_.namespace_().str(), name = random_.claim_name();
  std::shared_ptr<const api::Pod> owner;
  if (random_.chance(15))
    if (const auto pod = any(random_.chance(70) ? waiting_ : cluster_.pods))
      for (const api::Volume& v : pod->spec.volumes)
        if (v.ephemeral) {
          ns = pod->metadata.namespace_.str();
          name = fmt::format("{}-{}", pod->metadata.name, v.name.view());
          owner = pod;
        }
  const auto there = cluster_.claims.find(fmt::format("{}/{}", ns, name));
  auto claim = std::make_shared<api::PersistentVolumeClaim>(
      *random_.claim(ns, name, there != cluster_.claims.end() ? there->second.get() : nullptr));
  if (owner && there == cluster_.claims.end()) {
    api::OwnerReference& by = claim->metadata.owner_references.emplace_back();
    by.kind = "Pod";
    by.name = owner->metadata.name;
    by.uid = owner->metadata.uid;
    by.controller = true;
  }
  change_object<api::PersistentVolumeClaim>(cluster_.claims, claim);
}

template <class T>
void RandomWorld::change_object(reference::ByKey<T>& all, std::shared_ptr<const T> made) {
  const api::ObjectMeta& meta = made->metadata;
  const std::string key =
      meta.namespace_.empty() ? meta.name : fmt::format("{}/{}", meta.namespace_.view(), meta.name);
  const auto there = all.find(key);
  bool gone = there != all.end() && random_.chance(std::is_same_v<T, api::PersistentVolumeClaim> ? 10 : 30);
  // A namespace outlives what is in it, and a volume is protected while it is kept for somebody.
  if constexpr (std::is_same_v<T, api::Namespace>) gone = false;
  if constexpr (std::is_same_v<T, api::PersistentVolume>)
    gone = gone && !there->second->spec.claim_ref && !cluster_.assumed.volumes.contains(key);
  done_ = fmt::format("{} {}", gone ? "remove" : "put", api::encode(gone ? *there->second : *made));
  if (!gone) return put_object(all, *made);
  if constexpr (std::is_same_v<T, api::PersistentVolumeClaim>) cluster_.assumed.claims.erase(key);
  world_.engine.remove_object<T>(there->second);
  all.erase(there);
}

/// What the API server tells counts more than what is assumed.
template <class T>
void RandomWorld::put_object(reference::ByKey<T>& all, const T& made) {
  auto object = std::make_shared<T>(made);
  object->metadata.resource_version = std::to_string(++versions_);
  const api::ObjectMeta& meta = object->metadata;
  const std::string key =
      meta.namespace_.empty() ? meta.name : fmt::format("{}/{}", meta.namespace_.view(), meta.name);
  if constexpr (std::is_same_v<T, api::PersistentVolumeClaim>) cluster_.assumed.claims.erase(key);
  if constexpr (std::is_same_v<T, api::PersistentVolume>) cluster_.assumed.volumes.erase(key);
  all[key] = object;
  world_.engine.put_object<T>(object);
}
template void RandomWorld::put_object(reference::ByKey<api::PersistentVolume>&, const api::PersistentVolume&);
template void RandomWorld::put_object(reference::ByKey<api::PersistentVolumeClaim>&,
                                      const api::PersistentVolumeClaim&);

void RandomWorld::decide() {
  for (std::vector<Decision> decisions; found_.empty(); decisions.clear()) {
    if (world_.engine.schedule(1, decisions) == 0) break;
    for (const Decision& d : decisions) judge(d);
  }
  while (waiting_.size() > kMostWaiting) {
    const auto pod = any(waiting_);
    world_.engine.remove_pod(*pod);
    take_away(reference::key_of(*pod));
  }
}

/// A pod without a node is made or changed.
void RandomWorld::put_waiting(const std::shared_ptr<const api::Pod>& pod) {
  const std::string key = reference::key_of(*pod);
  waiting_[key] = pod;
  if (pod->status.nominated_node_name.empty())
    cluster_.nominated.erase(key);
  else
    cluster_.nominated[key] = pod;
  world_.engine.put_pod(pod);
}

}  // namespace koord::scheduling::test
