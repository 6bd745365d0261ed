// What quotas, gangs and nodes allow, from the objects alone: see shared_world.hpp.
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "koord/api/koordinator/gang.hpp"
#include "koord/api/koordinator/quota.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/json/value.hpp"
#include "koord/scheduling/plugin/service_plugin.hpp"
#include "random/shared/shared_world.hpp"

namespace koord::scheduling::test {
namespace {

reference::QuotaAmounts plain(const api::ResourceList& list) {
  reference::QuotaAmounts all;
  for (const auto& [name, quantity] : list)
    all[name.str()] = name == "cpu" ? quantity.milli_value() : quantity.value();
  return all;
}

/// What the plugin says of a quota's CPU, in milli; 0: it does not name it.
std::int64_t said(const json::Value& quota, std::string_view field) {
  const std::string_view cpu = json::text_at(quota, field, "cpu");
  return cpu.empty() ? 0 : api::Quantity::must(cpu).milli_value();
}

}  // namespace

void SharedWorld::tell(std::string_view about, const std::string& what) {
  if (!found_.empty()) return;
  found_ = fmt::format("seed {}, step {}: {}: {}\n\nThe last changes:\n  {}", seed_, steps_, about, what,
                       fmt::join(last_changes_, "\n  "));
}

std::string SharedWorld::node_of(const std::string& pod) const {
  for (const auto* decided : {&flights_, &permits_})
    if (const auto at = decided->find(pod); at != decided->end()) return at->second;
  return pods_.at(pod)->spec.node_name.str();
}

std::string SharedWorld::quota_of(const api::Pod& pod) const {
  const std::string label(api::quota_name(pod.metadata));
  return quotas_.contains(label) ? label : std::string(api::kDefaultQuota);
}

reference::QuotaState SharedWorld::quota_state() const {
  reference::QuotaState state;
  for (const auto name : {api::kSystemQuota, api::kDefaultQuota}) {
    auto& quota = state.quotas[std::string(name)];
    quota.parent = api::kRootQuota;
    quota.max = {{"cpu", INT64_MAX}, {"memory", INT64_MAX / 5}};
  }
  for (const auto& [name, object] : quotas_) {
    const api::QuotaTerms terms = api::quota_terms(*object);
    state.quotas[name] = {terms.parent, terms.lends, plain(object->spec.min), plain(object->spec.max),
                          plain(terms.shared_weight)};
  }
  state.total = {{"cpu", 0}, {"memory", 0}};
  for (const auto& [name, node] : nodes_)
    for (auto& [resource, amount] : state.total) amount += plain(node->status.allocatable).at(resource);
  int number = 0;
  for (const auto& [name, pod] : pods_)
    state.pods[++number] = {quota_of(*pod), plain(api::pod_requests(*pod)),
                            !pod->metadata.labels.contains(api::kQuotaPreemptibleLabel),
                            !node_of(name).empty()};
  return state;
}

void SharedWorld::decide() {
  for (int round = 0; found_.empty(); ++round) {
    // Time may have passed for the plugin before it decides.
    std::vector<Decision> made;
    if (world_->engine.schedule(1, made) == 0 && made.empty()) return;
    judge(made);
    if (round > 1000)
      return tell("the engine", fmt::format("it decides without end, last about {}: {}", names(made),
                                            made.empty() ? "" : made[0].message()));
  }
}

void SharedWorld::judge(const std::vector<Decision>& made) {
  std::set<std::string> gangs, nodes;
  for (const Decision& d : made) {
    const std::string name = d.pod->metadata.name;
    if (!pods_.contains(name)) {
      tell(name, "it is decided about, and is not there");
      continue;
    }
    const bool waited = permits_.erase(name) != 0, waits = d.kind() == Decision::Kind::wait;
    if (waits && !is_loose(*d.pod)) tell(name, "it waits for a permit, as nobody of a strict gang has to");
    if (!d.preemption().victims.empty()) judge_preemption(d);
    if (!waits && d.kind() != Decision::Kind::bind) {
      told_[name] = d.message();
      ++met_[d.kind() == Decision::Kind::gated ? "pods gated" : "pods refused"];
      continue;
    }
    if (!node_of(name).empty()) tell(name, "it is decided about twice");
    (waits ? permits_ : flights_)[name] = d.node().str();
    if (!waits) flying_[name] = d.pod;
    nodes.insert(d.node().str());
    if (!waited) judge_admission(*pods_.at(name));
    if (waits) {
      ++met_["members that wait"];
      continue;
    }
    if (const std::string gang = gang_of(*d.pod); !gang.empty()) gangs.insert(gang);
    ++met_[gang_of(*d.pod).empty() ? "pods placed" : "members placed"];
  }
  if (nodes.empty() || !found_.empty()) return;
  for (const std::string& node : nodes) judge_node(node);
  for (const std::string& gang : gangs) judge_gang(gang);
}

/// Of its own quota, at the moment in which the pod is placed; those above are not asked.
void SharedWorld::judge_admission(const api::Pod& pod) {
  const std::string quota = quota_of(pod);
  if (quota == api::kDefaultQuota) return;
  const reference::QuotaState state = quota_state();
  const auto answers = reference::quota_answers(state);
  const auto& cpu = answers.at(quota).at("cpu");
  const std::int64_t max = state.quotas.at(quota).max.at("cpu");
  if (cpu.used > max || cpu.used > cpu.runtime.value_or(max))
    tell(pod.metadata.name, fmt::format("with it {}m is used of {}, of {}m at most and a runtime of {}m",
                                        cpu.used, quota, max, cpu.runtime.value_or(-1)));
  ++met_["admissions by quota"];
}

/// Only of lower priorities, only who is somewhere; they go at once.
void SharedWorld::judge_preemption(const Decision& d) {
  std::vector<std::string> victims;
  for (const auto& victim : d.preemption().victims) {
    const std::string name = victim.pod->metadata.name;
    if (!pods_.contains(name) || node_of(name).empty())
      tell(name, "it is to make room, and is nowhere");
    else if (victim.pod->spec.priority.value_or(0) >= d.pod->spec.priority.value_or(0))
      tell(name, fmt::format("it is to make room for {}, which is not above it", d.pod->metadata.name));
    else
      victims.push_back(name);
  }
  ++met_["preemptions"];
  world_->engine.preempted(*d.pod, true);
  for (const std::string& victim : victims) remove_pod(victim);
  // Of one that has started each is a job of its own.
  if (const std::string gang = gang_of(*d.pod); d.preemption().job == "default/" + gang) judge_room(d, gang);
}

/// Once they have gone what the gang lacks has room on the nodes and in its quota: nobody has gone in vain.
void SharedWorld::judge_room(const Decision& d, const std::string& gang) {
  int bound = 0;
  std::vector<Pod> waiting;
  for (const auto& [name, pod] : pods_) {
    if (gang_of(*pod) != gang) continue;
    if (node_of(name).empty())
      waiting.push_back(pod);
    else
      ++bound;
  }
  const int least = waiting.empty() ? 0 : least_of(*waiting[0], groups_);
  const auto is_alike = [&](const Pod& pod) { return quota_of(*pod) == quota_of(*waiting[0]); };
  if (least <= bound || is_loose(*waiting[0]) || !std::ranges::all_of(waiting, is_alike)) return;
  const std::int64_t room = room_for(*waiting[0]);
  if (room < least - bound)
    tell(gang, fmt::format("pods went for it, and there is room for {} of the {} that it lacks: {}", room,
                           least - bound, d.message()));
  ++met_[d.message().find("Insufficient quotas") != std::string::npos ? "preemptions of gangs in their quota"
                                                                      : "preemptions of gangs"];
}

void SharedWorld::judge_node(const std::string& name) {
  const auto node = nodes_.find(name);
  if (node == nodes_.end()) return tell(name, "a pod is bound to it, and it is not there");
  std::int64_t used = 0;
  for (const auto& [pod, object] : pods_)
    if (node_of(pod) == name) used += cpu_of(*object);
  if (used > node->second->status.allocatable.find("cpu")->milli_value())
    tell(name, fmt::format("{}m of its CPUs are used", used));
}

/// Of a gang of which nobody was ever bound as many are decided at once as it needs.
void SharedWorld::judge_gang(const std::string& gang) {
  int there = 0, least = 0;
  for (const auto& [name, pod] : pods_) {
    if (gang_of(*pod) != gang) continue;
    least = least_of(*pod, groups_);
    if (!node_of(name).empty()) ++there;
  }
  if (least == 0) return tell(gang, "it is placed, and nobody says how many it needs");
  if (ever_bound_[gang] == 0 && there < least) tell(gang, fmt::format("{} of {} are placed", there, least));
  ++met_["gangs placed"];
}

/// What the plugin counts is what follows from the objects.
void SharedWorld::check_quotas() {
  const auto answers = reference::quota_answers(quota_state());
  std::int64_t runtimes = 0, mins = 0, total = 0;
  for (const auto& [name, node] : nodes_) total += node->status.allocatable.find("cpu")->milli_value();
  for (const auto& each : world_->engine.profiles()[0].plugins) {
    const auto* const serves = dynamic_cast<const ServicePlugin*>(each.plugin.get());
    if (serves == nullptr || each.name != "ElasticQuota") continue;
    for (const auto& [name, object] : quotas_) {
      const auto page = serves->serve({"/quotas/" + name, {}});
      if (!page || page->status != 200) return tell(name, "the plugin does not know it");
      const auto document = json::parse(page->json);
      if (!document) return tell(name, "its page is no JSON");
      const auto& cpu = answers.at(name).at("cpu");
      const std::pair<const char*, std::int64_t> rows[] = {
          {"used", cpu.used}, {"request", cpu.request}, {"runtime", cpu.runtime.value_or(0)}};
      for (const auto& [field, expected] : rows)
        if (const std::int64_t has = said(*document, field); has != expected)
          tell(name, fmt::format("its {} is {}m, and should be {}m", field, has, expected));
      ++met_["quotas compared"];
      if (std::string_view(api::quota_terms(*object).parent) != api::kRootQuota) continue;
      runtimes += cpu.runtime.value_or(0);
      mins += object->spec.min.find("cpu")->milli_value();
    }
  }
  // Beside the default quota, which takes what it takes.
  const std::int64_t others = answers.at(std::string(api::kDefaultQuota)).at("cpu").used;
  if (mins <= total - others && runtimes > total - others)
    tell("quotas", fmt::format("they may use {}m of {}m, and their mins fit", runtimes, total - others));
}

std::int64_t SharedWorld::room_for(const api::Pod& pod) const {
  const std::int64_t each = cpu_of(pod);
  std::int64_t fit = 0;
  for (const auto& [name, node] : nodes_) {
    std::int64_t left = node->status.allocatable.find("cpu")->milli_value();
    for (const auto& [other, object] : pods_)
      if (node_of(other) == name) left -= cpu_of(*object);
    fit += std::max<std::int64_t>(left, 0) / each;
  }
  const std::string quota = quota_of(pod);
  if (quota == api::kDefaultQuota) return fit;
  const reference::QuotaState state = quota_state();
  const auto answers = reference::quota_answers(state);
  const auto& cpu = answers.at(quota).at("cpu");
  const std::int64_t limit = std::min(cpu.runtime.value_or(state.quotas.at(quota).max.at("cpu")),
                                      state.quotas.at(quota).max.at("cpu"));
  fit = std::min(fit, std::max<std::int64_t>(limit - cpu.used, 0) / each);
  if (!pod.metadata.labels.contains(api::kQuotaPreemptibleLabel)) return fit;
  // Who may not be taken away has to fit into the min.
  const std::int64_t min = state.quotas.at(quota).min.at("cpu") - cpu.non_preemptible_used;
  return std::min(fit, std::max<std::int64_t>(min, 0) / each);
}

/// Single pods and gangs, with what they were told, for which there is room.
std::map<std::string, std::string> SharedWorld::left_waiting() {
  // Room that is kept for somebody who preempted is not theirs.
  if (world_->engine.nominator().size() != 0) {
    ++met_["times with nominations"];
    return {};
  }
  std::map<std::string, std::vector<Pod>> waiting;  // by gang
  std::map<std::string, int> bound;
  for (const auto& [name, pod] : pods_) {
    if (pod->spec.node_name.empty())
      waiting[gang_of(*pod)].push_back(pod);
    else
      ++bound[gang_of(*pod)];
  }
  std::map<std::string, std::string> left;
  for (const auto& [gang, members] : waiting) {
    if (gang.empty()) {
      for (const Pod& pod : members)
        if (room_for(*pod) > 0) left[pod->metadata.name] = told_[pod->metadata.name];
      continue;
    }
    const int least = least_of(*members[0], groups_), missing = least - bound[gang];
    const bool alike =
        std::ranges::all_of(members, [&](const Pod& pod) { return quota_of(*pod) == quota_of(*members[0]); });
    if (least == 0 || !alike || is_loose(*members[0]) || static_cast<int>(members.size()) < missing) continue;
    if (room_for(*members[0]) >= std::max(missing, 1)) left[gang] = told_[members[0]->metadata.name];
  }
  return left;
}

void SharedWorld::check_settled() {
  if (!found_.empty()) return;
  if (!flights_.empty()) return tell("the cluster", "it decides and decides");
  if (world_->engine.assumed() != permits_.size())
    return tell("the engine", "it assumes a pod that nobody places");
  if (world_->engine.waiting() != permits_.size())
    return tell("the engine", "a pod waits for a permit that is not known");
  auto left = left_waiting();
  // A loose gang may have given up its nodes just now.
  for (int i = 0; i < 4 && !left.empty(); ++i) {
    pass_time();
    const auto still = left_waiting();
    std::erase_if(left, [&](const auto& each) { return !still.contains(each.first); });
  }
  for (const auto& [who, told] : left) tell(who, "it fits, and waits: " + told);
  ++met_["times settled"];
}

void SharedWorld::empty() {
  if (!found_.empty()) return;
  write(true);
  while (!pods_.empty()) remove_pod(pods_.begin()->first);
  decide();
  check_quotas();
  const Engine& engine = world_->engine;
  if (engine.pods() + engine.assumed() + engine.waiting() + engine.nominator().size() != 0)
    tell("the engine",
         fmt::format("of pods that are gone it has {}, {} assumed, {} that wait, {} nominated", engine.pods(),
                     engine.assumed(), engine.waiting(), engine.nominator().size()));
}

}  // namespace koord::scheduling::test
