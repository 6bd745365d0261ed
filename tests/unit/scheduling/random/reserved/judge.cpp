// What the engine says, does and counts beside the oracle's answers: see reserved_world.hpp.
#include <fmt/ranges.h>

#include <algorithm>

#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/scheduling/classes/class_state.hpp"
#include "random/answers.hpp"
#include "random/reserved/reserved_world.hpp"
#include "scheduling/plugins/reservation/control/upkeep.hpp"
#include "support/reference/matching.hpp"
#include "support/reference/reservations.hpp"

namespace koord::scheduling::test {

namespace {

/// The parts of a list, whose order nobody promises.
std::multiset<std::string> parts(std::string_view list) {
  std::multiset<std::string> all;
  while (!list.empty()) {
    const std::size_t end = list.find(", ");
    all.emplace(list.substr(0, end));
    list = end == std::string_view::npos ? "" : list.substr(end + 2);
  }
  return all;
}

std::int64_t amount(const api::ResourceList& list, std::string_view name) {
  const api::Quantity* q = list.find(name);
  return q == nullptr ? 0 : name == "cpu" ? q->milli_value() : q->value();
}

std::int64_t value_of(const std::map<std::string, std::int64_t>& all, const std::string& name) {
  const auto at = all.find(name);
  return at == all.end() ? 0 : at->second;
}

}  // namespace

void ReservedWorld::decide() {
  std::vector<Decision> one;
  for (int i = 0; i < 200 && found_.empty(); ++i) {
    one.clear();
    world_->engine.schedule(1, one);
    if (one.empty()) return;
    judge(one.front());
  }
}

void ReservedWorld::judge(const Decision& d) {
  const std::string uid = reference::reserves_for(*d.pod), key = reference::key_of(*d.pod);
  std::optional<api::Pod> own;
  if (uid.empty()) {
    if (!waiting_.contains(key)) return tell(d.pod->metadata.name, "it is decided about, and does not wait");
    own = *waiting_.at(key);
  } else {
    for (const auto& [name, r] : cluster_.reservations)
      if (r->metadata.uid == uid && r->status.node_name.empty()) own = reference::reserve_pod(*r);
    if (!own || cluster_.placed.contains(uid)) return tell(uid, "it is decided about, and does not wait");
  }
  if (d.kind() == Decision::Kind::skip) {
    const auto at = std::ranges::find_if(cluster_.reservations,
                                         [&](auto& each) { return each.second->metadata.uid == uid; });
    if (at == cluster_.reservations.end() || !at->second->metadata.deletion_timestamp)
      tell(uid, "it is passed over: " + d.message());
    return;
  }
  const reference::Answer expected = reference::evaluate(cluster_, oracle_, *own);
  if (d.kind() == Decision::Kind::bind) return judge_choice(d, expected, !uid.empty());
  if (expected.feasible > 0)
    return tell(api::encode(*own), fmt::format("the engine says \"{}\",\n  the oracle has {} nodes",
                                               d.message(), expected.feasible));
  if ((d.kind() == Decision::Kind::error) != !expected.error.empty())
    return tell(own->metadata.name, "one of them has an error: " + d.message());
  if (!expected.error.empty()) return;
  ++met_[uid.empty() ? "pods refused" : "reservations refused"];
  std::string_view said = d.message();
  if (!said.starts_with(expected.message))
    return tell(api::encode(*own),
                fmt::format("the engine says \"{}\",\n  the oracle \"{}\"", said, expected.message));
  said.remove_prefix(expected.message.size());
  if (!said.empty()) said.remove_prefix(1);
  if (parts(said) != expected.about_reservations)
    tell(api::encode(*own),
         fmt::format("the engine adds \"{}\",\n  the oracle {}", said, expected.about_reservations));
  met_["told of reservations"] += expected.about_reservations.size();
}

void ReservedWorld::judge_choice(const Decision& d, const reference::Answer& expected, bool reserves) {
  const std::string node = d.node().str(), name = d.pod->metadata.name;
  const auto at = expected.nodes.find(node);
  if (at == expected.nodes.end() || at->second.rejected)
    return tell(api::encode(*d.pod),
                fmt::format("bound to {}, where the oracle says: {}", node,
                            at == expected.nodes.end() ? "no such node" : text(at->second.rejected)));
  for (const auto& [other, each] : expected.nodes)
    if (expected.feasible > 1 && !each.rejected && each.final > at->second.final)
      return tell(api::encode(*d.pod), fmt::format("bound to {} of{}, better is {} of{}", node,
                                                   scores(at->second.scores), other, scores(each.scores)));
  Flight flight{d.pod, d.tells_end()};
  const std::map<std::string, std::int64_t> before = used_of(node);
  if (reserves) {
    ++met_["reservations placed"];
    cluster_.placed[d.pod->metadata.uid] = node;
    if (d.as<Decision::Bind>()->binder != "Reservation") tell(name, "it is bound as a pod");
  } else {
    const auto& changes = d.as<Decision::Bind>()->changes;
    const auto bound = changed(changes ? std::make_shared<const api::Pod>(patched(*d.pod, *changes)) : d.pod,
                               [&](api::Pod& p) { p.spec.node_name = d.node(); });
    const auto given = api::read_annotation<api::ReservationAllocated>(bound->metadata.annotations);
    const std::string of = given && *given ? (*given)->uid : std::string();
    const std::set<std::string>& may = at->second.reservations;
    if (of.empty() ? !may.empty() : !may.contains(of))
      return tell(api::encode(*d.pod),
                  fmt::format("on {} it gets room of \"{}\", and should of {}", node, of, may));
    if (!of.empty()) judge_gift(*bound, of);
    ++met_[of.empty() ? "pods placed" : "owners placed"];
    const std::string key = reference::key_of(*d.pod);
    waiting_.erase(key);
    cluster_.pods[key] = bound;
  }
  // What the choice asks for is there, whoever computes it; what others have made of the node is theirs.
  const auto* const ignores = d.pod->metadata.labels.find(api::kReservationIgnoredLabel);
  const std::map<std::string, std::int64_t> after = used_of(node);
  if (ignores == nullptr || *ignores != "true")
    for (const auto& [resource, quantity] : api::pod_requests(*d.pod))
      if (const std::int64_t has = amount(cluster_.nodes.at(node)->status.allocatable, resource),
          used = value_of(after, resource.str());
          used > has && used > value_of(before, resource.str()) &&
          !oracle_.unreserved_resources.contains(resource.str()))
        tell(name, fmt::format("{} of {} {} is used of {}", used, has, resource.view(), node));
  flights_[d.pod->metadata.uid] = std::move(flight);
  if (random_.chance(60)) end_a_binding(random_.chance(90));
}

/// Nobody is given what is not there, is elsewhere, or is used up; of a Restricted one no more than it has.
void ReservedWorld::judge_gift(const api::Pod& pod, const std::string& uid) {
  const auto kept = reference::kept_on_nodes(cluster_);
  const auto at = kept.find(uid);
  if (at == kept.end() || !at->second.usable() || at->second.node != pod.spec.node_name.view())
    return tell(pod.metadata.name, fmt::format("it gets room of {}, which is not there for it", uid));
  const reference::Kept& r = at->second;
  if (r.object->spec.allocate_policy != "Restricted") return;
  for (const auto& [name, asked] : reference::masked(api::pod_requests(pod), r.counted))
    if (!oracle_.unreserved_resources.contains(name.str()) &&
        amount(r.taken, name) + amount(api::pod_requests(pod), name) > amount(r.has, name) &&
        !asked.is_zero() && !pod.metadata.annotations.contains(api::ReservationAffinity::kAnnotation))
      tell(pod.metadata.name, fmt::format("it overdraws {} by its {}", uid, name.view()));
}

void ReservedWorld::compare(const std::shared_ptr<const api::Pod>& probe) {
  if (!found_.empty() || cluster_.nodes.empty()) return;
  const Profile& profile = world_->engine.profiles()[0];
  ClassState& state = world_->engine.evaluate(profile, probe);
  state.judge_refused();
  const reference::Answer expected = reference::evaluate(cluster_, oracle_, *probe);
  const Diagnosis why = state.diagnose();
  const NodeTable& table = world_->engine.nodes();
  for (Row row = 0; row < table.rows() && expected.prefilter_message.empty(); ++row) {
    const VerdictId id = state.verdict(row);
    if (id == kAbsent) continue;
    const std::string name = table.name(row).str();
    const reference::NodeAnswer& at = expected.nodes.at(name);
    const auto rejected =
        id == kPass ? std::nullopt : rejection(profile, world_->engine.context().verdicts[id]);
    if (rejected != at.rejected)
      return tell(api::encode(*probe),
                  fmt::format("{}:\n  engine: {}\n  oracle: {}", name, text(rejected), text(at.rejected)));
    ++met_[rejected ? rejected->plugin + " refuses" : "nodes pass"];
    if (rejected || expected.feasible == 1) continue;
    const std::string ours = scores(profile, state.explain(row)), theirs = scores(at.scores);
    if (state.score(row) != at.final || ours != theirs)
      return tell(api::encode(*probe), fmt::format("{}:\n  engine: {} of{}\n  oracle: {} of{}", name,
                                                   state.score(row), ours, at.final, theirs));
    met_["Reservation scores"] += at.scores.contains("Reservation") && at.scores.at("Reservation").raw > 0;
  }
  if (state.feasible() != expected.feasible)
    return tell(api::encode(*probe),
                fmt::format("{} feasible nodes instead of {}", state.feasible(), expected.feasible));
  if (expected.feasible == 0 && why.error.empty() && fit_error(why) != expected.message)
    tell(api::encode(*probe),
         fmt::format("the engine says \"{}\",\n  the oracle \"{}\"", fit_error(why), expected.message));
}

/// By its pods, and kept for others.
std::map<std::string, std::int64_t> ReservedWorld::used_of(const std::string& node) const {
  std::map<std::string, std::int64_t> used;
  const auto count = [&](const reference::Counted& pod) {
    for (const auto& [resource, quantity] : pod.requests)
      if (resource != "pods") used[resource.str()] += amount(pod.requests, resource);
    used["cpu for scores"] += pod.at_least.milli_cpu;
    used["memory for scores"] += pod.at_least.memory;
    ++used["pods"];
  };
  for (const auto& [key, pod] : cluster_.pods)
    if (pod->spec.node_name.view() == node) count(reference::Counted(*pod));
  for (const auto& [uid, kept] : reference::kept_on_nodes(cluster_))
    if (kept.node == node) count(kept.rest());
  return used;
}

/// What is used of each node is what its pods ask for and reservations keep for others.
void ReservedWorld::check_sums() {
  if (!found_.empty()) return;
  const NodeTable& table = world_->engine.nodes();
  const auto number = [&](const std::string& resource) {
    if (resource == "cpu for scores") return kNonzeroCpu;
    if (resource == "memory for scores") return kNonzeroMemory;
    const ResourceId fixed = fixed_resource(resource);
    return fixed == kFirstScalar ? world_->engine.context().nodes.resources().id(resource) : fixed;
  };
  for (const auto& [name, node] : cluster_.nodes) {
    const Row row = table.find(name);
    const std::map<std::string, std::int64_t> used = used_of(name);
    std::map<std::string, std::int64_t> counted;
    for (const auto& [resource, n] : used)
      counted[resource] = resource == "pods" ? static_cast<std::int64_t>(table.pods(row).size())
                                             : table.used(number(resource), row);
    if (counted != used)
      return tell(name, fmt::format("the engine counts {},\n  the objects have {}", counted, used));
  }
}

/// What would be written as status.allocated is what the owners ask for of what the reservation keeps.
void ReservedWorld::check_owners() {
  if (!found_.empty()) return;
  reservation::Holders holders;
  for (const auto& [key, pod] : cluster_.pods) holders.put(*pod);
  for (const auto& [uid, kept] : reference::kept_on_nodes(cluster_)) {
    if (!kept.available) continue;
    const auto settled = reservation::settled(*kept.object, holders, true, cluster_.now);
    const api::Reservation& r = settled ? *settled : *kept.object;
    if (r.status.phase != "Available") continue;
    std::set<std::string> all;
    for (const auto& [name, quantity] : kept.has) all.insert(name.str());
    api::ResourceList sum;
    std::size_t owners = 0;
    for (const auto& [key, pod] : cluster_.pods) {
      const auto given = api::read_annotation<api::ReservationAllocated>(pod->metadata.annotations);
      if (!given || !*given || (*given)->uid != uid || pod->spec.node_name.view() != kept.node) continue;
      ++owners;
      for (const auto& [name, quantity] : reference::masked(api::pod_requests(*pod), all))
        sum[name] += quantity;
    }
    bool same = owners == r.status.current_owners.size();
    for (const std::string& name : all) same = same && amount(sum, name) == amount(r.status.allocated, name);
    if (!same)
      return tell(kept.name(),
                  fmt::format("{} owners have other than status.allocated says: {}", owners, api::encode(r)));
    met_["owners counted"] += owners;
  }
}

void ReservedWorld::tell(std::string_view about, const std::string& what) {
  if (!found_.empty()) return;
  found_ = fmt::format("seed {}, step {}, after\n  {}\n  {}\n{}: {}", seed_, steps_,
                       fmt::join(last_changes_, "\n  "), done_, about, what);
  for (const auto& [name, node] : cluster_.nodes) {
    if (what.find(name) == std::string::npos && about.find(name) == std::string::npos) continue;
    found_ += fmt::format("\n  {}", api::encode(*node));
    for (const auto& [key, pod] : cluster_.pods)
      if (pod->spec.node_name.view() == name) found_ += fmt::format("\n    {}", api::encode(*pod));
    for (const auto& [key, r] : cluster_.reservations)
      if (r->status.node_name.view() == name || cluster_.placed.contains(r->metadata.uid))
        found_ += fmt::format("\n    {}", api::encode(*r));
  }
}

}  // namespace koord::scheduling::test
