// The status of reservations: see status.hpp.
#include "scheduling/plugins/reservation/rules/status.hpp"

#include <algorithm>

#include "koord/api/koordinator/reservation.hpp"
#include "scheduling/plugins/reservation/rules/facts.hpp"

namespace koord::scheduling::reservation {

namespace {

api::ReservationCondition condition(const char* type, const char* status, const char* reason, WallTime now) {
  return {.type = type,
          .status = status,
          .reason = reason,
          .last_probe_time = api::Time(now),
          .last_transition_time = api::Time(now)};
}

/// nullptr: there is none of this type.
api::ReservationCondition* find(api::Reservation& r, std::string_view type) {
  const auto it = std::ranges::find(r.status.conditions, Symbol(type), &api::ReservationCondition::type);
  return it != r.status.conditions.end() ? &*it : nullptr;
}

}  // namespace

bool set_unschedulable(api::Reservation& r, std::string_view message, WallTime now) {
  api::ReservationCondition* scheduled = find(r, "Scheduled");
  if (scheduled != nullptr && (scheduled->status == "True" ||
                               (scheduled->reason == "Unschedulable" && scheduled->message == message)))
    return false;
  if (scheduled == nullptr)
    scheduled = &r.status.conditions.emplace_back(condition("Scheduled", "False", "Unschedulable", now));
  scheduled->reason = "Unschedulable";
  scheduled->message = message;
  scheduled->last_probe_time = api::Time(now);
  return true;
}

void set_available(api::Reservation& r, const Symbol& node, WallTime now) {
  api::ResourceList kept = kept_by(r);
  if (auto resized = api::read_annotation<api::ReservationResize>(r.metadata.annotations);
      resized && *resized)
    for (const auto& [name, amount] : (*resized)->resources) kept[name] = amount;
  r.status.allocatable = std::move(kept);
  r.status.node_name = node;
  r.status.phase = "Available";
  r.status.conditions = {condition("Scheduled", "True", "Scheduled", now),
                         condition("Ready", "True", "Available", now)};
}

void set_expired(api::Reservation& r, WallTime now) {
  r.status.phase = "Failed";
  api::ReservationCondition* const ready = find(r, "Ready");
  if (ready == nullptr) {
    r.status.conditions.push_back(condition("Ready", "False", "Expired", now));
  } else if (ready->status == "True") {
    *ready = condition("Ready", "False", "Expired", now);
  } else {
    ready->reason = "Expired";
    ready->last_probe_time = api::Time(now);
  }
}

void set_preempted(api::Reservation& r, std::string_view message, WallTime now) {
  if (is_over(r)) return;
  set_expired(r, now);
  find(r, "Ready")->message = message;
}

void set_succeeded(api::Reservation& r, WallTime now) {
  r.status.phase = "Succeeded";
  api::ReservationCondition* const ready = find(r, "Ready");
  if (ready == nullptr) {
    r.status.conditions.push_back(condition("Ready", "False", "Succeeded", now));
    return;
  }
  ready->status = "False";
  ready->reason = "Succeeded";
  ready->last_probe_time = api::Time(now);
}

}  // namespace koord::scheduling::reservation
