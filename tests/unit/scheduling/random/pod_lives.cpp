// Pods before they are bound: see pod_lives.hpp.
#include "random/pod_lives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "random/objects.hpp"
#include "random/played_extenders.hpp"
#include "random/seats.hpp"

namespace koord::scheduling::test {

namespace {

constexpr const char* kCpu[] = {"100m", "500m", "1", "3"};

bool is_served(const api::Pod& pod) {
  return std::any_of(std::begin(PodLives::kProfiles), std::end(PodLives::kProfiles),
                     [&](const char* name) { return pod.spec.scheduler_name == name; });
}

}  // namespace

bool PodLives::is_ours(const api::Pod& pod) { return is_served(pod) && pod.spec.scheduling_gates.empty(); }

std::shared_ptr<const api::Pod> PodLives::dress(std::shared_ptr<const api::Pod> pod, bool extended) {
  auto made = std::make_shared<api::Pod>(*pod);
  if (chance(15)) {
    api::ResourceRequirements& whole = made->spec.resources.ensure();
    whole.requests["cpu"] = api::Quantity::must(kCpu[below(4)]);
    if (chance(50)) whole.requests["memory"] = api::Quantity::must("512Mi");
  }
  if (chance(35)) {
    // A plain one, which goes where its claim's volume can be.
    made->spec.affinity = {};
    made->spec.node_selector = {};
    made->spec.topology_spread_constraints.clear();
    made->spec.init_containers.clear();
    made->spec.containers.resize(1);
    made->spec.containers[0].ports.clear();
    made->spec.containers[0].resources.requests = {{"cpu", api::Quantity::must("100m")}};
    made->spec.volumes.clear();
    const std::vector<std::string> claims = RandomObjects::claim_names();
    for (int i = chance(70) ? 1 : 2; i > 0; --i) {
      api::Volume& v = made->spec.volumes.emplace_back();
      v.name = fmt::format("volume-{}", i);
      v.persistent_volume_claim.ensure().claim_name = claims[static_cast<std::size_t>(below(5))];
    }
  }
  made->spec.scheduler_name = kProfiles[chance(40) ? 1 : 0];
  take_seat(random_, *made);
  if (extended) PlayedExtenders::take(random_, *made);
  // Who is not in the queue is nominated nowhere.
  if (!pod->status.nominated_node_name.empty()) return made;
  if (chance(10)) made->spec.scheduling_gates.emplace_back().name = "example.com/gate";
  if (chance(10)) made->spec.scheduler_name = "another";
  return made;
}

std::shared_ptr<const api::Pod> PodLives::change(const api::Pod& pod, bool assumed, api::SymbolMap labels) {
  auto made = std::make_shared<api::Pod>(pod);
  made->spec.scheduling_gates.clear();
  switch (below(assumed ? 3 : 4)) {
    case 0: made->metadata.labels = std::move(labels); break;
    case 1: {
      api::Toleration& t = made->spec.tolerations.emplace_back();
      t.key = chance(50) ? "dedicated" : "soft";
      t.operator_ = "Exists";
      break;
    }
    case 2: made->spec.scheduler_name = chance(75) ? kProfiles[below(2)] : "another"; break;
    default:
      for (api::Container& c : made->spec.containers)
        if (c.resources.requests.contains("cpu")) c.resources.requests["cpu"] = api::Quantity::must("50m");
  }
  if (!is_served(*made) && !assumed) made->status.nominated_node_name = {};
  return made;
}

}  // namespace koord::scheduling::test
