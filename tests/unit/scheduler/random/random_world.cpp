// The incremental engine beside the oracle: see random_world.hpp.
#include "random/random_world.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "koord/api/schema/codec.hpp"
#include "support/reference/matching.hpp"

namespace koord::scheduler::test {

namespace {

constexpr int kProbes = 12;
constexpr int kStorage = 60;  // changes of claims, volumes and drivers before the first pod comes
constexpr std::size_t kMostWaiting = 6;
constexpr std::size_t kTold = 10;

int nodes_of(unsigned seed) { return 8 + static_cast<int>(seed % 33); }

std::string text(const std::optional<reference::Rejection>& rejected) {
  if (!rejected) return "feasible";
  return fmt::format("{}{} {}", rejected->plugin, rejected->unresolvable ? ", unresolvable," : "",
                     rejected->reasons);
}

std::optional<reference::Rejection> rejection(const Profile& profile, const Verdict& verdict) {
  reference::Rejection out{
      verdict.plugin == kNoPlugin ? "" : std::string(profile.plugin_name(verdict.plugin)),
      verdict.unresolvable, verdict.reasons};
  std::sort(out.reasons.begin(), out.reasons.end());
  return out;
}

/// " NAME FINAL (RAW)" of each plugin that has a say; one that gives every node nothing may also have none.
std::string scores(std::map<std::string, reference::NodeAnswer::Score> all) {
  std::string text;
  for (const auto& [plugin, s] : all)
    if (s.final != 0) text += fmt::format(" {} {} ({})", plugin, s.final, s.raw);
  return text;
}
std::string scores(const reference::NodeAnswer& node) { return scores(node.scores); }
std::string scores(const Profile& profile, const Explanation& said) {
  std::map<std::string, reference::NodeAnswer::Score> all;
  for (const ScoreDetail& s : said.scores)
    all[std::string(profile.plugin_name(s.plugin))] = {s.raw, s.normalized * s.weight};
  return scores(std::move(all));
}

}  // namespace

RandomWorld::RandomWorld(unsigned seed, const EngineOptions& options, PluginTable table)
    : RandomWorld(seed, RandomLoads(seed).with_loads(RandomObjects(seed, nodes_of(seed)).profile()), options,
                  table) {}

RandomWorld::RandomWorld(unsigned seed, RandomProfile profile, const EngineOptions& options,
                         PluginTable table)
    : seed_(seed),
      random_(seed, nodes_of(seed)),
      loads_(seed),
      lives_(seed),
      nodes_(nodes_of(seed)),
      oracle_(std::move(profile.oracle)),
      world_(std::move(profile.config), options, table) {
  // What koord does not have yet the oracle is not asked for either.
  const auto is_missing = [&](const std::string& name) {
    const auto& there = world_.engine.profiles()[0].plugins;
    return std::none_of(there.begin(), there.end(), [&](auto& p) { return p.name == name; });
  };
  std::erase_if(oracle_.filters, is_missing);
  std::erase_if(oracle_.scores, [&](auto& s) { return is_missing(s.name); });
  oracle_.preemption = !is_missing("DefaultPreemption");
  const Profile& made = world_.engine.profiles()[0];
  for (const auto& each : made.post_filters)
    if (made.plugin_name(each.index) == "DynamicResources") claims_ = "no new claims to deallocate, ";
  for (const char* name : RandomObjects::kNamespaces)
    change_object(cluster_.namespaces, random_.namespace_object(name));
  for (int i = 0; i < kStorage; ++i) change_storage();
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
  change();
  last_changes_.push_back(fmt::format("{}: {}", steps_, done_));
  if (last_changes_.size() > kTold) last_changes_.erase(last_changes_.begin());
  // Who waits for his backoff has waited long enough.
  pass_time();
  decide();
  if (steps_ % 8 == 0) look_for_forgotten();
  for (const auto& probe : probes_) compare(*probe);
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
  pod = lives_.dress(pod);
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
  cluster_.pods.erase(key);
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
  take_away(reference::key_of(*pod));
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
  assumed_[key] = now;
  // It takes what it asked for when it was decided; others go by its labels.
  cluster_.pods[key] =
      changed(cluster_.pods.at(key), [&](api::Pod& p) { p.metadata.labels = now->metadata.labels; });
  world_.engine.put_pod(now);
}

void RandomWorld::settle_assumed() {
  const auto pod = any(assumed_);
  if (!pod) return;
  const std::string key = reference::key_of(*pod);
  if (random_.chance(70) || !pod->status.nominated_node_name.empty()) {
    done_ = fmt::format("confirm {}", pod->metadata.name);
    return confirm(key);
  }
  done_ = fmt::format("fail the binding of {}", pod->metadata.name);
  take_away(key);
  waiting_[key] = pod;
  world_.engine.binding_failed(*pod);
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
  const int what = random_.below(10);
  const auto known = [](const auto& all, const auto& made) {
    const auto it = all.find(made->metadata.name);
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
  if (what < 9) return change_object(cluster_.csi_nodes, random_.csi_node(random_.node_name()));
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
  // A namespace outlives what is in it.
  const bool gone = there != all.end() && !std::is_same_v<T, api::Namespace> && random_.chance(30);
  done_ = fmt::format("{} {}", gone ? "remove" : "put", api::encode(gone ? *there->second : *made));
  if (gone) {
    world_.engine.remove_object<T>(there->second);
    all.erase(there);
  } else {
    all[key] = made;
    world_.engine.put_object<T>(made);
  }
}

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

/// The watch tells of an assumed pod's binding.
void RandomWorld::confirm(const std::string& key) {
  std::shared_ptr<const api::Pod>& pod = cluster_.pods.at(key);
  pod = changed(pod, [&](api::Pod& p) {
    if (random_.chance(80)) p.status.start_time = random_.start_time();
    loads_.settle(p, cluster_.now);
  });
  world_.engine.put_pod(pod);
  assumed_.erase(key);
  cluster_.assumed_at.erase(key);
}

void RandomWorld::judge(const Decision& d) {
  if (!PodLives::is_ours(*d.pod)) return tell(*d.pod, "it is decided about, and is nobody's here");
  if (d.kind == Decision::Kind::bind) return judge_bound(d);
  const std::string key = reference::key_of(*d.pod);
  const reference::Answer answer = reference::evaluate(cluster_, oracle_, *d.pod);
  std::string expected = answer.message;
  refusals_[key] = {steps_, d.message};
  std::optional<reference::Preemption> preemption;
  if (!claims_.empty() && !answer.prefilter_message.empty()) {
    // What DynamicResources says where its own PreFilter was not reached; nobody is asked after it.
    expected = fmt::format("{} not found", expected);
  } else if (oracle_.preemption && !cluster_.nodes.empty()) {
    preemption = reference::preempt(cluster_, oracle_, *d.pod);
    if (!preemption->message.empty())
      expected = fmt::format("{} {}{}", expected, claims_, preemption->message);
  }
  if (d.message != expected)
    return tell(*d.pod, fmt::format("the engine says \"{}\",\n  the oracle \"{}\"", d.message, expected));
  if (preemption && !preemption->best.empty()) return judge_preemption(d, *preemption);
  if (d.nominate && !d.nominate->empty())
    return tell(*d.pod, fmt::format("it is nominated to {}, the oracle sees no victims", d.nominate->view()));
  if (d.nominate && !d.pod->status.nominated_node_name.empty())
    put_waiting(changed(d.pod, [&](api::Pod& p) { p.status.nominated_node_name = {}; }));
}

void RandomWorld::judge_preemption(const Decision& d, const reference::Preemption& expected) {
  const std::string node = d.nominate.value_or(Symbol()).str();
  // Which of two alike goes first is nobody's business.
  bool certain = true;
  for (const auto& [name, candidate] : expected.candidates) certain = certain && candidate.certain;
  std::vector<std::string> victims;
  for (const auto& v : d.preemption.victims) victims.push_back(reference::key_of(*v.pod));
  const auto at = expected.candidates.find(node);
  if (at == expected.candidates.end() || (certain && !expected.best.contains(node)))
    return tell(*d.pod, fmt::format("victims {} on \"{}\", best of {} are {}", victims, node,
                                    expected.candidates.size(), expected.best));
  std::vector<std::string> wanted = at->second.victims;
  std::erase_if(wanted,
                [&](auto& key) { return cluster_.pods.at(key)->metadata.deletion_timestamp.has_value(); });
  if (at->second.certain && (victims != wanted || d.preemption.chosen != at->second.victims.size()))
    return tell(*d.pod, fmt::format("victims {} on {}, the oracle takes {}", victims, node, wanted));
  ++met_["DefaultPreemption"].scored;
  for (const auto& victim : d.preemption.victims) {
    const std::string key = reference::key_of(*victim.pod);
    if (random_.chance(50) || assumed_.contains(key)) {
      world_.engine.remove_pod(*victim.pod);
      take_away(key);
      continue;
    }
    cluster_.pods[key] = changed(cluster_.pods.at(key), [&](api::Pod& p) {
      p.metadata.deletion_timestamp = api::Time(world_.clock.now());
      p.status.conditions.push_back({"DisruptionTarget", "True", 0, {}, "PreemptionByScheduler", {}});
    });
    world_.engine.put_pod(cluster_.pods.at(key));
  }
  for (const auto& other : d.preemption.yielding)
    put_waiting(changed(other, [&](api::Pod& p) { p.status.nominated_node_name = {}; }));
  put_waiting(changed(d.pod, [&](api::Pod& p) { p.status.nominated_node_name = *d.nominate; }));
  world_.engine.preempted(*d.pod, true);
}

void RandomWorld::judge_bound(const Decision& d) {
  const reference::Answer expected = reference::evaluate(cluster_, oracle_, *d.pod);
  const std::string key = reference::key_of(*d.pod);
  std::int64_t best = 0;
  std::string best_scores;
  for (const auto& [name, node] : expected.nodes)
    if (!node.rejected && node.final > best) {
      best = node.final;
      best_scores = fmt::format("{}{}", name, scores(node));
    }
  const auto at = expected.nodes.find(d.node.str());
  const auto nominated = expected.nodes.find(d.pod->status.nominated_node_name.str());
  const bool keeps = nominated != expected.nodes.end() && !nominated->second.rejected;
  if (at == expected.nodes.end() || at->second.rejected)
    tell(*d.pod, fmt::format("bound to {}, where the oracle says: {}", d.node.view(),
                             at == expected.nodes.end() ? "no such node" : text(at->second.rejected)));
  else if (keeps && at != nominated)
    tell(*d.pod, fmt::format("bound to {}, nominated to {}", d.node.view(), nominated->first));
  else if (!keeps && expected.feasible > 1 && at->second.final != best)
    tell(*d.pod, fmt::format("bound to {}, of score {}:{}\n  best is {}: {}", d.node.view(), at->second.final,
                             scores(at->second), best, best_scores));
  take_away(key);
  assumed_[key] = d.pod;
  cluster_.assumed_at[key] = cluster_.now;
  cluster_.pods[key] = changed(d.pod, [&](api::Pod& p) {
    p.spec.node_name = d.node;
    p.status.nominated_node_name = {};
  });
  if (random_.chance(50)) confirm(key);
}

/// The hints of the plugins let no pod wait that a node would do for. A pod that is assumed moves nobody
/// before the watch tells of it.
void RandomWorld::look_for_forgotten() {
  // Once at least: somebody may have been taken away since the last decision.
  do {
    while (!assumed_.empty()) confirm(std::string(assumed_.begin()->first));
    pass_time();
    decide();
  } while (!assumed_.empty() && found_.empty());
  for (const auto& [key, pod] : waiting_) {
    if (!PodLives::is_ours(*pod)) continue;
    const auto& [step, message] = refusals_[key];
    if (const reference::Answer now = reference::evaluate(cluster_, oracle_, *pod); now.feasible > 0)
      tell(*pod, fmt::format("it waits, although {} of {} nodes would do; step {}: {}", now.feasible,
                             now.nodes.size(), step, message));
  }
}

void RandomWorld::compare(const api::Pod& probe) {
  if (!found_.empty() || cluster_.nodes.empty()) return;
  const Profile& profile = world_.engine.profiles()[0];
  ClassState& state = world_.engine.evaluate(profile, std::make_shared<api::Pod>(probe));
  state.judge_refused();
  const reference::Answer expected = reference::evaluate(cluster_, oracle_, probe);
  const NodeTable& table = world_.engine.nodes();
  const VerdictTable& verdicts = world_.engine.context().verdicts;
  std::size_t seen = 0;
  for (Row row = 0; row < table.rows() && expected.prefilter_message.empty(); ++row) {
    const VerdictId id = state.verdict(row);
    if (id == kAbsent) continue;
    ++seen;
    const std::string name = table.name(row).str();
    const auto at = expected.nodes.find(name);
    if (at == expected.nodes.end()) return tell(probe, fmt::format("the engine knows a node {}", name));
    const auto rejected = id == kPass ? std::nullopt : rejection(profile, verdicts[id]);
    if (rejected != at->second.rejected)
      return tell(probe, fmt::format("{}:\n  engine: {}\n  oracle: {}", name, text(rejected),
                                     text(at->second.rejected)));
    if (rejected) ++met_[rejected->plugin].rejected;
    for (const auto& [plugin, s] : at->second.scores) met_[plugin].scored += s.final > 0;
    // One feasible node is not scored.
    if (rejected || expected.feasible == 1) continue;
    const std::string ours = scores(profile, state.explain(row)), theirs = scores(at->second);
    if (state.score(row) != at->second.final || ours != theirs)
      return tell(probe, fmt::format("{}:\n  engine: {} of{}\n  oracle: {} of{}", name, state.score(row),
                                     ours, at->second.final, theirs));
  }
  if (expected.prefilter_message.empty() && seen != cluster_.nodes.size())
    return tell(probe, fmt::format("the engine knows {} nodes of {}", seen, cluster_.nodes.size()));
  if (state.feasible() != expected.feasible)
    return tell(probe, fmt::format("{} feasible nodes instead of {}", state.feasible(), expected.feasible));
  if (expected.feasible > 0) return;
  if (const Diagnosis why = state.diagnose(); !why.prefilter_message.empty()) {
    // It is said of all nodes.
    const std::string& by = expected.nodes.begin()->second.rejected->plugin;
    for (const auto& [name, node] : expected.nodes)
      if (node.rejected->plugin != by || node.rejected->reasons != std::vector{why.prefilter_message})
        return tell(probe, fmt::format("{}:\n  engine: {}\n  oracle: {}", name, why.prefilter_message,
                                       text(node.rejected)));
    PluginMask said = 0;
    for (std::size_t i = 0; i < profile.plugins.size(); ++i)
      if (profile.plugins[i].name == by) said = mask_of(static_cast<PluginIndex>(i));
    if ((why.rejectors & said) == 0)
      return tell(probe, fmt::format("{} does not count as who refused it", by));
    met_[by].rejected += expected.nodes.size();
  }
  if (const std::string message = fit_error(state.diagnose()); message != expected.message)
    tell(probe, fmt::format("the engine says \"{}\",\n  the oracle \"{}\"", message, expected.message));
}

void RandomWorld::tell(const api::Pod& pod, const std::string& what) {
  if (!found_.empty()) return;
  found_ = fmt::format("seed {}, step {}, after\n  {}\npod {}: {}\n  {}", seed_, steps_,
                       fmt::join(last_changes_, "\n  "), pod.metadata.name, what, api::encode(pod));
  for (const auto& [name, node] : cluster_.nodes)
    if (what.starts_with(fmt::format("{}:", name)) ||
        what.find(fmt::format(" {},", name)) != std::string::npos) {
      found_ += fmt::format("\n  {}", api::encode(*node));
      for (const auto& [key, other] : cluster_.pods)
        if (other->spec.node_name == name) found_ += fmt::format("\n  {}", api::encode(*other));
      for (const auto& [key, other] : cluster_.nominated)
        if (other->status.nominated_node_name == name) found_ += fmt::format("\n  {}", api::encode(*other));
    }
}

}  // namespace koord::scheduler::test
