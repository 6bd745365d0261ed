// What a pod finds of reservations on a row: see matched.hpp.
#include "scheduling/plugins/reservation/matched.hpp"

#include <algorithm>
#include <utility>

#include "scheduling/plugins/reservation/reserve_pod.hpp"

namespace koord::scheduling::reservation {

const Entries* Matched::at(Row row) const {
  const auto it = std::ranges::lower_bound(rows, row);
  if (it == rows.end() || *it != row) return nullptr;
  return &on[static_cast<std::size_t>(it - rows.begin())];
}

void take_out(const Entries& entries, NodeView& view) {
  for (const Ledger::Entry* e : entries) {
    view.remove(*e->pod);
    for (const Amount& a : e->counted_twice) view.use(a.resource, a.amount);
  }
}

std::shared_ptr<const OpenRooms> open_rooms(const Entries& entries, bool required, bool all) {
  auto open = std::make_shared<OpenRooms>();
  open->required = required;
  open->all = all;
  for (const Ledger::Entry* e : entries)
    open->rooms.push_back({e->uid, e->facts->policy == Policy::restricted});
  return open;
}

bool IgnoredResources::has(std::string_view name) const {
  const auto has = [](const std::vector<std::string>& list, std::string_view what) {
    return std::ranges::find(list, what) != list.end();
  };
  if (has(names, name)) return true;
  const std::size_t slash = name.find('/');
  return slash != std::string_view::npos && slash != 0 && has(groups, name.substr(0, slash));
}

Rooms::Rooms(const Ledger& ledger, const NodeView& view, const Entries& mine) : ledger_(ledger), view_(view) {
  for (const Ledger::Entry* e : mine) rooms_.push_back({e, {}, e->counted_twice, true});
  const auto block = [&](const Amounts& more, const Amounts& less) {
    for (const Amount& a : more)
      if (const std::int64_t amount = a.amount - amount_of(less, a.resource); amount > 0)
        blocked_.push_back({a.resource, amount});
  };
  for (const PodInfo* pod : view.removed()) {
    const Ledger::Entry* const e = ledger.find(pod->pod->metadata.uid);
    if (is_reserve_pod(*pod->pod) || (e != nullptr && e->pod == pod)) {
      if (e == nullptr || e->row != view.row() || std::ranges::find(mine, e) != mine.end()) continue;
      // Its pods stay: what counted once with it counts as theirs.
      Room& gone = room(*e);
      gone.gone = true;
      block(std::exchange(gone.twice, {}), {});
      continue;
    }
    const Ledger::Holder* const held = ledger.holder(pod->pod->metadata.uid);
    if (held == nullptr || held->row != view.row() || held->of->row != view.row() || !held->of->facts)
      continue;
    Room& of = room(*held->of);
    if (!of.taken) of.taken = of.entry->taken;
    --of.taken->pods;
    reservation::take(of.taken->amounts, only(held->requests, of.entry->facts->counted));
    if (of.gone) continue;
    const Amounts before = std::exchange(of.twice, ledger.counted_twice(*of.entry, *of.taken));
    if (!of.mine) block(before, of.twice);
  }
}

Rooms::Room& Rooms::room(const Ledger::Entry& e) {
  const auto it = std::ranges::find(rooms_, &e, &Room::entry);
  if (it != rooms_.end()) return *it;
  return rooms_.emplace_back(Room{&e, {}, e.counted_twice, false});
}

std::int64_t Rooms::left(const Room& room, ResourceId resource) const {
  return std::max<std::int64_t>(room.entry->pod->requests[resource] - amount_of(room.twice, resource), 0);
}

std::vector<std::size_t> Rooms::short_of(std::span<const Amount> wanted, const Ledger::Entry* through) const {
  std::vector<std::size_t> lacking;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const ResourceId resource = wanted[i].resource;
    std::int64_t free = view_.allocatable(resource) - view_.used(resource);
    for (const Amount& a : blocked_)
      if (a.resource == resource) free -= a.amount;
    for (const Room& room : rooms_) {
      if (!room.mine) continue;
      if (room.entry != through || !room.entry->facts->counts(ledger_.name(resource))) {
        free -= left(room, resource);
      } else {
        // What is kept back inside of it is nobody's.
        const std::int64_t back = amount_of(ledger_.numbered(room.entry->facts->reserved), resource);
        free -= std::min(back, left(room, resource));
      }
    }
    if (wanted[i].amount > free) lacking.push_back(i);
  }
  return lacking;
}

const Taken& Rooms::taken(const Ledger::Entry& e) const {
  const auto it = std::ranges::find(rooms_, &e, &Room::entry);
  return it != rooms_.end() && it->taken ? *it->taken : e.taken;
}

}  // namespace koord::scheduling::reservation
