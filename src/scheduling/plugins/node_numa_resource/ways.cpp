// Ways: see ways.hpp.
#include "scheduling/plugins/node_numa_resource/ways.hpp"

#include <algorithm>

#include "koord/scheduling/cluster/pod_info.hpp"

namespace koord::scheduling::node_numa_resource {

namespace {

std::span<const OpenRooms::Room> looked_at(const Ledger& ledger, const OpenRooms& open) {
  const std::size_t most = std::max<std::size_t>(Ways::kMostLooks / (ledger.holders().size() + 1), 1);
  return std::span(open.rooms).first(std::min(most, open.rooms.size()));
}

}  // namespace

bool Ways::leaves_out(const Ledger& ledger, const NodeView& view, std::string_view reservation) {
  const OpenRooms* const open = view.slots().find<const OpenRooms>();
  if (open == nullptr) return false;
  const std::span<const OpenRooms::Room> some = looked_at(ledger, *open);
  return some.size() < open->rooms.size() &&
         std::ranges::find(some, reservation, &OpenRooms::Room::reservation) == some.end();
}

Ways::Ways(const NumaNode& node, const Ledger& ledger, const NodeView& view) {
  const OpenRooms* const open = view.slots().find<const OpenRooms>();
  struct Opened {
    const OpenRooms::Room* room;
    const Ledger::Holder* holder;
  };
  std::vector<Opened> opened;
  if (open != nullptr)
    for (const OpenRooms::Room& room : looked_at(ledger, *open))
      if (const Ledger::Holder* const holder = ledger.find(room.reservation))
        opened.push_back({&room, holder});

  const auto is_open = [&](const PodInfo* pod) {
    return std::ranges::any_of(opened, [&](const Opened& each) { return each.holder->pod == pod; });
  };
  // With the open ones first, as if they were nobody's.
  const Ledger* beside = &ledger;
  const auto change = [&]() -> Ledger& {
    if (beside == &ledger) beside = &made_.emplace_back(ledger);
    return made_.front();
  };
  for (const PodInfo* pod : view.removed())
    if (!is_open(pod) && ledger.of(*pod) != nullptr) change().remove(node, *pod);
  for (const PodInfo* pod : view.added())
    if (auto given = pod->kept.share<const Given>())
      change().add(node, {pod, std::move(given), lodges_in(*pod)});
  all_ = beside;
  beside_ = Way{{}, beside};
  if (opened.empty()) {
    ways_.push_back(*beside_);
    return;
  }
  Ledger& all = made_.emplace_back(*beside);
  for (const Opened& each : opened) all.remove(node, *each.holder->pod);
  all_ = &all;
  if (open->all) {
    all_at_once_ = true;
    Way way{{}, &all};
    for (const Opened& each : opened) way.kept.cpus = way.kept.cpus | beside->kept(*each.holder).cpus;
    ways_.push_back(std::move(way));
    return;
  }
  for (const Opened& each : opened) {
    Ledger& without = opened.size() == 1 ? all : made_.emplace_back(*beside);
    if (&without != &all) without.remove(node, *each.holder->pod);
    Kept kept = beside->kept(*each.holder);
    kept.is_all = each.room->restricted;
    ways_.push_back({each.room->reservation, &without, std::move(kept)});
  }
  required_ = open->required;
  if (!required_) ways_.push_back(*beside_);
}

const Ways::Way* Ways::of(std::string_view reservation) const {
  const auto it = std::ranges::find(ways_, reservation, &Way::reservation);
  return it != ways_.end() && !reservation.empty() ? &*it : nullptr;
}

}  // namespace koord::scheduling::node_numa_resource
