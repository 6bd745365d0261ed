// The wording of Kubernetes' refusals and their form on the wire.
#include "sandbox/base/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::sandbox {
namespace {

Failure make(int code, std::string reason, std::string message) {
  Failure failure;
  failure.code = code;
  failure.reason = std::move(reason);
  failure.message = std::move(message);
  return failure;
}

Failure about(int code, std::string reason, Named what, std::string_view name, std::string message) {
  Failure failure = make(code, std::move(reason), std::move(message));
  failure.group = what.group;
  failure.kind = what.resource;
  failure.name = name;
  return failure;
}

// The beginning of a long value, in whole characters.
std::string_view shown(std::string_view value) {
  if (value.size() <= StatusCauses::kMostShown) return value;
  std::size_t end = StatusCauses::kMostShown;
  while (end > 0 && (value[end] & 0xc0) == 0x80) --end;
  return value.substr(0, end);
}

std::string quoted(std::string_view value) {
  return fmt::format("{}{}", json::quote(shown(value)), value.size() > StatusCauses::kMostShown ? "..." : "");
}

}  // namespace

void throw_exception_from_error(const Failure& failure, const boost::source_location&) {
  throw std::logic_error(fmt::format("value() of a refusal: {}", failure.message));
}

std::string Named::qualified() const {
  return group.empty() ? std::string(resource) : fmt::format("{}.{}", resource, group);
}

std::string Failure::to_json() const {
  std::string out;
  json::Writer json(out);
  json.begin_object().member("kind", "Status").member("apiVersion", "v1");
  json.key("metadata").begin_object().end_object();
  json.member("status", "Failure").member("message", message).member("reason", reason);
  const bool detailed = !name.empty() || !group.empty() || !kind.empty() || !uid.empty() || !causes.empty() ||
                        retry_after_seconds > 0;
  if (detailed) {
    json.key("details").begin_object();
    json.member_if("name", name).member_if("group", group).member_if("kind", kind).member_if("uid", uid);
    if (!causes.empty()) {
      json.key("causes").begin_array();
      for (const Cause& cause : causes) {
        json.begin_object().member("reason", cause.reason).member("message", cause.message);
        json.member_if("field", cause.field).end_object();
      }
      json.end_array();
    }
    if (retry_after_seconds > 0) json.member("retryAfterSeconds", retry_after_seconds);
    json.end_object();
  }
  json.member("code", code).end_object();
  return out;
}

Failure bad_request(std::string message) { return make(400, "BadRequest", std::move(message)); }

Failure not_found(Named what, std::string_view name) {
  return about(404, "NotFound", what, name, fmt::format("{} \"{}\" not found", what.qualified(), name));
}

Failure already_exists(Named what, std::string_view name) {
  return about(409, "AlreadyExists", what, name,
               fmt::format("{} \"{}\" already exists", what.qualified(), name));
}

Failure conflict(Named what, std::string_view name, std::string_view why) {
  return about(409, "Conflict", what, name,
               fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", what.qualified(), name, why));
}

Failure stale(Named what, std::string_view name) {
  return conflict(
      what, name,
      "the object has been modified; please apply your changes to the latest version and try again");
}

Failure forbidden(Named what, std::string_view name, std::string_view why) {
  return about(403, "Forbidden", what, name,
               fmt::format("{} \"{}\" is forbidden: {}", what.qualified(), name, why));
}

Failure method_not_allowed(Named what, std::string_view) {
  return about(405, "MethodNotAllowed", what, {},
               "the server does not allow this method on the requested resource");
}

Failure no_route() { return make(404, "NotFound", "the server could not find the requested resource"); }

Failure unsupported_media(std::string_view supported) {
  return make(
      415, "UnsupportedMediaType",
      fmt::format("the body of the request was in an unknown format - accepted media types include: {}",
                  supported));
}

Failure expired(std::string message) { return make(410, "Expired", std::move(message)); }
Failure gone(std::string message) { return make(410, "Gone", std::move(message)); }
Failure too_large(std::string message) { return make(413, "RequestEntityTooLarge", std::move(message)); }
Failure unprocessable(std::string message) { return make(422, "Invalid", std::move(message)); }

Failure too_many_requests(std::string message, int retry_after_seconds) {
  Failure failure = make(429, "TooManyRequests", std::move(message));
  failure.retry_after_seconds = retry_after_seconds;
  return failure;
}

Failure internal_error(std::string message) {
  return make(500, "InternalError", fmt::format("Internal error occurred: {}", message));
}

Failure internal_failure(std::string message) { return make(500, "InternalError", std::move(message)); }

Failure unauthorized() { return make(401, "Unauthorized", "Unauthorized"); }

Failure resource_version_too_large(std::uint64_t asked, std::uint64_t current) {
  Failure failure =
      make(504, "Timeout", fmt::format("Too large resource version: {}, current: {}", asked, current));
  failure.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  failure.retry_after_seconds = 1;
  return failure;
}

void StatusCauses::add(std::string_view reason, std::string field, std::string message) {
  if (skip()) return;
  causes_.push_back({std::string(reason), std::move(message), std::move(field)});
}

void StatusCauses::required(std::string field, std::string_view detail) {
  add("FieldValueRequired", std::move(field),
      fmt::format("Required value{}{}", detail.empty() ? "" : ": ", detail));
}

void StatusCauses::invalid(std::string field, std::string_view value, std::string_view detail) {
  add("FieldValueInvalid", std::move(field), fmt::format("Invalid value: {}: {}", quoted(value), detail));
}

void StatusCauses::invalid_raw(std::string field, std::string_view value, std::string_view detail) {
  add("FieldValueInvalid", std::move(field), fmt::format("Invalid value: {}: {}", shown(value), detail));
}

void StatusCauses::unsupported(std::string field, std::string_view value,
                               const std::vector<std::string_view>& supported) {
  std::string list;
  for (std::string_view item : supported)
    if (list.size() < kMostShown)
      fmt::format_to(std::back_inserter(list), "{}{}", list.empty() ? "" : ", ", json::quote(item));
  add("FieldValueNotSupported", std::move(field),
      fmt::format("Unsupported value: {}: supported values: {}", quoted(value), list));
}

void StatusCauses::forbidden(std::string field, std::string_view detail) {
  add("FieldValueForbidden", std::move(field), fmt::format("Forbidden: {}", detail));
}

void StatusCauses::duplicate(std::string field, std::string_view value) {
  add("FieldValueDuplicate", std::move(field), fmt::format("Duplicate value: {}", quoted(value)));
}

void StatusCauses::too_long(std::string field, std::size_t max) {
  add("FieldValueTooLong", std::move(field), fmt::format("Too long: may not be more than {} bytes", max));
}

void StatusCauses::too_many(std::string field, std::size_t count, std::size_t max) {
  add("FieldValueTooMany", std::move(field),
      fmt::format("Too many: {}: must have at most {} item{}", count, max, max == 1 ? "" : "s"));
}

void StatusCauses::internal(std::string field, std::string_view detail) {
  add("InternalError", std::move(field), fmt::format("Internal error: {}", detail));
}

void StatusCauses::wrong_type(std::string field, std::string_view value, std::string_view detail) {
  add("FieldValueTypeInvalid", std::move(field), fmt::format("Invalid value: {}: {}", shown(value), detail));
}

void StatusCauses::not_found(std::string field, std::string_view value, std::string_view detail) {
  add("FieldValueNotFound", std::move(field),
      fmt::format("Not found: {}{}{}", quoted(value), detail.empty() ? "" : ": ", shown(detail)));
}

void StatusCauses::invalid_part(std::string field, std::string_view detail) {
  add("FieldValueInvalid", std::move(field), fmt::format("Invalid value: {}", detail));
}

void StatusCauses::duplicate_part(std::string field) {
  add("FieldValueDuplicate", std::move(field), "Duplicate value");
}

bool StatusCauses::block_rules() const {
  return std::any_of(causes_.begin(), causes_.end(), [](const Cause& cause) {
    return cause.reason == "FieldValueNotSupported" || cause.reason == "FieldValueRequired" ||
           cause.reason == "FieldValueTooLong" || cause.reason == "FieldValueTypeInvalid";
  });
}

Failure StatusCauses::failure(std::string_view group, std::string_view kind, std::string_view name) const {
  // Equal messages are said once, several are put in brackets, as Go's aggregate does.
  std::vector<std::string> said;
  for (const Cause& cause : causes_) {
    std::string one = fmt::format("{}: {}", cause.field, cause.message);
    if (std::find(said.begin(), said.end(), one) == said.end()) said.push_back(std::move(one));
  }
  if (more_ > 0) said.push_back(fmt::format("and {} more errors", more_));
  const bool several = said.size() > 1;
  Named what{group, kind};
  Failure failure = about(422, "Invalid", what, name,
                          fmt::format("{} {} is invalid: {}{}{}", what.qualified(), json::quote(name),
                                      several ? "[" : "", fmt::join(said, ", "), several ? "]" : ""));
  failure.causes = causes_;
  return failure;
}

}  // namespace koord::sandbox
