// The ledger of reservations: see ledger.hpp.
#include "scheduling/plugins/reservation/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/scheduling/cluster/pod_selectors.hpp"
#include "scheduling/plugins/reservation/reserve_pod.hpp"

namespace koord::scheduling::reservation {

namespace {

// What kube-scheduler's scores count of pods that ask for nothing.
constexpr std::int64_t kLeastCpu = 100, kLeastMemory = std::int64_t{200} << 20;

/// What a pod was given, from its choice on until its object says so.
struct Given {
  std::string reservation;
};

std::string_view named_by(const api::ObjectReference& object) {
  return object.uid.empty() ? std::string_view(object.name) : std::string_view(object.uid);
}
std::string_view named_by(const api::OwnerReference& owner) {
  return owner.uid.empty() ? owner.name.view() : owner.uid.view();
}

/// What a pod that runs was promised, until its object says something.
struct Promise {
  std::string reservation;
};

bool reads_more_than_labels(const api::ReservationOwner& owner) { return owner.object || owner.controller; }

}  // namespace

std::int64_t amount_of(const Amounts& amounts, ResourceId resource) {
  const auto it = std::ranges::find(amounts, resource, &Amount::resource);
  return it != amounts.end() ? it->amount : 0;
}

std::int64_t Ledger::Entry::left(ResourceId resource) const {
  return pod == nullptr ? 0 : pod->requests[resource] - amount_of(counted_twice, resource);
}

Ledger::Ledger(const PluginContext& context)
    : nodes_(context.nodes), selectors_(context.selectors), complaints_(context.shared.get<Complaints>()) {
  context.objects.watch<api::Reservation>().on_change(
      [this](const api::Reservation* before, const api::Reservation* now) { object_changed(before, now); });
  context.observe(*this);
}

// What is known

Ledger::Entry* Ledger::find(std::string_view uid) const {
  const auto it = entries_.find(std::string(uid));
  return it != entries_.end() ? it->second.get() : nullptr;
}

std::vector<const Ledger::Entry*> Ledger::usable() const {
  std::vector<const Entry*> all;
  for (const OnRow& row : rows_) std::ranges::copy_if(row.entries, std::back_inserter(all), &Entry::usable);
  return all;
}

Policies Ledger::policies(Row row) const {
  if (row >= rows_.size()) return {};
  const OnRow& there = rows_[row];
  if (there.policies) return *there.policies;
  Policies& all = there.policies.emplace();
  for (const Entry* e : there.entries)
    if (e->usable()) (e->facts->policy == Policy::none ? all.none : all.others) = true;
  return all;
}

bool Ledger::is_for(const Entry& e, const LabelSet& set) {
  return e.anybody || std::ranges::any_of(e.selectors, [&](const PodSelectorRef& selector) {
           return std::ranges::any_of(set.selected(),
                                      [&](const auto& by) { return by.by == selector.get(); });
         });
}

const Ledger::Holder* Ledger::holder(std::string_view pod_uid) const {
  if (holders_.empty()) return nullptr;
  const auto it = holders_.find(std::string(pod_uid));
  return it != holders_.end() ? &it->second : nullptr;
}

std::vector<const Ledger::Entry*> Ledger::owned_by(const PodInfo& pod) const {
  std::vector<const Entry*> owned;
  const auto look = [&](const std::vector<Place>& places) {
    for (const Place& place : places)
      if (place.entry->usable() &&
          place.entry->facts->owners.terms()[place.term].matches_but_for_labels(*pod.pod))
        owned.push_back(place.entry);
  };
  const auto look_for = [&](const Places& places, std::string_view name) {
    if (const auto it = places.find(std::string(name)); it != places.end()) look(it->second);
  };
  if (!by_labels_.empty())
    for (const LabelSet::Selected& selected : selectors_.label_set(pod).selected())
      if (const auto it = by_labels_.find(selected.by); it != by_labels_.end()) look(it->second);
  if (!by_object_.empty()) {
    look_for(by_object_, pod.pod->metadata.uid);
    look_for(by_object_, pod.pod->metadata.name);
  }
  if (!by_controller_.empty())
    for (const api::OwnerReference& owner : pod.pod->metadata.owner_references) {
      look_for(by_controller_, owner.uid);
      look_for(by_controller_, owner.name);
    }
  look(of_anybody_);
  std::ranges::sort(owned, {}, &Entry::serial);
  owned.erase(std::unique(owned.begin(), owned.end()), owned.end());
  return owned;
}

Amounts Ledger::numbered(const api::ResourceList& amounts) const {
  Amounts all;
  for (const auto& [name, amount] : amounts) {
    const ResourceId fixed = fixed_resource(name);
    if (fixed == kPods || (fixed == kFirstScalar && !is_scalar_resource(name))) continue;
    const std::int64_t value = fixed == kCpu ? amount.milli_value() : amount.value();
    if (value > 0) all.push_back({fixed == kFirstScalar ? nodes_.resources().id(name) : fixed, value});
  }
  return all;
}

Amounts Ledger::counted_twice(const Entry& e, const Taken& taken) const {
  return e.pod != nullptr ? counted_twice(e.pod->requests, taken) : Amounts();
}

Amounts Ledger::counted_twice(const Requests& kept, const Taken& taken) const {
  Amounts twice;
  if (taken.pods == 0) return twice;
  const auto count = [&](ResourceId resource, std::int64_t amount) {
    if (amount = std::min(amount, kept[resource]); amount > 0) twice.push_back({resource, amount});
  };
  const Amounts taken_by_number = numbered(taken.amounts);
  for (const Amount& a : taken_by_number) count(a.resource, a.amount);
  // A name whose pods are gone is left in the sum, with nothing.
  const std::int64_t cpu = amount_of(taken_by_number, kCpu), memory = amount_of(taken_by_number, kMemory);
  count(kNonzeroCpu, cpu > 0 ? cpu : kLeastCpu);
  count(kNonzeroMemory, memory > 0 ? memory : kLeastMemory);
  return twice;
}

// What changes

/// The uid of the reservation that the pod has room of; empty: of none. Who is one itself has none of
/// another, so that nobody is in his own room.
std::string Ledger::reservation_of(const PodInfo& pod) const {
  if (operates_as_reservation(*pod.pod)) return {};
  if (pod.pod->spec.node_name.empty()) {
    const Given* const given = pod.kept.find<Given>();
    return given != nullptr ? given->reservation : std::string();
  }
  const Promise* const promise = pod.kept.find<Promise>();
  if (api::value_or(pod.pod->metadata.annotations, api::ReservationAllocated::kAnnotation).empty())
    return promise != nullptr ? promise->reservation : std::string();
  if (promise != nullptr) pod.kept.put(std::shared_ptr<Promise>());
  auto said = api::read_annotation<api::ReservationAllocated>(pod.pod->metadata.annotations);
  if (!said)
    complaints_.say("Pod", pod.pod->metadata,
                    fmt::format("{}: it counts as if it had room of no reservation", said.error().message()));
  return said && *said ? std::move((*said)->uid) : std::string();
}

/// By name, once.
void Ledger::complain(std::string_view kind, const api::ObjectMeta& object, const Facts& facts) {
  if (!facts.broken.empty())
    complaints_.say(kind, object, fmt::format("{}: it serves no pod", facts.broken));
  else if (!facts.unread.empty())
    complaints_.say(kind, object, facts.unread);
}

Ledger::Entry& Ledger::entry(std::string_view uid) {
  std::unique_ptr<Entry>& place = entries_[std::string(uid)];
  if (!place) {
    place = std::make_unique<Entry>(std::string(uid));
    place->serial = ++serials_;
  }
  return *place;
}

void Ledger::drop_if_unused(Entry& e) {
  if (!e.facts && e.pod == nullptr && e.holders.empty()) entries_.erase(std::string(e.uid));
}

void Ledger::object_changed(const api::Reservation* before, const api::Reservation* now) {
  if (before != nullptr && (now == nullptr || now->metadata.uid != before->metadata.uid))
    if (Entry* const old = find(before->metadata.uid)) {
      leave(*old);
      old->facts.reset();
      count_anew(*old);
      drop_if_unused(*old);
    }
  if (now == nullptr) return;
  Entry& e = entry(now->metadata.uid);
  leave(e);
  e.facts.emplace(*now);
  complain("Reservation", now->metadata, *e.facts);
  enter(e);
  count_anew(e);
}

/// Its owners are looked for from now on.
void Ledger::enter(Entry& e) {
  if (!e.facts->available || !e.facts->broken.empty()) return;
  e.entered = true;
  const std::span<const Owners::Term> terms = e.facts->owners.terms();
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const api::ReservationOwner& says = terms[i].says;
    if (reads_more_than_labels(says)) ++other_terms_;
    if (says.label_selector) {
      static const api::LabelSelector kAll;
      const PodSelectors::Term of{{}, &kAll, &*says.label_selector};
      if (auto selector = selectors_.selector({&of, 1})) {
        std::vector<Place>& places = by_labels_[selector->get()];
        // Of many terms that say the same, one is looked for.
        if (!reads_more_than_labels(says) && !places.empty() && places.back().entry == &e &&
            !reads_more_than_labels(terms[places.back().term].says))
          continue;
        places.push_back({&e, i});
        e.selectors.push_back(*std::move(selector));
      }
    } else if (says.object && !named_by(*says.object).empty()) {
      by_object_[std::string(named_by(*says.object))].push_back({&e, i});
    } else if (says.controller && !named_by(says.controller->owner).empty()) {
      by_controller_[std::string(named_by(says.controller->owner))].push_back({&e, i});
    } else {
      of_anybody_.push_back({&e, i});
      e.anybody = true;
    }
  }
}

void Ledger::leave(Entry& e) {
  if (!e.facts) return;
  const auto is_its = [&](const Place& place) { return place.entry == &e; };
  // Each place once, however many terms say the same: it may be full of others'.
  const auto without = [&](auto& places, auto keys) {
    std::ranges::sort(keys);
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    for (const auto& key : keys) {
      const auto it = places.find(key);
      if (it == places.end()) continue;
      std::erase_if(it->second, is_its);
      if (it->second.empty()) places.erase(it);
    }
  };
  const bool counted = std::exchange(e.entered, false);
  std::vector<const PodSelector*> selectors;
  for (const PodSelectorRef& selector : e.selectors) selectors.push_back(selector.get());
  std::vector<std::string> objects, controllers;
  for (const Owners::Term& term : e.facts->owners.terms()) {
    if (counted && reads_more_than_labels(term.says)) --other_terms_;
    if (term.says.object) objects.emplace_back(named_by(*term.says.object));
    if (term.says.controller) controllers.emplace_back(named_by(term.says.controller->owner));
  }
  without(by_labels_, std::move(selectors));
  e.selectors.clear();
  e.anybody = false;
  if (!by_object_.empty()) without(by_object_, std::move(objects));
  if (!by_controller_.empty()) without(by_controller_, std::move(controllers));
  if (!of_anybody_.empty()) std::erase_if(of_anybody_, is_its);
}

/// What counts may be another now.
void Ledger::count_anew(Entry& e) {
  e.taken = {};
  for (const Holder* holder : e.holders) {
    if (e.pod == nullptr || holder->row != e.row) continue;
    ++e.taken.pods;
    if (e.facts) add(e.taken.amounts, only(holder->requests, e.facts->counted));
  }
  recount(e);
}

/// The version that this makes.
std::uint64_t Ledger::changed(Row row) {
  log_[++version_ % kLog] = row;
  if (row == kNoRow) return version_;
  if (row >= rows_.size()) rows_.resize(nodes_.rows());
  rows_[row].changed = version_;
  rows_[row].policies.reset();
  return version_;
}

void Ledger::recount(Entry& e) {
  e.version = changed(e.row);
  const Amounts now = e.facts ? counted_twice(e, e.taken) : Amounts();
  if (e.row == kNoRow) return;
  if (now == e.counted_twice) return nodes_.mark(e.row);
  correct(e.row, e.counted_twice, now);
  e.counted_twice = now;
}

void Ledger::correct(Row row, const Amounts& before, const Amounts& now) {
  for (const Amount& a : before)
    if (const std::int64_t more = a.amount - amount_of(now, a.resource); more != 0)
      nodes_.correct(row, a.resource, more);
  for (const Amount& a : now)
    if (amount_of(before, a.resource) == 0) nodes_.correct(row, a.resource, -a.amount);
}

void Ledger::take(Row row, const PodInfo& pod) {
  const std::string uid = reservation_of(pod);
  if (uid.empty()) return;
  Entry& e = entry(uid);
  const auto [it, added] =
      holders_.try_emplace(pod.pod->metadata.uid, Holder{&e, row, api::pod_requests(*pod.pod)});
  if (!added) return;
  e.holders.push_back(&it->second);
  if (e.row != row || e.pod == nullptr) return;
  ++e.taken.pods;
  if (e.facts) add(e.taken.amounts, only(it->second.requests, e.facts->counted));
  recount(e);
}

void Ledger::give_back(std::string_view pod_uid) {
  if (holders_.empty()) return;
  const auto it = holders_.find(std::string(pod_uid));
  if (it == holders_.end()) return;
  Entry& e = *it->second.of;
  std::erase(e.holders, &it->second);
  const Holder holder = std::move(it->second);
  holders_.erase(it);
  if (e.pod != nullptr && e.row == holder.row) {
    --e.taken.pods;
    if (e.facts) reservation::take(e.taken.amounts, only(holder.requests, e.facts->counted));
    if (e.taken.pods == 0) e.taken.amounts = {};
    recount(e);
  }
  drop_if_unused(e);
}

void Ledger::assume(const PodInfo& pod, Row row, const Entry& e) {
  pod.kept.put(std::make_shared<Given>(e.uid));
  take(row, pod);
}

void Ledger::forget(const PodInfo& pod) {
  if (pod.kept.find<Given>() == nullptr) return;
  pod.kept.put(std::shared_ptr<Given>());
  if (pod.pod->spec.node_name.empty()) give_back(pod.pod->metadata.uid);
}

void Ledger::promise(const PodInfo& pod, Row row, const Entry& e) {
  pod.kept.put(std::make_shared<Promise>(e.uid));
  pod_changed(row, pod);
}

void Ledger::take_back_promise(std::string_view pod_uid) {
  const Holder* const held = holder(pod_uid);
  if (held == nullptr) return;
  const Row row = held->row;
  for (const PodInfo* pod : nodes_.pods(row)) {
    if (pod->pod->metadata.uid != pod_uid) continue;
    if (pod->kept.find<Promise>() != nullptr) pod->kept.put(std::shared_ptr<Promise>());
    return pod_changed(row, *pod);
  }
}

void Ledger::pod_added(Row row, const PodInfo& pod) {
  if (is_reserve_pod(*pod.pod)) return settle(row, pod);
  take(row, pod);
  if (!operates_as_reservation(*pod.pod)) return;
  read_anew(entry(pod.pod->metadata.uid), *pod.pod);
  settle(row, pod);
}

/// Of a pod that is a reservation itself.
void Ledger::read_anew(Entry& e, const api::Pod& pod) {
  leave(e);
  e.facts.emplace(pod);
  complain("Pod", pod.metadata, *e.facts);
  enter(e);
}

/// It keeps room on the row.
void Ledger::settle(Row row, const PodInfo& pod) {
  Entry& e = entry(pod.pod->metadata.uid);
  e.pod = &pod;
  e.operates = !is_reserve_pod(*pod.pod);
  if (e.operates) ++operating_;
  e.row = row;
  e.node = nodes_.name(row);
  if (row >= rows_.size()) rows_.resize(nodes_.rows());
  rows_[row].entries.push_back(&e);
  ++settled_;
  count_anew(e);
}

/// nullptr: it keeps no room. Most pods are not looked for.
Ledger::Entry* Ledger::settled_by(const PodInfo& pod) const {
  if (operating_ == 0 && !is_reserve_pod(*pod.pod)) return nullptr;
  Entry* const e = find(pod.pod->metadata.uid);
  return e != nullptr && e->pod == &pod ? e : nullptr;
}

void Ledger::pod_removed(Row, const PodInfo& pod) {
  const bool reserve = is_reserve_pod(*pod.pod);
  if (!reserve) give_back(pod.pod->metadata.uid);
  Entry* const e = settled_by(pod);
  if (e == nullptr) return;
  unsettle(*e);
  if (!reserve) {
    leave(*e);
    e->facts.reset();
  }
  drop_if_unused(*e);
}

void Ledger::unsettle(Entry& e) {
  const Row row = e.row;
  correct(row, e.counted_twice, {});
  e.counted_twice.clear();
  e.pod = nullptr;
  if (std::exchange(e.operates, false)) --operating_;
  e.row = kNoRow;
  e.taken = {};
  e.version = changed(row);
  settled_ -= std::erase(rows_[row].entries, &e);
}

void Ledger::pod_changed(Row row, const PodInfo& pod) {
  if (is_reserve_pod(*pod.pod)) return;
  Entry* const e = settled_by(pod);
  const bool kept = e != nullptr, keeps = operates_as_reservation(*pod.pod);
  if (kept && keeps) {
    read_anew(*e, *pod.pod);
    count_anew(*e);
  } else if (kept) {
    unsettle(*e);
    leave(*e);
    e->facts.reset();
    drop_if_unused(*e);
    nodes_.mark(row);
  } else if (keeps) {
    read_anew(entry(pod.pod->metadata.uid), *pod.pod);
    settle(row, pod);
  }
  const Holder* const held = holder(pod.pod->metadata.uid);
  const std::string uid = reservation_of(pod);
  if (held == nullptr ? uid.empty() : held->of->uid == uid && held->row == row) return;
  give_back(pod.pod->metadata.uid);
  take(row, pod);
}

}  // namespace koord::scheduling::reservation
