// The schema tables of koord/api/types/meta_v1/status.hpp: Status.
#include "koord/api/types/meta_v1/status.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr Kind kStatus = {
    .group = "", .version = "v1", .kind = "Status", .plural = "", .singular = "", .namespaced = false};

}  // namespace

template <>
const Schema& schema<StatusCause>() {
  using T = StatusCause;
  static constexpr Field kRows[] = {
      KOORD_FIELD(reason, "reason"),
      KOORD_FIELD(message, "message"),
      KOORD_FIELD(field, "field"),
  };
  static const Schema kSchema("StatusCause", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<StatusDetails>() {
  using T = StatusDetails;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name"),     KOORD_FIELD(group, "group"),
      KOORD_FIELD(kind, "kind"),     KOORD_FIELD(uid, "uid"),
      KOORD_FIELD(causes, "causes"), KOORD_FIELD(retry_after_seconds, "retryAfterSeconds"),
  };
  static const Schema kSchema("StatusDetails", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<Status>() {
  using T = Status;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metadata, "metadata"), KOORD_FIELD(status, "status"),   KOORD_FIELD(message, "message"),
      KOORD_FIELD(reason, "reason"),     KOORD_FIELD(details, "details"), KOORD_FIELD(code, "code"),
  };
  static const Schema kSchema("Status", kRows, type_of<T>, &kStatus);
  return kSchema;
}

}  // namespace koord::api
