// DeviceWays: see device_ways.hpp.
#include "scheduling/plugins/device_share/device_ways.hpp"

#include <algorithm>

#include "koord/scheduling/cluster/pod_info.hpp"

namespace koord::scheduling::device_share {

DeviceWays::DeviceWays(const DeviceLedger& ledger, const NodeView& view, const OpenRooms* open)
    : ledger_(&ledger) {
  struct Opened {
    const OpenRooms::Room* room;
    const PodInfo* pod;
  };
  std::vector<Opened> opened;
  if (open != nullptr)
    for (const OpenRooms::Room& room : open->rooms)
      if (const DeviceLedger::Holder* const holder = ledger.find(room.reservation))
        opened.push_back({&room, holder->pod});
  const auto is_open = [&](const PodInfo* pod) {
    return std::ranges::find(opened, pod, &Opened::pod) != opened.end();
  };
  const auto change = [&]() -> DeviceLedger& {
    if (!made_) ledger_ = &made_.emplace(ledger);
    return *made_;
  };
  for (const PodInfo* pod : view.removed()) {
    const Given* const given = is_open(pod) ? nullptr : ledger.of(*pod);
    if (given == nullptr) continue;
    removed_.insert(removed_.end(), given->devices.begin(), given->devices.end());
    change().remove(*pod);
  }
  for (const PodInfo* pod : view.added())
    if (auto given = pod->kept.share<const Given>()) change().add({pod, std::move(given), lodges_in(*pod)});

  for (const Opened& each : opened) {
    const DeviceLedger::Holder& holder = *ledger_->find(each.room->reservation);
    Way way{each.room->reservation, ledger_->kept(holder), holder.given->devices, each.room->restricted};
    if (open->all) {  // the room of all of them, and what is beside
      beside_.kept.insert(beside_.kept.end(), way.kept.begin(), way.kept.end());
    } else {
      ways_.push_back(std::move(way));
    }
  }
  required_ = open != nullptr && open->required && !ways_.empty();
  if (!required_) ways_.push_back(beside_);
}

const DeviceWays::Way* DeviceWays::of(std::string_view reservation) const {
  const auto it = std::ranges::find(ways_, reservation, &Way::reservation);
  return it != ways_.end() && !reservation.empty() ? &*it : nullptr;
}

}  // namespace koord::scheduling::device_share
