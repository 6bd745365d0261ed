// Conditions: see conditions.hpp.
#include "migration/jobs/conditions.hpp"

#include <algorithm>

namespace koord::descheduler::migration {

const api::PodMigrationJobCondition* condition_of(const api::PodMigrationJobStatus& status,
                                                  std::string_view type) {
  const auto at = std::ranges::find_if(
      status.conditions, [&](const api::PodMigrationJobCondition& c) { return c.type == type; });
  return at == status.conditions.end() ? nullptr : &*at;
}

bool note_condition(api::PodMigrationJobStatus& status, std::string_view type, bool holds,
                    std::string_view reason, std::string_view message, api::Time now) {
  const std::string_view value = holds ? "True" : "False";
  const api::PodMigrationJobCondition* old = condition_of(status, type);
  if (old && old->status == value && old->reason == reason && old->message == message) return false;
  api::PodMigrationJobCondition fresh;
  fresh.type = Symbol(type);
  fresh.status = Symbol(value);
  fresh.reason = Symbol(reason);
  fresh.message = message;
  fresh.last_transition_time = old && old->status == value ? old->last_transition_time : now;
  if (old)
    status.conditions[static_cast<std::size_t>(old - status.conditions.data())] = std::move(fresh);
  else
    status.conditions.push_back(std::move(fresh));
  return true;
}

bool set_condition(api::PodMigrationJobStatus& status, std::string_view type, bool holds,
                   std::string_view reason, std::string_view message, api::Time now) {
  if (!note_condition(status, type, holds, reason, message, now)) return false;
  status.status = Symbol(type);
  status.reason = Symbol(reason);
  status.message = message;
  return true;
}

}  // namespace koord::descheduler::migration
