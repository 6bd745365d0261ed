// JobWrites: see job_writes.hpp.
#include "migration/job_writes.hpp"

#include <fmt/format.h>

#include "koord/api/koordinator/reservation.hpp"
#include "koord/json/value.hpp"
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

}  // namespace

Result<> JobWrites::may_write() const {
  if (!may_write_()) return Error(Code::unavailable, "another process leads");
  return {};
}

Task<Result<JobWrites::JobPtr>> JobWrites::create(api::PodMigrationJob job) {
  KOORD_CO_CHECK(may_write());
  const Result<std::string> text =
      co_await client_.create_raw(api::kind<api::PodMigrationJob>(), {}, api::encode(job));
  co_return decoded(text);
}

Task<Result<JobWrites::JobPtr>> JobWrites::change(JobPtr before, api::PodMigrationJob after) {
  return patch(std::move(before), std::move(after), {});
}

Task<Result<JobWrites::JobPtr>> JobWrites::set_status(JobPtr before, api::PodMigrationJobStatus status) {
  api::PodMigrationJob after = *before;
  after.status = std::move(status);
  return patch(std::move(before), std::move(after), "status");
}

Task<Result<JobWrites::JobPtr>> JobWrites::patch(JobPtr before, api::PodMigrationJob after,
                                                 std::string subresource) {
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
       .may_go = may_write_});
  co_return decoded(text);
}

Task<Result<>> JobWrites::remove(JobPtr job) {
  KOORD_CO_CHECK(may_write());
  kube::DeleteOptions options;
  options.uid = job->metadata.uid;
  options.may_go = may_write_;
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

Task<Result<JobWrites::ReservationPtr>> JobWrites::reserve(std::string document, std::string job_uid) {
  KOORD_CO_CHECK(may_write());
  KOORD_CO_TRY(parsed, json::parse(document));
  const std::string name(json::text_at(parsed, "metadata", "name"));
  const api::Kind& kind = api::kind<api::Reservation>();
  const Result<std::string> made = co_await client_.create_raw(kind, {}, std::move(document));
  if (made) co_return decoded_reservation(*made);
  if (made.error().code() != Code::already_exists) co_return made.error();
  // Made by a process that ended before it could write down that it had.
  KOORD_CO_TRY(text, co_await client_.get_raw(kind, {.ns = {}, .name = name}));
  KOORD_CO_TRY(reservation, decoded_reservation(text));
  if (name != job_uid && api::value_or(reservation->metadata.labels, kCreatedByLabel) != kCreator)
    co_return Error(Code::already_exists, fmt::format("Reservation {} is somebody else's", name));
  co_return reservation;
}

Task<Result<>> JobWrites::set_order(ReservationPtr reservation, WallTime now) {
  KOORD_CO_CHECK(may_write());
  api::Reservation after = *reservation;
  after.metadata.labels[api::kReservationOrderLabel] = Symbol(reservation_order(now));
  co_return co_await client_.patch<api::Reservation>(*reservation, after);
}

Task<Result<>> JobWrites::release(std::string reservation, std::string uid, std::string resource_version) {
  KOORD_CO_CHECK(may_write());
  kube::DeleteOptions options;
  options.uid = std::move(uid);
  options.resource_version = std::move(resource_version);
  options.may_go = may_write_;
  Result<> removed = co_await client_.remove<api::Reservation>({.ns = {}, .name = std::move(reservation)},
                                                               std::move(options));
  // Gone, or another one has its name or it is another version: that one stays.
  if (!removed && (removed.error().code() == Code::not_found || removed.error().code() == Code::conflict))
    co_return Result<>();
  co_return removed;
}

}  // namespace koord::descheduler::migration
