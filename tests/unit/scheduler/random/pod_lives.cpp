// Pods before they are bound: see pod_lives.hpp.
#include "random/pod_lives.hpp"

namespace koord::scheduler::test {

namespace {

constexpr const char* kOurs = "default-scheduler";
constexpr const char* kCpu[] = {"100m", "500m", "1", "3"};

}  // namespace

bool PodLives::is_ours(const api::Pod& pod) {
  return pod.spec.scheduler_name == kOurs && pod.spec.scheduling_gates.empty();
}

std::shared_ptr<const api::Pod> PodLives::dress(std::shared_ptr<const api::Pod> pod) {
  auto made = std::make_shared<api::Pod>(*pod);
  if (chance(15)) {
    api::ResourceRequirements& whole = made->spec.resources.ensure();
    whole.requests["cpu"] = api::Quantity::must(kCpu[below(4)]);
    if (chance(50)) whole.requests["memory"] = api::Quantity::must("512Mi");
  }
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
    case 2: made->spec.scheduler_name = chance(60) ? kOurs : "another"; break;
    default:
      for (api::Container& c : made->spec.containers)
        if (c.resources.requests.contains("cpu")) c.resources.requests["cpu"] = api::Quantity::must("50m");
  }
  if (made->spec.scheduler_name != kOurs && !assumed) made->status.nominated_node_name = {};
  return made;
}

}  // namespace koord::scheduler::test
