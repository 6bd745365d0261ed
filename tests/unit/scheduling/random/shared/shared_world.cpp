// What happens to the cluster: see shared_world.hpp.
#include "random/shared/shared_world.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "koord/api/koordinator/gang.hpp"
#include "koord/api/koordinator/quota.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"

namespace koord::scheduling::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostPods = 60, kMostNodes = 6, kTold = 12;
constexpr std::int32_t kPriorities[] = {0, 0, 5, 10};

KubeSchedulerConfiguration configuration() {
  KubeSchedulerConfiguration config;
  Plugins& plugins = config.profiles.emplace_back().plugins.ensure();
  plugins.multi_point.enabled = {{"ElasticQuota", {}}, {"Coscheduling", {}}, {"DefaultPreBind", {}}};
  plugins.post_filter.enabled = {{"ElasticQuota", {}}, {"Coscheduling", {}}, {"DefaultPreemption", {}}};
  return config;
}

}  // namespace

std::string gang_of(const api::Pod& pod) {
  if (const auto* const group = pod.metadata.labels.find(api::kPodGroupLabel)) return group->str();
  const auto* const gang = pod.metadata.annotations.find(api::kGangName);
  return gang != nullptr ? gang->str() : std::string();
}

int least_of(const api::Pod& pod, const std::map<std::string, std::shared_ptr<const api::PodGroup>>& groups) {
  if (const auto* const least = pod.metadata.annotations.find(api::kGangMin)) return std::stoi(least->str());
  const auto at = groups.find(gang_of(pod));
  return at != groups.end() ? at->second->spec.min_member : 0;
}

bool is_loose(const api::Pod& pod) { return pod.metadata.annotations.contains(api::kGangMode); }

std::int64_t cpu_of(const api::Pod& pod) {
  return pod.spec.containers[0].resources.requests.find("cpu")->milli_value();
}

SharedWorld::SharedWorld(unsigned seed, EngineOptions options)
    : seed_(seed), options_(options), random_(seed) {
  start();
  for (int i = 0; i < 3; ++i) put_node();
}

void SharedWorld::start() { world_ = std::make_unique<World>(configuration(), options_); }

/// Whoever comes next knows what the API server has, told in any order.
void SharedWorld::restart() {
  done_ = "restart";
  write(false);
  permits_.clear();
  start();
  std::vector<std::function<void()>> told;
  for (const auto& [name, node] : nodes_) told.push_back([this, n = node] { world_->engine.put_node(n); });
  for (const auto& [name, quota] : quotas_)
    told.push_back([this, q = quota] { world_->engine.put_object(q); });
  for (const auto& [name, group] : groups_)
    told.push_back([this, g = group] { world_->engine.put_object(g); });
  for (const auto& [name, pod] : pods_) told.push_back([this, p = pod] { world_->engine.put_pod(p); });
  std::shuffle(told.begin(), told.end(), random_);
  for (const auto& tell_one : told) tell_one();
  for (const auto& each : world_->engine.profiles()[0].plugins)
    if (auto* synced = dynamic_cast<SyncedPlugin*>(each.plugin.get())) synced->all_synced();
  ++met_["restarts"];
}

void SharedWorld::step() {
  if (!found_.empty()) return;
  ++steps_;
  done_.clear();
  change();
  last_changes_.push_back(fmt::format("{}: {}", steps_, done_));
  if (last_changes_.size() > kTold) last_changes_.erase(last_changes_.begin());
  decide();
  check_quotas();
  if (!chance(20)) return;
  for (int i = 0; i < 5 || (i < 10 && !flights_.empty()); ++i) pass_time();
  check_settled();
}

void SharedWorld::pass_time() {
  write(true);
  world_->clock.advance(11s);
  decide();
}

void SharedWorld::change() {
  const int what = below(100);
  if (what < 5) return put_node();
  if (what < 8) return lose_node();
  if (what < 18) return put_quota();
  if (what < 21) return remove_quota();
  if (what < 24) return restart();
  if (what < 38) return add_gang();
  if (what < 44) return change_group();
  if (what < 49) return move_pod();
  if (what < 64) return remove_some_pod();
  if (what < 78) {
    done_ = "bindings end";
    return write(false);
  }
  add_single();
}

void SharedWorld::put_node() {
  const std::string name = fmt::format("n{}", below(kMostNodes));
  std::int64_t cpu = 4 + below(20);
  // Never too small for what runs there already.
  for (const auto& [pod, object] : pods_)
    if (node_of(pod) == name && nodes_.contains(name))
      cpu = std::max(cpu, nodes_.at(name)->status.allocatable.find("cpu")->value());
  done_ = fmt::format("node {} of {}", name, cpu);
  nodes_[name] = make_node(name, std::to_string(cpu), "1Ti");
  world_->engine.put_node(nodes_.at(name));
}

/// With all that is on it, which the garbage collector takes away.
void SharedWorld::lose_node() {
  if (nodes_.size() < 2) return;
  const std::string name = std::next(nodes_.begin(), below(static_cast<int>(nodes_.size())))->first;
  done_ = fmt::format("node {} goes", name);
  world_->engine.remove_node(name);
  nodes_.erase(name);
  std::vector<std::string> gone;
  for (const auto& [pod, object] : pods_)
    if (node_of(pod) == name) gone.push_back(pod);
  for (const std::string& pod : gone) remove_pod(pod);
  ++met_["nodes lost"];
}

void SharedWorld::put_quota() {
  const std::string name = quota_name();
  const int number = name[1] - '0';
  auto quota = std::make_shared<api::ElasticQuota>();
  quota->metadata.name = name;
  quota->metadata.namespace_ = "quotas";
  const int most = below(50);
  quota->spec.max["cpu"] = api::Quantity::from_int(most);
  quota->spec.min["cpu"] = api::Quantity::from_int(std::min(most, below(12)));
  if (number > 0 && chance(50))
    quota->metadata.labels[std::string(api::kQuotaParentLabel)] = fmt::format("q{}", below(number));
  if (chance(30)) quota->metadata.labels[std::string(api::kQuotaLendsLabel)] = "false";
  done_ = fmt::format("quota {}", name);
  quotas_[name] = quota;
  world_->engine.put_object(quotas_.at(name));
}

void SharedWorld::remove_quota() {
  const auto found = quotas_.find(quota_name());
  if (found == quotas_.end()) return;
  done_ = fmt::format("quota {} goes", found->first);
  const auto last = found->second;
  quotas_.erase(found);
  world_->engine.remove_object(last);
}

void SharedWorld::put(const Pod& pod) {
  pods_[pod->metadata.name] = pod;
  world_->engine.put_pod(pod);
}

void SharedWorld::add_single() {
  if (pods_.size() >= kMostPods) return remove_some_pod();
  const std::string name = fmt::format("p{}", ++made_);
  const bool counted = chance(80), kept = chance(10);
  done_ = fmt::format("pod {}", name);
  put(make_pod(name, std::to_string(1 + below(8)), "1Mi", [&](api::Pod& p) {
    if (counted) p.metadata.labels[std::string(api::kQuotaNameLabel)] = quota_name();
    if (kept) p.metadata.labels[std::string(api::kQuotaPreemptibleLabel)] = "false";
    p.spec.priority = kPriorities[below(4)];
  }));
}

/// By annotations, or by a PodGroup that may come later.
void SharedWorld::add_gang() {
  if (pods_.size() >= kMostPods) return remove_some_pod();
  const std::string gang = fmt::format("g{}", ++gangs_), quota = chance(70) ? quota_name() : "";
  const int least = 1 + below(6), members = least + below(3) - (chance(10) ? 1 : 0);
  const bool by_group = chance(50), loose = !by_group && chance(30);
  const std::string cpu = std::to_string(1 + below(3));
  const std::int32_t priority = kPriorities[below(4)];
  done_ = fmt::format("gang {}: {} of {}{}", gang, members, least,
                      by_group ? " by PodGroup"
                      : loose  ? ", loose"
                               : "");
  if (by_group && chance(70)) {
    auto group = std::make_shared<api::PodGroup>();
    group->metadata.namespace_ = "default";
    group->metadata.name = gang;
    group->metadata.uid = "uid-of-" + gang;
    group->spec.min_member = least;
    groups_[gang] = group;
    world_->engine.put_object(groups_.at(gang));
  }
  for (int n = 0; n < members; ++n)
    put(make_pod(fmt::format("{}-{}", gang, n), cpu, "1Mi", [&](api::Pod& p) {
      if (!quota.empty()) p.metadata.labels[std::string(api::kQuotaNameLabel)] = quota;
      if (by_group) {
        p.metadata.labels[api::kPodGroupLabel] = gang;
      } else {
        p.metadata.annotations[api::kGangName] = gang;
        p.metadata.annotations[api::kGangMin] = std::to_string(least);
        if (loose) {
          p.metadata.annotations[api::kGangMode] = "NonStrict";
          p.metadata.annotations[api::kGangWaitingTime] = "15s";
        }
      }
      p.spec.priority = priority;
    }));
}

/// A PodGroup goes while its pods are there, or comes late.
void SharedWorld::change_group() {
  for (const auto& [name, pod] : pods_) {
    const std::string gang = gang_of(*pod);
    if (gang.empty() || pod->metadata.annotations.contains(api::kGangMin) || groups_.contains(gang)) continue;
    auto group = std::make_shared<api::PodGroup>();
    group->metadata.namespace_ = "default";
    group->metadata.name = gang;
    group->metadata.uid = fmt::format("uid-of-{}-at-{}", gang, steps_);
    group->spec.min_member = 1 + below(4);
    done_ = fmt::format("PodGroup {} comes: {}", gang, group->spec.min_member);
    groups_[gang] = group;
    world_->engine.put_object(groups_.at(gang));
    ++met_["PodGroups that came late"];
    return;
  }
  if (groups_.empty()) return;
  const auto at = std::next(groups_.begin(), below(static_cast<int>(groups_.size())));
  done_ = fmt::format("PodGroup {} goes", at->first);
  const auto last = at->second;
  groups_.erase(at);
  world_->engine.remove_object(last);
}

/// To another quota; also one that runs.
void SharedWorld::move_pod() {
  if (pods_.empty()) return;
  const auto at = std::next(pods_.begin(), below(static_cast<int>(pods_.size())));
  done_ = fmt::format("{} moves", at->first);
  put(changed(at->second,
              [&](api::Pod& p) { p.metadata.labels[std::string(api::kQuotaNameLabel)] = quota_name(); }));
}

void SharedWorld::remove_some_pod() {
  if (pods_.empty()) return;
  const std::string name = std::next(pods_.begin(), below(static_cast<int>(pods_.size())))->first;
  done_ = fmt::format("{} goes", name);
  remove_pod(name);
}

void SharedWorld::remove_pod(const std::string& name) {
  const Pod gone = pods_.at(name);
  const std::string gang = gang_of(*gone);
  pods_.erase(gone->metadata.name);
  permits_.erase(gone->metadata.name);
  world_->engine.remove_pod(*gone);
  // A gang that nobody is of any more is another one when it comes again.
  if (std::ranges::none_of(pods_, [&](const auto& each) { return gang_of(*each.second) == gang; }))
    ever_bound_.erase(gang);
}

void SharedWorld::write(bool all_well) {
  const auto flights = std::exchange(flights_, {});
  const auto flying = std::exchange(flying_, {});
  for (const auto& [name, node] : flights) {
    const Pod& decided = flying.at(name);
    if (!pods_.contains(name) || (!all_well && chance(12))) {
      world_->engine.binding_failed(*decided);
      ++met_["bindings failed"];
      continue;
    }
    ++met_["pods bound"];
    world_->engine.binding_succeeded(*decided);
    if (const std::string gang = gang_of(*decided); !gang.empty()) ++ever_bound_[gang];
    put(changed(pods_.at(name), [&](api::Pod& p) { p.spec.node_name = Symbol(node); }));
  }
}

}  // namespace koord::scheduling::test
