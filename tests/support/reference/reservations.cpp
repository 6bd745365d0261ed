// What reservations mean for one pod: see reservations.hpp.
#include "support/reference/reservations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "koord/api/koordinator/node.hpp"
#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/schema/codec.hpp"
#include "support/reference/matching.hpp"

namespace koord::reference {

namespace {

constexpr const char* kPlugin = "Reservation";
constexpr const char* kMark = "scheduling.koordinator.sh/reserve-pod";
constexpr std::int64_t kPreferred = 1000;

std::string said(const api::SymbolMap& map, std::string_view key) {
  const Symbol* const value = map.find(key);
  return value == nullptr ? std::string() : value->str();
}

bool is_number(const std::string& text, std::int64_t& number) {
  char* end = nullptr;
  errno = 0;
  number = std::strtoll(text.c_str(), &end, 10);
  return !text.empty() && text[0] != ' ' && *end == '\0' && errno == 0;
}

/// 0: it has none.
std::int64_t order_of(const Kept& kept) {
  std::int64_t order = 0;
  return is_number(said(kept.object->metadata.labels, "scheduling.koordinator.sh/reservation-order"), order)
             ? order
             : 0;
}

api::Quantity of(const api::ResourceList& list, std::string_view name) {
  const api::Quantity* const q = list.find(name);
  return q == nullptr ? api::Quantity() : *q;
}
/// As nodes count them.
std::int64_t amount(const api::ResourceList& list, std::string_view name) {
  return name == "cpu" ? of(list, name).milli_value() : of(list, name).value();
}
bool is_scalar(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.starts_with("hugepages-");
}
bool is_counted(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" || is_scalar(name);
}

bool is(std::string_view wanted, std::string_view there) { return wanted.empty() || wanted == there; }

bool owns(const api::ReservationOwner& owner, const api::Pod& pod) {
  const api::ObjectMeta& meta = pod.metadata;
  if (owner.object) {
    const api::ObjectReference& o = *owner.object;
    if (!is(o.uid, meta.uid) || !is(o.name, meta.name) || !is(o.namespace_, meta.namespace_) ||
        !is(o.api_version, "v1"))
      return false;
  }
  if (owner.controller) {
    const auto& c = *owner.controller;
    if (!is(c.namespace_, meta.namespace_)) return false;
    bool any = false;
    for (const api::OwnerReference& ref : meta.owner_references)
      any = any || (is(c.owner.uid, ref.uid) && is(c.owner.name, ref.name) && is(c.owner.kind, ref.kind) &&
                    is(c.owner.api_version, ref.api_version) &&
                    (!c.owner.controller || c.owner.controller == ref.controller));
    if (!any) return false;
  }
  return !owner.label_selector || Selector::of(owner.label_selector.get()).matches(meta.labels);
}

bool can_be_read(const api::LabelSelector& selector) {
  return std::all_of(selector.match_expressions.begin(), selector.match_expressions.end(), [](const auto& r) {
    const bool values = r.operator_ == "In" || r.operator_ == "NotIn";
    return values ? !r.values.empty()
                  : (r.operator_ == "Exists" || r.operator_ == "DoesNotExist") && r.values.empty();
  });
}

/// It keeps room for others, and has none of another.
bool is_reservation(const api::Pod& pod) {
  return said(pod.metadata.labels, "scheduling.koordinator.sh/operating-mode") == "Reservation";
}

std::int64_t policy_conflict(std::string_view a, std::string_view b) {
  return (a.empty() || b.empty()) && a != b;
}

}  // namespace

std::string reserves_for(const api::Pod& pod) {
  return said(pod.metadata.annotations, kMark) == "true" ? pod.metadata.uid : std::string();
}

std::optional<api::Pod> reserve_pod(const api::Reservation& r) {
  const bool available = r.status.phase == "Available" && !r.status.node_name.empty();
  const bool over = r.status.phase == "Failed" || r.status.phase == "Succeeded";
  if (r.spec.template_.empty() || r.spec.owners.empty() || (!r.spec.ttl && !r.spec.expires)) return {};
  if (over || (!r.status.node_name.empty() && !available)) return {};
  auto read = api::decode<api::Pod>(r.spec.template_.text);
  if (!read) return {};
  api::Pod pod = *std::move(read);
  pod.metadata.name = pod.metadata.uid = r.metadata.uid;
  if (pod.metadata.namespace_.empty()) pod.metadata.namespace_ = "default";
  for (const auto& [key, value] : r.metadata.labels) pod.metadata.labels[key] = value;
  for (const auto& [key, value] : r.metadata.annotations) pod.metadata.annotations[key] = value;
  pod.metadata.annotations[kMark] = "true";
  std::int64_t priority = 0;
  if (!pod.spec.priority)
    pod.spec.priority = is_number(said(r.metadata.labels, "koordinator.sh/priority"), priority)
                            ? static_cast<std::int32_t>(priority)
                            : std::numeric_limits<std::int32_t>::max();
  if (pod.spec.scheduler_name.empty()) pod.spec.scheduler_name = "default-scheduler";
  pod.spec.node_name = r.status.node_name;
  if (!available) return pod;
  api::ResourceList asks = api::pod_requests(pod);
  if (asks == r.status.allocatable) return pod;
  for (const auto& [name, quantity] : r.status.allocatable) asks[name] = quantity;
  pod.spec.overhead.clear();
  for (api::Container& c : pod.spec.init_containers) c.resources = {};
  for (api::Container& c : pod.spec.containers) c.resources = {};
  pod.spec.containers.emplace_back().resources.requests = std::move(asks);
  return pod;
}

bool Kept::usable() const {
  return available && !broken && !(object->spec.allocate_once.value_or(true) && pods > 0);
}

api::ResourceList masked(const api::ResourceList& requests, const std::set<std::string>& names) {
  api::ResourceList some;
  for (const auto& [name, quantity] : requests)
    if (names.contains(name.str())) some[name] = quantity;
  return some;
}

/// A reservation and its pods are on the node both: what these have of it is there once. Scores count of who
/// asks for nothing as much as of a container.
Counted Kept::rest() const {
  Counted rest(*pod);
  if (pods == 0) return rest;
  for (const auto& [name, used] : taken)
    if (const api::Quantity there = of(rest.requests, name); !there.is_zero())
      rest.requests[name] = there - std::min(used, there);
  api::Pod as_one;
  as_one.spec.containers.emplace_back().resources.requests = taken;
  const api::NonZeroRequests used = api::non_zero_requests(as_one);
  rest.at_least.milli_cpu -= std::min(used.milli_cpu, rest.at_least.milli_cpu);
  rest.at_least.memory -= std::min(used.memory, rest.at_least.memory);
  return rest;
}

std::map<std::string, Kept> kept_on_nodes(const Cluster& cluster) {
  std::map<std::string, Kept> all;
  for (const auto& [key, object] : cluster.reservations) {
    auto pod = reserve_pod(*object);
    if (!pod) continue;
    Kept kept;
    kept.object = object;
    kept.node = object->status.node_name.str();
    kept.available = !kept.node.empty();
    if (const auto on_its_way = cluster.placed.find(object->metadata.uid);
        !kept.available && on_its_way != cluster.placed.end())
      kept.node = on_its_way->second;
    if (kept.node.empty()) continue;
    kept.has = kept.available ? object->status.allocatable : api::pod_requests(*pod);
    for (const auto& [name, quantity] : kept.has) kept.counted.insert(name.str());
    const auto& notes = object->metadata.annotations;
    if (object->spec.allocate_policy == "Restricted") {
      const auto options = api::read_annotation<api::ReservationRestrictedOptions>(notes);
      kept.broken = !options;
      std::set<std::string> both;
      if (options && *options)
        for (const Symbol& name : (*options)->resources)
          if (kept.counted.contains(name.str())) both.insert(name.str());
      if (!both.empty()) kept.counted = both;
    }
    if (const auto back = api::read_annotation<api::NodeReservation>(notes); back && *back)
      kept.back = masked((*back)->resources, kept.counted);
    for (const api::ReservationOwner& owner : object->spec.owners)
      kept.broken = kept.broken || (owner.label_selector && !can_be_read(*owner.label_selector));
    pod->spec.node_name = kept.node;
    kept.pod = std::make_shared<const api::Pod>(*std::move(pod));
    all.emplace(object->metadata.uid, std::move(kept));
  }
  for (const auto& [key, pod] : cluster.pods) {
    const auto given = api::read_annotation<api::ReservationAllocated>(pod->metadata.annotations);
    if (!given || !*given || is_reservation(*pod)) continue;
    const auto at = all.find((*given)->uid);
    if (at == all.end() || at->second.node != pod->spec.node_name.view()) continue;
    ++at->second.pods;
    for (const auto& [name, quantity] : masked(api::pod_requests(*pod), at->second.counted))
      at->second.taken[name] += quantity;
  }
  return all;
}

Reservations::Reservations(const Cluster& cluster, const Config& config, const api::Pod& pod)
    : cluster_(cluster),
      config_(config),
      pod_(pod),
      all_(kept_on_nodes(cluster)),
      requests_(api::pod_requests(pod)) {
  if (std::find(config.filters.begin(), config.filters.end(), kPlugin) == config.filters.end()) return;
  reserves_ = !reserves_for(pod).empty();
  if (!reserves_) read(pod);
  if (reserves_ || !error_.empty() || is_reservation(pod)) return;
  if (const auto one = cluster.reservations.find(wanted_);
      !wanted_.empty() && one != cluster.reservations.end())
    only_ = one->second->status.node_name.str();
  for (const auto& [uid, kept] : all_) {
    if (!only_.empty() && kept.node != only_) continue;
    const auto node = cluster.nodes.find(kept.node);
    if (node == cluster.nodes.end() || !kept.usable() || (affinity_ && !may_go(pod, *node->second))) continue;
    const Fit said = fit(kept, *node->second);
    if (ignores_ || said == Fit::matched || said == Fit::named) mine_[kept.node].push_back(&kept);
  }
}

void Reservations::read(const api::Pod& pod) {
  const auto& notes = pod.metadata.annotations;
  ignores_ = said(pod.metadata.labels, "scheduling.koordinator.sh/reservation-ignored") == "true";
  const auto affinity = api::reservation_affinity(pod.metadata);
  const auto exact = api::read_annotation<api::ExactMatchReservation>(notes);
  if (!affinity || !exact) {
    error_ = "an annotation that nobody can read";
    return;
  }
  if (*exact && !(*exact)->resource_names.empty()) {
    exact_.emplace();
    for (const Symbol& name : (*exact)->resource_names) exact_->push_back(name.str());
  }
  affinity_ = affinity->has_value();
  if (!affinity_) return;
  wanted_ = (*affinity)->name;
  labels_ = (*affinity)->reservation_selector;
  if ((*affinity)->required) terms_ = (*affinity)->required->reservation_selector_terms;
  for (const auto& t : (*affinity)->tolerations) tolerating_.spec.tolerations.push_back(t);
}

/// In the order in which Koordinator asks.
Reservations::Fit Reservations::fit(const Kept& kept, const api::Node& node, std::string* why) const {
  const api::Reservation& r = *kept.object;
  if (!std::any_of(r.spec.owners.begin(), r.spec.owners.end(), [&](auto& o) { return owns(o, pod_); }))
    return Fit::foreign;
  bool exact = true;
  for (const std::string& name : exact_.value_or(std::vector<std::string>())) {
    const bool here = requests_.contains(name), there = kept.has.contains(name);
    if (!here && !there) break;
    exact = exact && here == there && of(requests_, name) == of(kept.has, name);
    if (!exact) break;
  }
  if (!wanted_.empty()) {
    if (wanted_ != kept.name()) return Fit::other_name;
    return exact ? Fit::named : Fit::not_exact;
  }
  const bool closed = r.spec.unschedulable || r.metadata.deletion_timestamp.has_value();
  if (closed &&
      !(affinity_ && tolerates(tolerating_, {"node.kubernetes.io/unschedulable", {}, "NoSchedule", {}})))
    return Fit::closed;
  if (affinity_) {
    for (const api::Taint& taint : r.spec.taints) {
      if ((taint.effect != "NoSchedule" && taint.effect != "NoExecute") || tolerates(tolerating_, taint))
        continue;
      if (why != nullptr) *why = fmt::format("{{{}: {}}}", taint.key.view(), taint.value.view());
      return Fit::tainted;
    }
    api::Node both;
    both.metadata.name = kept.name();
    both.metadata.labels = node.metadata.labels;
    for (const auto& [key, value] : r.metadata.labels) both.metadata.labels[key] = value;
    if (!Selector::of(labels_).matches(both.metadata.labels)) return Fit::affinity;
    if (terms_ &&
        std::none_of(terms_->begin(), terms_->end(), [&](auto& term) { return matches(term, both); }))
      return Fit::affinity;
  }
  return exact ? Fit::matched : Fit::not_exact;
}

const Reservations::Mine& Reservations::on(const api::Node& node) const {
  static const Mine kNone;
  const auto at = mine_.find(node.metadata.name);
  return at == mine_.end() ? kNone : at->second;
}

void Reservations::put_on(State& state) const {
  for (NodeState& node : state) {
    const Mine& mine = on(*node.node);
    for (const auto& [uid, kept] : all_)
      if (kept.node == node.node->metadata.name && std::find(mine.begin(), mine.end(), &kept) == mine.end())
        node.pods.push_back(kept.rest());
  }
}

std::string Reservations::rejected() const {
  return affinity_ && mine_.empty() ? "node(s) no reservations match reservation affinity" : "";
}

bool Reservations::leaves_out(const api::Node& node) const {
  return affinity_ && !mine_.contains(node.metadata.name);
}

/// `node` is without the reservations that the pod may use.
std::int64_t Reservations::free(const NodeState& node, const Symbol& resource, const Kept* through) const {
  std::int64_t used = 0;
  for (const Counted& pod : node.pods) used += amount(pod.requests, resource);
  for (const Kept* kept : on(*node.node)) {
    const std::int64_t rest = amount(kept->rest().requests, resource);
    // What is kept back inside of it is nobody's; of what it does not count its pods have nothing.
    const bool opened = kept == through && kept->counted.contains(resource.str());
    used += opened ? std::min(rest, amount(kept->back, resource)) : rest;
  }
  return amount(node.node->status.allocatable, resource) - used;
}

std::set<std::string> Reservations::short_of(const NodeState& node, const Kept* through) const {
  std::set<std::string> names;
  for (const auto& [name, quantity] : requests_) {
    const std::string text = name.str();
    const std::int64_t wanted = amount(requests_, text);
    if (wanted <= 0 || !is_counted(text) || config_.unreserved_resources.contains(text)) continue;
    if (wanted > free(node, name, through)) names.insert(text);
  }
  return names;
}

std::vector<std::string> Reservations::lacks(const Kept& kept) const {
  std::vector<std::string> reasons;
  if (kept.object->spec.allocate_policy != "Restricted") return reasons;
  const bool told = !wanted_.empty();
  if (kept.has.contains("pods"))
    if (const std::int64_t most = of(kept.has, "pods").value(); kept.pods + 1 > most)
      reasons.push_back(
          told ? fmt::format("Reservation(s) Too many pods, requested: 1, used: {}, capacity: {}", kept.pods,
                             most)
               : "Reservation(s) Too many pods");
  for (const std::string& name : kept.counted) {
    const api::Quantity wanted = of(requests_, name), used = of(kept.taken, name);
    if (wanted.is_zero() || config_.unreserved_resources.contains(name)) continue;
    const api::Quantity capacity = of(kept.has, name) - of(kept.back, name);
    if (wanted <= capacity - used) continue;
    const auto number = [&](const api::Quantity& q) { return name == "cpu" ? q.milli_value() : q.value(); };
    reasons.push_back(
        told ? fmt::format("Reservation(s) Insufficient {}, requested: {}, used: {}, capacity: {}", name,
                           number(wanted), number(used), number(capacity))
             : fmt::format("Reservation(s) Insufficient {}", name));
  }
  return reasons;
}

/// A pod that is one, or stands for one: reservations that say no policy share a node with their like alone.
Filtered Reservations::as_reservation(const api::Node& node) const {
  std::string policy = "Aligned";  // of pods that keep room for others
  if (reserves_) {
    const auto at = std::find_if(cluster_.reservations.begin(), cluster_.reservations.end(),
                                 [&](auto& each) { return each.second->metadata.uid == pod_.metadata.uid; });
    if (at == cluster_.reservations.end()) return std::nullopt;
    policy = at->second->spec.allocate_policy.str();
    const auto of_template = api::decode<api::Pod>(at->second->spec.template_.text);
    if (of_template && !of_template->spec.node_name.empty() &&
        of_template->spec.node_name.view() != node.metadata.name)
      return Rejection{kPlugin, true, {"node(s) didn't match the nodeName specified by reservation"}};
  }
  for (const auto& [uid, kept] : all_)
    if (kept.node == node.metadata.name && kept.usable() &&
        policy_conflict(policy, kept.object->spec.allocate_policy.view()))
      return Rejection{kPlugin, true, {"node(s) reservation allocate policy conflict"}};
  return std::nullopt;
}

Filtered Reservations::filter(const NodeState& node) const {
  if (reserves_ || is_reservation(pod_))
    if (const Filtered rejected = as_reservation(*node.node); rejected || reserves_) return rejected;
  const Mine& mine = on(*node.node);
  if (mine.empty() && affinity_) return Rejection{kPlugin, true, {rejected()}};
  if (mine.empty() || ignores_) return std::nullopt;
  std::set<std::string> by_node;
  Rejection why{kPlugin, false, {}};
  for (const Kept* kept : mine) {
    const bool shares = !masked(requests_, kept->counted).empty();
    if ((!affinity_ && !shares) || (!wanted_.empty() && wanted_ != kept->name())) continue;
    const std::set<std::string> lacking = short_of(node, kept);
    const std::vector<std::string> inside = lacks(*kept);
    if (lacking.empty() && inside.empty()) return std::nullopt;
    by_node.insert(lacking.begin(), lacking.end());
    if (affinity_) why.reasons.insert(why.reasons.end(), inside.begin(), inside.end());
  }
  if (!affinity_ && by_node.empty()) by_node = short_of(node, nullptr);
  for (const std::string& name : by_node) why.reasons.push_back(fmt::format("Insufficient {} by node", name));
  if (why.reasons.empty()) {
    if (!affinity_) return std::nullopt;
    why.reasons.emplace_back("node(s) no reservation(s) to meet the requirements");
  }
  std::sort(why.reasons.begin(), why.reasons.end());
  return why;
}

/// The fuller it would be the better.
std::int64_t Reservations::score(const Kept& kept) const {
  std::int64_t sum = 0, resources = 0;
  for (const auto& [name, capacity] : kept.has) {
    if (capacity.is_zero()) continue;
    ++resources;
    const api::Quantity used = of(requests_, name) + of(kept.taken, name);
    if (used <= capacity) sum += 100 * used.milli_value() / capacity.milli_value();
  }
  return resources == 0 ? 0 : sum / resources;
}

std::set<std::string> Reservations::nominated(const NodeState& node) const {
  const Mine& mine = on(*node.node);
  if (ignores_ || mine.empty()) return {};
  if (mine.size() == 1 && affinity_) return {mine.front()->uid()};
  Mine fitting;
  for (const Kept* kept : mine)
    if ((wanted_.empty() || wanted_ == kept->name()) && lacks(*kept).empty() && short_of(node, kept).empty())
      fitting.push_back(kept);
  const Kept* first = nullptr;
  for (const Kept* kept : fitting)
    if (order_of(*kept) != 0 && (first == nullptr || order_of(*kept) < order_of(*first))) first = kept;
  if (first != nullptr) return {first->uid()};
  std::int64_t most = 0;
  for (const Kept* kept : fitting) most = std::max(most, score(*kept));
  std::set<std::string> best;
  for (const Kept* kept : fitting)
    if (score(*kept) == most) best.insert(kept->uid());
  return best;
}

RawScores Reservations::scores(const Feasible& nodes) const {
  if (reserves_ || ignores_ || mine_.empty()) return std::nullopt;
  std::vector<std::int64_t> scores;
  std::size_t preferred = nodes.size();
  std::int64_t least = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const Kept* kept : on(*nodes[i]->node))
      if (const std::int64_t order = order_of(*kept);
          order != 0 && (preferred == nodes.size() || order < least))
        preferred = i, least = order;
    const std::set<std::string> uids = nominated(*nodes[i]);
    scores.push_back(uids.empty() ? 0 : score(all_.at(*uids.begin())));
  }
  if (preferred != nodes.size()) scores[preferred] = kPreferred;
  return scores;
}

void Reservations::normalize(std::vector<std::int64_t>& scores) {
  if (scores.empty()) return;
  const std::int64_t most = *std::max_element(scores.begin(), scores.end());
  for (std::int64_t& score : scores) score = most == 0 ? 0 : 100 * score / most;
}

std::multiset<std::string> Reservations::about(const Answer& answer) const {
  std::multiset<std::string> parts;
  if (reserves_ || !error_.empty()) return parts;
  std::int64_t owned = 0;
  std::map<std::string, std::int64_t> counts;
  for (const auto& [name, node] : cluster_.nodes) {
    if (!may_go(pod_, *node) || (!only_.empty() && only_ != name)) continue;
    std::int64_t open = 0;  // that would have served, if its node had
    for (const auto& [uid, kept] : all_) {
      if (ignores_ || is_reservation(pod_) || kept.node != name || !kept.usable()) continue;
      std::string taint;
      const Fit said = fit(kept, *node, &taint);
      if (said != Fit::foreign) ++owned;
      switch (said) {
        case Fit::foreign: break;
        case Fit::named: ++counts["exactly matches the requested reservation name"]; [[fallthrough]];
        case Fit::matched: ++open; break;
        case Fit::other_name: ++counts["didn't match the requested reservation name"]; break;
        case Fit::affinity: ++counts["didn't match affinity rules"]; break;
        case Fit::closed: ++counts["is unschedulable"]; break;
        case Fit::not_exact: ++counts["is not exact matched"]; break;
        case Fit::tainted: ++counts["had untolerated taint " + taint]; break;
      }
    }
    const auto& rejected = answer.nodes.at(name).rejected;
    if (open == 0 || !rejected) continue;
    std::map<std::string, std::int64_t> reasons;
    for (const std::string& reason : rejected->reasons)
      reason.starts_with("Reservation(s) ") ? --open : ++reasons[reason];
    for (const auto& [reason, n] : reasons)
      if (open > 0) counts["for node reason that " + reason] += open * n;
  }
  if (owned == 0 && !affinity_) return parts;
  for (const auto& [what, n] : counts) parts.insert(fmt::format("{} Reservation(s) {}", n, what));
  parts.insert(fmt::format("{} Reservation(s) matched owner total", owned));
  return parts;
}

}  // namespace koord::reference
