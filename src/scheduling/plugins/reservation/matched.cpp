// What a pod finds of reservations on a row: see matched.hpp.
#include "scheduling/plugins/reservation/matched.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "koord/scheduling/cluster/pod_selectors.hpp"
#include "scheduling/plugins/reservation/reserve_pod.hpp"

namespace koord::scheduling::reservation {

RowEntries Matched::at(Row row) const {
  const auto it = std::ranges::lower_bound(rows, row);
  if (it == rows.end() || *it != row) return {};
  return on(static_cast<std::size_t>(it - rows.begin()));
}

namespace {

// Of a cluster whose pods have more different labels than these, each is matched anew.
constexpr std::size_t kMostLabelSets = 4096;
constexpr std::size_t kFew = 8;

bool before(const Ledger::Entry* a, const Ledger::Entry* b) {
  const auto key = [](const Ledger::Entry* e) {
    return std::tuple(e->row, e->facts->order == 0, e->facts->order, std::string_view(e->facts->name));
  };
  return key(a) < key(b);
}

}  // namespace

std::uint64_t version_of(RowEntries entries) {
  std::uint64_t version = 0;
  const auto mix = [&](std::uint64_t number) { version = (version ^ (number + 1)) * 0x9E3779B97F4A7C15u; };
  for (const Ledger::Entry* e : entries) {
    mix(e->serial);
    mix(e->version);
  }
  return version;
}

std::shared_ptr<Matched> by_row(Entries entries) {
  if (entries.empty()) return nullptr;
  std::ranges::sort(entries, before);
  auto found = std::make_shared<Matched>();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!found->rows.empty() && found->rows.back() == entries[i]->row) continue;
    found->rows.push_back(entries[i]->row);
    found->starts.push_back(static_cast<std::uint32_t>(i));
  }
  found->starts.push_back(static_cast<std::uint32_t>(entries.size()));
  found->entries = std::move(entries);
  return found;
}

bool KeptMatches::serves(const Ledger::Entry& e) const {
  static const Wants kNothing;
  return context_.nodes.node(e.row) &&
         reservation::serves(reservation::match(kNothing, *e.facts, true, {}, nullptr));
}

std::shared_ptr<Matched> KeptMatches::match(const PodInfo& pod) {
  Entries all = ledger_.owned_by(pod);
  std::erase_if(all, [&](const Ledger::Entry* e) { return !serves(*e); });
  std::shared_ptr<Matched> found = by_row(std::move(all));
  if (found) found->serial = ++serials_;
  return found;
}

std::shared_ptr<const Matched> KeptMatches::find(const PodInfo& pod) {
  const LabelSet& set = context_.selectors.label_set(pod);
  const auto it = kept_.find(&set);
  if (it != kept_.end()) {
    if (!repair(it->second)) it->second.found = match(pod);
    it->second.ledger = ledger_.version();
    it->second.nodes = context_.nodes.newest_node_change();
    return it->second.found;
  }
  std::shared_ptr<Matched> found = match(pod);
  // Most pods have none, and find that out as fast.
  if (!found) return nullptr;
  if (kept_.size() >= kMostLabelSets) kept_.clear();
  kept_[&set] = {const_cast<LabelSet*>(&set), ledger_.version(), context_.nodes.newest_node_change(), found};
  return found;
}

/// False: it has to be found anew.
bool KeptMatches::repair(Kept& kept) const {
  if (kept.nodes != context_.nodes.newest_node_change()) return false;
  if (!kept.found) return kept.ledger == ledger_.version();
  return ledger_.changed_since(kept.ledger, [&](Row row) { look_again(kept, row); });
}

void KeptMatches::look_again(Kept& kept, Row row) const {
  Entries now;
  for (const Ledger::Entry* e : ledger_.on(row))
    if (Ledger::is_for(*e, *kept.set) && e->usable() && serves(*e)) now.push_back(e);
  std::ranges::sort(now, before);
  const auto it = std::ranges::lower_bound(kept.found->rows, row);
  const auto at = it - kept.found->rows.begin();
  const auto place = static_cast<std::size_t>(at);
  const bool had = it != kept.found->rows.end() && *it == row;
  const std::size_t before_now = had ? kept.found->on(place).size() : 0;
  if (before_now == now.size()) {
    if (had) std::ranges::copy(now, kept.found->entries.begin() + kept.found->starts[place]);
    return;
  }
  // Other rows, or more of one, than before: whoever reads the old ones keeps them.
  if (kept.found.use_count() > 1) kept.found = std::make_shared<Matched>(*kept.found);
  Matched& found = *kept.found;
  const auto start = found.entries.begin() + found.starts[place];
  found.entries.insert(found.entries.erase(start, start + static_cast<std::ptrdiff_t>(before_now)),
                       now.begin(), now.end());
  if (!had) {
    found.rows.insert(found.rows.begin() + at, row);
    found.starts.insert(found.starts.begin() + at, found.starts[place]);
  } else if (now.empty()) {
    found.rows.erase(found.rows.begin() + at);
    found.starts.erase(found.starts.begin() + at);
  }
  const auto more = static_cast<std::uint32_t>(now.size()) - static_cast<std::uint32_t>(before_now);
  for (std::size_t i = place + (now.empty() ? 0 : 1); i < found.starts.size(); ++i) found.starts[i] += more;
}

void take_out(RowEntries entries, NodeView& view) {
  for (const Ledger::Entry* e : entries) {
    view.remove(*e->pod);
    for (const Amount& a : e->counted_twice) view.use(a.resource, a.amount);
  }
}

std::shared_ptr<const OpenRooms> open_rooms(RowEntries entries, bool required, bool all) {
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

Rooms::Rooms(const Ledger& ledger, const NodeView& view, RowEntries mine) : ledger_(ledger), view_(view) {
  for (const Ledger::Entry* e : mine) rooms_.push_back({e, {}, e->counted_twice, true});
  std::vector<const PodInfo*> sorted;  // their reserve pods, where they are many
  if (mine.size() > kFew) {
    for (const Ledger::Entry* e : mine) sorted.push_back(e->pod);
    std::ranges::sort(sorted);
  }
  const auto is_mine = [&](const PodInfo* pod) {
    return sorted.empty() ? std::ranges::find(mine, pod, &Ledger::Entry::pod) != mine.end()
                          : std::ranges::binary_search(sorted, pod);
  };
  const auto block = [&](const Amounts& more, const Amounts& less) {
    for (const Amount& a : more)
      if (const std::int64_t amount = a.amount - amount_of(less, a.resource); amount > 0)
        blocked_.push_back({a.resource, amount});
  };
  for (const PodInfo* pod : view.removed()) {
    if (is_mine(pod)) continue;
    const Ledger::Entry* const e = ledger.find(pod->pod->metadata.uid);
    if (is_reserve_pod(*pod->pod) || (e != nullptr && e->pod == pod)) {
      if (e == nullptr || e->row != view.row()) continue;
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

/// What the node has left beside what all these reservations keep: summed once, as there may be thousands.
Rooms::Wide Rooms::beside(ResourceId resource) const {
  const auto known = std::ranges::find(beside_, resource, &Beside::resource);
  if (known != beside_.end()) return known->free;
  Wide free = Wide{view_.allocatable(resource)} - view_.used(resource);
  for (const Amount& a : blocked_)
    if (a.resource == resource) free -= a.amount;
  for (const Room& room : rooms_)
    if (room.mine) free -= left(room, resource);
  beside_.push_back({resource, free});
  return free;
}

std::vector<std::size_t> Rooms::short_of(std::span<const Amount> wanted, const Ledger::Entry* through) const {
  const Room* const used = through != nullptr ? find(*through) : nullptr;
  std::vector<std::size_t> lacking;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const ResourceId resource = wanted[i].resource;
    Wide free = beside(resource);
    if (used != nullptr && used->mine && through->facts->counts(ledger_.name(resource))) {
      // What is kept back inside of it is nobody's.
      const std::int64_t back = amount_of(ledger_.numbered(through->facts->reserved), resource);
      free += left(*used, resource) - std::min(back, left(*used, resource));
    }
    if (wanted[i].amount > free) lacking.push_back(i);
  }
  return lacking;
}

const Rooms::Room* Rooms::find(const Ledger::Entry& e) const {
  // Mostly they are asked for in their order.
  for (const std::size_t next : {cursor_, cursor_ + 1})
    if (next < rooms_.size() && rooms_[next].entry == &e) return &rooms_[cursor_ = next];
  const auto it = std::ranges::find(rooms_, &e, &Room::entry);
  if (it == rooms_.end()) return nullptr;
  cursor_ = static_cast<std::size_t>(it - rooms_.begin());
  return &*it;
}

const Taken& Rooms::taken(const Ledger::Entry& e) const {
  const Room* const room = find(e);
  return room != nullptr && room->taken ? *room->taken : e.taken;
}

}  // namespace koord::scheduling::reservation
