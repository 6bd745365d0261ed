// What `koord explain` says of reservations.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "koord/api/rules/node_selector.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "scheduling/plugins/reservation/states.hpp"

namespace koord::scheduling::reservation {

namespace {

using explain::MatchedReservationView;

/// So many of the pods that it is for and that run without it are named.
constexpr std::size_t kMostOwners = 20;

api::ResourceList left_of(const Facts& facts, const Taken& taken) {
  api::ResourceList left = facts.allocatable;
  take(left, taken.amounts);
  take(left, facts.reserved);
  return left;
}

/// A row without the pod's reservations, which are many on some.
struct Emptied {
  Emptied(const NodeTable& nodes, Row row, const Ledger& ledger, RowEntries there) : view(nodes, row) {
    take_out(there, view);
    rooms.emplace(ledger, view, there);
  }
  NodeView view;
  std::optional<Rooms> rooms;
};

/// Why it is not there for further pods at all; empty: it is.
std::string not_there(const api::Reservation& r, const Ledger::Entry* e) {
  if (const std::string_view lacks = what_it_lacks(r); !lacks.empty()) return std::string(lacks);
  if (is_over(r)) return fmt::format("it is over ({})", r.status.phase.view());
  if (!is_available(r)) return "it is on no node yet";
  if (e == nullptr || !e->facts) return "it is not known to the scheduler";
  if (!e->facts->broken.empty()) return fmt::format("it cannot be read: {}", e->facts->broken);
  if (e->pod == nullptr) return "its node does not count it";
  if (e->facts->owned) return "it has an owner already";
  if (e->facts->once && e->taken.pods > 0) return "one pod has used it up (allocateOnce)";
  return {};
}

std::string disagreement(Match said, const Wants& wants, const api::Taint* taint) {
  switch (said) {
    case Match::other_name: return fmt::format("the pod wants the reservation {}", wants.affinity->name);
    case Match::closed: return "it is closed to further pods (unschedulable, or being deleted)";
    case Match::tainted:
      return fmt::format("it has the taint {}={}:{}, which the pod's reservation affinity does not tolerate",
                         taint->key.view(), taint->value.view(), taint->effect.view());
    case Match::affinity: return "its labels and its node's do not match the pod's reservation affinity";
    case Match::not_exact:
      return "it does not have exactly the amounts that the pod asks for (exact-match-reservation)";
    case Match::foreign: return "its owners do not match the pod";
    default: return {};
  }
}

/// When it is over by time alone; absent: never.
std::optional<api::Time> time_up(const api::Reservation& r) {
  const bool for_ever = r.spec.ttl && r.spec.ttl->value == nanoseconds(0);
  if (for_ever) return std::nullopt;
  std::optional<api::Time> first = r.spec.expires;
  if (r.spec.ttl && r.metadata.creation_timestamp != api::Time()) {
    const api::Time by_ttl(r.metadata.creation_timestamp.at +
                           std::chrono::floor<std::chrono::seconds>(r.spec.ttl->value));
    if (!first || by_ttl < *first) first = by_ttl;
  }
  return first;
}

std::string duration(std::chrono::seconds of) {
  const auto n = of.count();
  const auto say = [](std::int64_t count, std::string_view unit) {
    return fmt::format("{} {}{}", count, unit, count == 1 ? "" : "s");
  };
  if (n < 120) return say(n, "second");
  if (n < 7200) return say(n / 60, "minute");
  if (n < 172800) return say(n / 3600, "hour");
  return say(n / 86400, "day");
}

std::string expiry(const api::Reservation& r, WallTime now) {
  const std::optional<api::Time> at = time_up(r);
  if (!at) return "It does not expire.";
  const auto left = at->at - std::chrono::floor<std::chrono::seconds>(now);
  if (left < std::chrono::seconds(0))
    return fmt::format("Its time was up {} ago ({}): the scheduler that leads makes it Failed.",
                       duration(-left), at->to_string());
  return fmt::format("It expires in {} ({}).", duration(left), at->to_string());
}

}  // namespace

explain::PodReservations Reservations::reservations_for(const PodInfo& pod, const Refusals& refusals) const {
  explain::PodReservations said;
  if (is_reserve_pod(*pod.pod)) return said;
  const auto wants = Wants::read(pod.pod->metadata);
  if (!wants) {
    said.summary.push_back(
        fmt::format("What it says of reservations cannot be read: {}", wants.error().message()));
    return said;
  }
  if (wants->ignores) {
    said.summary.push_back(
        "It ignores reservations (reservation-ignored): it takes room whether that is "
        "reserved or not, and is given none.");
    return said;
  }
  auto has = api::read_annotation<api::ReservationAllocated>(pod.pod->metadata.annotations);
  const auto found = matched(pod);
  const auto state = read(pod);
  const api::RequiredNodeAffinity where(pod.pod->spec);
  const Looked looked_at = looked(*wants);
  std::map<Row, Emptied> emptied;
  objects_.all([&](const api::Reservation& r) {
    const Ledger::Entry* const e = ledger_.find(r.metadata.uid);
    const bool named = wants->affinity && wants->affinity->name == r.metadata.name;
    const Facts facts(r);
    const bool owner = facts.broken.empty() && facts.owners.matches(*pod.pod);
    const bool mine = has && *has && (*has)->uid == r.metadata.uid && !pod.pod->metadata.uid.empty();
    if (!owner && !named && !mine) return;
    MatchedReservationView& view = said.matched.emplace_back();
    view.name = r.metadata.name;
    view.node = r.status.node_name.str();
    if (std::string why = not_there(r, e); !why.empty()) {
      view.reasons.push_back(std::move(why));
      return;
    }
    view.left = left_of(*e->facts, e->taken);
    const std::shared_ptr<const api::Node>& node = context_.nodes.node(e->row);
    const api::Taint* taint = nullptr;
    const Match match_said =
        match(*wants, *e->facts, owner, found->asked.empty() ? api::pod_requests(*pod.pod) : found->asked,
              omits_node_labels_ || !node ? nullptr : &node->metadata.labels, &taint);
    if (!serves(match_said)) {
      view.reasons.push_back(disagreement(match_said, *wants, taint));
    } else if (!node) {
      view.reasons.emplace_back("its node is gone");
    } else if (!where.matches(*node)) {
      view.reasons.emplace_back("its node does not match the pod's nodeSelector or node affinity");
    } else if (!looked_at.at(e->node)) {
      view.reasons.emplace_back("the index of reservations' labels does not have its labels");
    } else if (const RowEntries there = found->at(e->row); !there.empty()) {
      const auto [it, added] = emptied.try_emplace(e->row, context_.nodes, e->row, ledger_, there);
      std::vector<std::size_t> by_node;
      view.reasons = through(*state, *it->second.rooms, *e, by_node);
      for (const std::size_t i : by_node)
        view.reasons.push_back(fmt::format("Insufficient {} by node",
                                           context_.nodes.resources().name(state->wanted[i].resource)));
      if (view.reasons.empty()) view.reasons = refusals(e->row);
      view.serves = view.reasons.empty();
    } else {
      view.reasons.emplace_back("it does not count on its node");
    }
  });
  if (has && *has) said.summary.push_back(fmt::format("It has room of the reservation {}.", (*has)->name));
  if (!wants->affinity) return said;
  const auto serving = std::ranges::count(said.matched, true, &MatchedReservationView::serves);
  const std::string which = wants->affinity->name.empty()
                                ? std::string("one")
                                : fmt::format("the one named {}", wants->affinity->name);
  if (said.matched.empty())
    said.summary.push_back(fmt::format(
        "It wants room of a reservation ({}), and {}: it goes nowhere without.", which,
        wants->affinity->name.empty() ? "none has owners that match it" : "there is none of that name"));
  else if (serving == 0)
    said.summary.push_back(fmt::format(
        "It wants room of a reservation ({}), and none serves it: it goes nowhere without.", which));
  return said;
}

std::optional<ReservationExplainPlugin::Described> Reservations::describe(const kube::ObjectType& type,
                                                                          const kube::Object& object,
                                                                          WallTime now) const {
  if (&type != &kube::kObjectType<api::Reservation>) return std::nullopt;
  const auto& r = *static_cast<const api::Reservation*>(object.get());
  const Facts facts(r);
  const Ledger::Entry* const e = ledger_.find(r.metadata.uid);
  Described said;
  explain::ReservationView& view = said.view;
  view.name = r.metadata.name;
  view.phase = r.status.phase.empty() ? "Pending" : r.status.phase.str();
  view.node = r.status.node_name.str();
  if (const std::optional<api::Time> at = time_up(r)) view.expires = at->to_string();
  view.allocatable = facts.allocatable;
  const auto is_there = [&](const Symbol& node) {
    const Row row = context_.nodes.find(node);
    return row != kNoRow && context_.nodes.node(row) != nullptr;
  };
  const auto say = [&](std::string sentence) { said.summary.push_back(std::move(sentence)); };
  if (const std::string_view lacks = what_it_lacks(r); !lacks.empty()) {
    say(fmt::format("Reservation {} is passed over by every scheduler until that is written: {}.", view.name,
                    lacks));
    return said;
  }
  if (is_over(r)) {
    const auto ready = std::ranges::find(r.status.conditions, "Ready", &api::ReservationCondition::type);
    say(fmt::format("Reservation {} is over ({}{}): it keeps no room.", view.name, view.phase,
                    ready == r.status.conditions.end() || ready->reason == r.status.phase.view()
                        ? std::string()
                        : fmt::format(", {}", ready->reason.view())));
    return said;
  }
  if (is_available(r)) {
    say(fmt::format("Reservation {} is on node {}, and keeps {} for its owners.", view.name, view.node,
                    explain::amounts_text(facts.allocatable)));
    if (e != nullptr && e->pod != nullptr) {
      view.allocated = e->taken.amounts;
      for (const PodInfo* pod : context_.nodes.pods(e->row)) {
        const Ledger::Holder* const held = ledger_.holder(pod->pod->metadata.uid);
        if (held != nullptr && held->of == e)
          view.users.push_back({pod_key(*pod->pod), only(held->requests, facts.counted)});
      }
      std::ranges::sort(view.users, {}, &explain::ReservationUserView::pod);
      view.left = left_of(facts, e->taken);
      if (!facts.reserved.empty())
        say(fmt::format("Of that {} are kept back from all pods.", explain::amounts_text(facts.reserved)));
      say(fmt::format("Its pods have {} of it; {} are left.", explain::amounts_text(e->taken.amounts),
                      explain::amounts_text(view.left)));
    }
    if (!is_there(r.status.node_name))
      say("There is no node of this name (any more): the scheduler that leads makes it Failed.");
    if (std::string why = not_there(r, e); !why.empty()) {
      say(fmt::format("No further pod gets room of it: {}.", why));
    } else if (facts.closed) {
      say(fmt::format("No further pod gets room of it unless its reservation affinity tolerates that: it {}.",
                      facts.going ? "is being deleted" : "is unschedulable"));
    } else if (facts.once) {
      say("The first pod that gets room of it uses it up (allocateOnce).");
    }
  } else {
    said.waits = true;
  }
  if (!facts.broken.empty()) say(fmt::format("It serves nobody, as it cannot be read: {}", facts.broken));
  say(expiry(r, now));
  for (Row row = 0; row < context_.nodes.rows(); ++row)
    for (const PodInfo* pod : context_.nodes.pods(row)) {
      if (is_reserve_pod(*pod->pod) || !facts.broken.empty() || !facts.owners.matches(*pod->pod)) continue;
      if (const Ledger::Holder* const held = ledger_.holder(pod->pod->metadata.uid);
          held != nullptr && held->of == e)
        continue;
      if (view.owners.size() == kMostOwners) {
        ++view.more_owners;
        continue;
      }
      view.owners.push_back({.pod = pod_key(*pod->pod),
                             .node = context_.nodes.name(row).str(),
                             .serves = false,
                             .reasons = {"it has a place already"}});
    }
  return said;
}

bool Reservations::is_for(const kube::Object& reservation, const api::Pod& pod) const {
  const auto& r = *static_cast<const api::Reservation*>(reservation.get());
  const auto owners = Owners::read(r.spec.owners);
  return owners && owners->matches(pod);
}

}  // namespace koord::scheduling::reservation
