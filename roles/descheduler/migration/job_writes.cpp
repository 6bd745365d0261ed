// JobWrites: see job_writes.hpp.
#include "migration/job_writes.hpp"

#include <fmt/format.h>

#include "koord/api/koordinator/descheduling.hpp"
#include "koord/api/koordinator/drain.hpp"
#include "koord/api/koordinator/migration.hpp"
#include "koord/api/koordinator/reservation.hpp"
#include "koord/json/value.hpp"
#include "migration/jobs/conditions.hpp"
#include "migration/jobs/progress.hpp"
#include "migration/reservation_template.hpp"

namespace koord::descheduler::migration {

namespace {

Result<JobWrites::JobPtr> decoded(const Result<std::string>& text) {
  if (!text) return text.error();
  KOORD_TRY(job, api::decode<api::PodMigrationJob>(*text));
  return JobWrites::JobPtr(std::make_shared<const api::PodMigrationJob>(std::move(job)));
}

Result<JobWrites::ReservationPtr> decoded_reservation(const std::string& text) {
  KOORD_TRY(reservation, api::decode<api::Reservation>(text));
  return JobWrites::ReservationPtr(std::make_shared<const api::Reservation>(std::move(reservation)));
}

/// The condition that has changed, else the phase.
std::string what_is_said(const api::PodMigrationJobStatus& before, const api::PodMigrationJobStatus& after) {
  if (before.phase != after.phase)
    return fmt::format("{}{}{}{}{}", after.phase.view(), after.reason.empty() ? "" : ", ",
                       after.reason.view(), after.message.empty() ? "" : ": ", after.message);
  for (const api::PodMigrationJobCondition& condition : after.conditions) {
    const api::PodMigrationJobCondition* const was = condition_of(before, condition.type.view());
    if (was == nullptr || *was != condition)
      return fmt::format("{}={}{}{}", condition.type.view(), condition.status.view(),
                         condition.reason.empty() ? "" : " ", condition.reason.view());
  }
  return "its status";
}

}  // namespace

kube::Initiator initiator_of(const api::PodMigrationJob& job, std::string why) {
  kube::Initiator who;
  who.profile = api::value_or(job.metadata.annotations, api::kJobProfileAnnotation);
  who.plugin = api::value_or(job.metadata.annotations, api::kEvictTriggerAnnotation);
  if (who.plugin.empty()) who.plugin = "MigrationController";
  const std::string_view drain = api::value_or(job.metadata.labels, api::kDrainNodeLabel);
  if (!drain.empty()) who.wanted_by.push_back(fmt::format("DrainNode/{}", drain));
  who.wanted_by.push_back(fmt::format("PodMigrationJob/{}", job.metadata.name));
  who.reason = std::move(why);
  return who;
}

Result<> JobWrites::may_write() const {
  if (!may_write_()) return Error(Code::unavailable, "another process leads");
  return {};
}

Task<Result<JobWrites::JobPtr>> JobWrites::create(api::PodMigrationJob job) {
  KOORD_CO_CHECK(may_write());
  kube::Initiator who = initiator_of(job, std::string(reason_of(job)));
  who.wanted_by.pop_back();  // itself
  const Result<std::string> text =
      co_await client_.create_raw(api::kind<api::PodMigrationJob>(), {}, api::encode(job),
                                  {.may_go = may_write_, .by = kube::by(std::move(who))});
  co_return decoded(text);
}

Task<Result<JobWrites::JobPtr>> JobWrites::change(JobPtr before, api::PodMigrationJob after,
                                                  std::string why) {
  return patch(std::move(before), std::move(after), {}, std::move(why));
}

Task<Result<JobWrites::JobPtr>> JobWrites::set_status(JobPtr before, api::PodMigrationJobStatus status) {
  api::PodMigrationJob after = *before;
  after.status = std::move(status);
  std::string why = what_is_said(before->status, after.status);
  return patch(std::move(before), std::move(after), "status", std::move(why));
}

Task<Result<JobWrites::JobPtr>> JobWrites::patch(JobPtr before, api::PodMigrationJob after,
                                                 std::string subresource, std::string why) {
  std::optional<api::Patch> patch = api::diff(*before, after);
  if (!patch) co_return before;
  KOORD_CO_CHECK(may_write());
  patch = std::move(*patch).with_precondition(
      {.uid = before->metadata.uid, .resource_version = before->metadata.resource_version});
  const Result<std::string> text = co_await client_.patch_raw(
      api::kind<api::PodMigrationJob>(), {.ns = {}, .name = before->metadata.name}, std::move(patch->body),
      {.type = patch->type,
       .subresource = std::move(subresource),
       .field_manager = {},
       .may_go = may_write_,
       .by = kube::by(initiator_of(*before, std::move(why)))});
  co_return decoded(text);
}

Task<Result<>> JobWrites::remove(JobPtr job, std::string why) {
  KOORD_CO_CHECK(may_write());
  kube::DeleteOptions options;
  options.uid = job->metadata.uid;
  options.may_go = may_write_;
  options.by = kube::by(initiator_of(*job, std::move(why)));
  Result<> removed = co_await client_.remove<api::PodMigrationJob>({.ns = {}, .name = job->metadata.name},
                                                                   std::move(options));
  if (!removed && removed.error().code() == Code::not_found) co_return Result<>();
  co_return removed;
}

Task<Result<JobWrites::JobPtr>> JobWrites::newest(JobPtr job) {
  Result<JobPtr> found = decoded(
      co_await client_.get_raw(api::kind<api::PodMigrationJob>(), {.ns = {}, .name = job->metadata.name}));
  if (found && (*found)->metadata.uid != job->metadata.uid)
    co_return Error(Code::not_found, fmt::format("PodMigrationJob {} is another one", job->metadata.name));
  co_return found;
}

Task<Result<JobWrites::ReservationPtr>> JobWrites::reserve(std::string document, JobPtr job) {
  KOORD_CO_CHECK(may_write());
  KOORD_CO_TRY(parsed, json::parse(document));
  const std::string name(json::text_at(parsed, "metadata", "name"));
  const api::Kind& kind = api::kind<api::Reservation>();
  const Result<std::string> made = co_await client_.create_raw(
      kind, {}, std::move(document),
      {.may_go = may_write_,
       .by = kube::by(initiator_of(*job, fmt::format("room for the pod to go to: {}", reason_of(*job))))});
  if (made) co_return decoded_reservation(*made);
  if (made.error().code() != Code::already_exists) co_return made.error();
  // Made by a process that ended before it could write down that it had.
  KOORD_CO_TRY(text, co_await client_.get_raw(kind, {.ns = {}, .name = name}));
  KOORD_CO_TRY(reservation, decoded_reservation(text));
  if (name != job->metadata.uid && api::value_or(reservation->metadata.labels, kCreatedByLabel) != kCreator)
    co_return Error(Code::already_exists, fmt::format("Reservation {} is somebody else's", name));
  co_return reservation;
}

Task<Result<>> JobWrites::set_order(ReservationPtr reservation, JobPtr job, WallTime now) {
  KOORD_CO_CHECK(may_write());
  api::Reservation after = *reservation;
  after.metadata.labels[api::kReservationOrderLabel] = Symbol(reservation_order(now));
  co_return co_await client_.patch<api::Reservation>(
      *reservation, after,
      {.may_go = may_write_, .by = kube::by(initiator_of(*job, "its place among other reservations"))});
}

Task<Result<>> JobWrites::release(std::string reservation, std::string uid, std::string resource_version,
                                  JobPtr job, std::string why) {
  KOORD_CO_CHECK(may_write());
  kube::DeleteOptions options;
  options.uid = std::move(uid);
  options.resource_version = std::move(resource_version);
  options.may_go = may_write_;
  options.by = kube::by(
      job ? initiator_of(*job, std::move(why))
          : kube::Initiator{
                .profile = {}, .plugin = "MigrationController", .wanted_by = {}, .reason = std::move(why)});
  Result<> removed = co_await client_.remove<api::Reservation>({.ns = {}, .name = std::move(reservation)},
                                                               std::move(options));
  // Gone, or another one has its name or it is another version: that one stays.
  if (!removed && (removed.error().code() == Code::not_found || removed.error().code() == Code::conflict))
    co_return Result<>();
  co_return removed;
}

}  // namespace koord::descheduler::migration
