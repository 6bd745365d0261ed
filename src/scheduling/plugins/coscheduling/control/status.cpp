// A PodGroup's status: see status.hpp.
#include "scheduling/plugins/coscheduling/control/status.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace koord::scheduling::coscheduling {

namespace {

constexpr std::string_view kPending = "Pending", kPreScheduling = "PreScheduling", kScheduling = "Scheduling",
                           kScheduled = "Scheduled", kRunning = "Running", kFinished = "Finished",
                           kFailed = "Failed";
constexpr auto kCollected = std::chrono::hours(48);
/// From "" to the last phase, and one more, which changes nothing.
constexpr int kSteps = 5;

bool is_over(const api::PodGroup& group) {
  const api::PodGroupStatus& status = group.status;
  if (status.phase == kFinished || status.phase == kFailed) return true;
  return status.scheduled == group.spec.min_member && status.running == 0 && status.schedule_start_time &&
         status.schedule_start_time->at - group.metadata.creation_timestamp.at > kCollected;
}

void step(api::PodGroup& group, const GroupPods& pods, WallTime now) {
  api::PodGroupStatus& status = group.status;
  const std::int32_t min = group.spec.min_member;
  const auto becomes = [&](std::string_view phase) { status.phase = Symbol(phase); };
  if (status.phase.empty()) return becomes(kPending);
  if (status.phase == kPending) {
    if (pods.count() < min || min <= 0) return;
    if (std::string owners = pods.owners(); !owners.empty()) status.occupied_by = std::move(owners);
    return becomes(kPreScheduling);
  }
  if (pods.empty()) return becomes(kPending);
  status.failed = pods.in("Failed");
  status.succeeded = pods.in("Succeeded");
  status.running = pods.in("Running");
  status.scheduled = pods.bound();
  const bool enough = status.scheduled >= min;
  // Also of who was placed before anybody had a look.
  if ((!enough || status.phase == kPreScheduling) && !status.schedule_start_time)
    status.schedule_start_time = api::Time(now);
  becomes(enough ? kScheduled : kScheduling);
  if (enough && status.succeeded + status.running >= min) becomes(kRunning);
  if (status.failed != 0 && status.failed + status.running + status.succeeded >= min) becomes(kFailed);
  if (status.succeeded >= min) becomes(kFinished);
}

}  // namespace

void GroupPods::put(const api::Pod& pod) {
  std::vector<std::string> owners;
  for (const auto& owner : pod.metadata.owner_references)
    owners.push_back(fmt::format("{}/{}", pod.metadata.namespace_.view(), owner.name));
  std::ranges::sort(owners);
  pods_[pod.metadata.name] = {!pod.spec.node_name.empty(), pod.status.phase,
                              fmt::format("{}", fmt::join(owners, ","))};
}

std::int32_t GroupPods::bound() const {
  return static_cast<std::int32_t>(
      std::ranges::count_if(pods_, [](const auto& each) { return each.second.bound; }));
}

std::int32_t GroupPods::in(std::string_view phase) const {
  return static_cast<std::int32_t>(
      std::ranges::count_if(pods_, [&](const auto& each) { return each.second.phase == phase; }));
}

std::string GroupPods::owners() const { return pods_.empty() ? std::string() : pods_.begin()->second.owners; }

std::optional<api::PodGroup> settled(const api::PodGroup& group, const GroupPods& pods, WallTime now) {
  if (is_over(group)) return std::nullopt;
  api::PodGroup after = group;
  for (int n = 0; n < kSteps; ++n) {
    const api::PodGroupStatus before = after.status;
    step(after, pods, now);
    if (after.status == before || is_over(after)) break;
  }
  if (after.status == group.status) return std::nullopt;
  return after;
}

}  // namespace koord::scheduling::coscheduling
