// order(): see arbitration_order.hpp.
#include "migration/arbitration_order.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "evictions/pod_order.hpp"

namespace koord::descheduler::migration {

namespace {

struct Place {
  std::optional<PodRank> rank;
  std::int64_t created = 0;  // negative, so that the newer is less
  std::string_view batch;    // the UID of the Job; empty: none
  std::size_t moving = 0;
  std::size_t at = 0;  // of the first of its Job
  WaitingJob job;
};

Place place_of(WaitingJob job) {
  Place place;
  place.created = -job.job->metadata.creation_timestamp.at.time_since_epoch().count();
  if (job.pod) {
    place.rank = rank_of(*job.pod);
    const api::OwnerReference* owner = api::controller_of(job.pod->metadata);
    if (owner && owner->kind == "Job") place.batch = owner->uid.view();
  }
  place.job = std::move(job);
  return place;
}

}  // namespace

void order(std::vector<WaitingJob>& jobs, const std::function<std::size_t(std::string_view uid)>& moving) {
  std::vector<Place> places;
  places.reserve(jobs.size());
  for (WaitingJob& job : jobs) places.push_back(place_of(std::move(job)));
  std::ranges::stable_sort(places, [](const Place& a, const Place& b) {
    return std::tie(a.rank, a.created) < std::tie(b.rank, b.created);
  });
  std::unordered_map<std::string_view, const Place*> first;
  for (std::size_t i = 0; i < places.size(); ++i) {
    Place& place = places[i];
    place.at = i;
    if (place.batch.empty()) continue;
    const auto [it, fresh] = first.try_emplace(place.batch, &place);
    if (fresh) place.moving = moving(place.batch);
    place.at = it->second->at;
    place.moving = it->second->moving;
  }
  std::ranges::stable_sort(places, [](const Place& a, const Place& b) {
    return std::tuple(b.moving, a.at) < std::tuple(a.moving, b.at);
  });
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i] = std::move(places[i].job);
}

}  // namespace koord::descheduler::migration
