// Upkeep of reservations: see upkeep.hpp.
#include "scheduling/plugins/reservation/control/upkeep.hpp"

#include <algorithm>

#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "scheduling/plugins/reservation/rules/facts.hpp"
#include "scheduling/plugins/reservation/rules/status.hpp"

namespace koord::scheduling::reservation {

namespace {

std::optional<Holder> holder(const api::Pod& pod) {
  if (pod.spec.node_name.empty()) return std::nullopt;
  const auto said = api::read_annotation<api::ReservationAllocated>(pod.metadata.annotations);
  // What nobody can read says nothing, as everywhere.
  if (!said || !*said || (*said)->uid.empty()) return std::nullopt;
  Holder made{.of = {(*said)->name, (*said)->uid},
              .node = pod.spec.node_name,
              .pod = {},
              .requests = api::pod_requests(pod)};
  made.pod.namespace_ = pod.metadata.namespace_;
  made.pod.name = pod.metadata.name;
  made.pod.uid = pod.metadata.uid;
  return made;
}

std::vector<Symbol> names_of(const api::ResourceList& amounts) {
  std::vector<Symbol> names;
  for (const auto& [name, amount] : amounts) names.push_back(name);
  return names;
}

bool same(const std::vector<api::ObjectReference>& are, const std::vector<api::ObjectReference>& sorted) {
  if (are.size() != sorted.size()) return false;
  std::vector<api::ObjectReference> ordered = are;
  std::ranges::sort(ordered, {}, &api::ObjectReference::uid);
  return ordered == sorted;
}

}  // namespace

std::vector<ReservationKey> Holders::put(const api::Pod& pod) {
  std::vector<ReservationKey> concerned = remove(pod);
  std::optional<Holder> now = holder(pod);
  if (!now) return concerned;
  if (concerned.empty() || !(concerned.front() == now->of)) concerned.push_back(now->of);
  const auto [it, added] = pods_.emplace(pod.metadata.uid, *std::move(now));
  users_[it->second.of.uid].emplace(it->first, &it->second);
  return concerned;
}

std::vector<ReservationKey> Holders::remove(const api::Pod& pod) {
  const auto it = pods_.find(pod.metadata.uid);
  if (it == pods_.end()) return {};
  const auto users = users_.find(it->second.of.uid);
  users->second.erase(it->first);
  if (users->second.empty()) users_.erase(users);
  std::vector<ReservationKey> concerned{std::move(it->second.of)};
  pods_.erase(it);
  return concerned;
}

std::vector<const Holder*> Holders::of(const std::string& reservation_uid) const {
  std::vector<const Holder*> found;
  const auto it = users_.find(reservation_uid);
  if (it == users_.end()) return found;
  for (const auto& [uid, holder] : it->second) found.push_back(holder);
  return found;
}

std::optional<api::Reservation> settled(const api::Reservation& r, const Holders& holders, bool has_node,
                                        WallTime now) {
  if (is_over(r) || r.status.node_name.empty()) return std::nullopt;
  api::Reservation after = r;
  if (expires_now(r, now) || !has_node) {
    set_expired(after, now);
    return after;
  }
  std::vector<api::ObjectReference> owners;
  api::ResourceList allocated;
  for (const Holder* holder : holders.of(r.metadata.uid)) {
    if (holder->node != r.status.node_name) continue;
    owners.push_back(holder->pod);
    add(allocated, holder->requests);
  }
  allocated = only(allocated, names_of(r.status.allocatable));
  if (same(r.status.current_owners, owners) && r.status.allocated == allocated) return std::nullopt;
  after.status.current_owners = std::move(owners);
  after.status.allocated = std::move(allocated);
  if (allocates_once(r)) set_succeeded(after, now);
  return after;
}

bool may_be_collected(const api::Reservation& r, bool has_node, nanoseconds after, WallTime now) {
  const bool expired = is_expired(r), succeeded = r.status.phase == "Succeeded";
  if (!expired && !succeeded) return false;
  if (!r.status.node_name.empty() && !has_node) return true;
  for (const api::ReservationCondition& each : r.status.conditions)
    if (each.reason == (expired ? "Expired" : "Succeeded"))
      return std::chrono::floor<std::chrono::seconds>(now) -
                 (expired ? each.last_transition_time : each.last_probe_time).at >
             after;
  return false;
}

}  // namespace koord::scheduling::reservation
