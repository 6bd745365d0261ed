// The wording of Kubernetes' refusals and their form on the wire.
#include "sandbox/api/status.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "sandbox/json/dom.hpp"

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

}  // namespace

void throw_exception_from_error(const Failure& failure, const boost::source_location&) {
  throw std::logic_error("value() of a refusal: " + failure.message);
}

std::string Named::qualified() const {
  return group.empty() ? std::string(resource) : fmt::format("{}.{}", resource, group);
}

std::string Failure::to_json() const {
  std::string out = fmt::format(
      R"({{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":{},"reason":{})",
      quote_json(message), quote_json(reason));
  std::string details;
  auto add = [&](std::string_view key, std::string_view value) {
    if (!value.empty())
      details += fmt::format("{}\"{}\":{}", details.empty() ? "" : ",", key, quote_json(value));
  };
  add("name", name);
  add("group", group);
  add("kind", kind);
  add("uid", uid);
  if (!causes.empty()) {
    std::string list;
    for (const Cause& cause : causes) {
      list += list.empty() ? "{" : ",{";
      list += fmt::format(R"("reason":{},"message":{})", quote_json(cause.reason), quote_json(cause.message));
      if (!cause.field.empty()) list += ",\"field\":" + quote_json(cause.field);
      list += "}";
    }
    details += fmt::format("{}\"causes\":[{}]", details.empty() ? "" : ",", list);
  }
  if (retry_after_seconds > 0)
    details += fmt::format("{}\"retryAfterSeconds\":{}", details.empty() ? "" : ",", retry_after_seconds);
  if (!details.empty()) out += ",\"details\":{" + details + "}";
  out += fmt::format(",\"code\":{}}}", code);
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
  return make(500, "InternalError", "Internal error occurred: " + message);
}

Failure unauthorized() { return make(401, "Unauthorized", "Unauthorized"); }

Failure resource_version_too_large(std::uint64_t asked, std::uint64_t current) {
  Failure failure =
      make(504, "Timeout", fmt::format("Too large resource version: {}, current: {}", asked, current));
  failure.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  failure.retry_after_seconds = 1;
  return failure;
}

void FieldErrors::add(std::string_view reason, std::string field, std::string message) {
  causes_.push_back({std::string(reason), std::move(message), std::move(field)});
}

void FieldErrors::required(std::string field, std::string_view detail) {
  add("FieldValueRequired", std::move(field),
      fmt::format("Required value{}{}", detail.empty() ? "" : ": ", detail));
}

void FieldErrors::invalid(std::string field, std::string_view value, std::string_view detail) {
  add("FieldValueInvalid", std::move(field), fmt::format("Invalid value: {}: {}", quote_json(value), detail));
}

void FieldErrors::invalid_raw(std::string field, std::string_view value, std::string_view detail) {
  add("FieldValueInvalid", std::move(field), fmt::format("Invalid value: {}: {}", value, detail));
}

void FieldErrors::unsupported(std::string field, std::string_view value,
                              const std::vector<std::string_view>& supported) {
  std::string list;
  for (std::string_view item : supported) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", item);
  add("FieldValueNotSupported", std::move(field),
      fmt::format("Unsupported value: {}: supported values: {}", quote_json(value), list));
}

void FieldErrors::forbidden(std::string field, std::string_view detail) {
  add("FieldValueForbidden", std::move(field), fmt::format("Forbidden: {}", detail));
}

void FieldErrors::duplicate(std::string field, std::string_view value) {
  add("FieldValueDuplicate", std::move(field), fmt::format("Duplicate value: {}", quote_json(value)));
}

void FieldErrors::too_long(std::string field, std::size_t max) {
  add("FieldValueTooLong", std::move(field), fmt::format("Too long: may not be more than {} bytes", max));
}

void FieldErrors::wrong_type(std::string field, std::string_view value, std::string_view detail) {
  add("FieldValueTypeInvalid", std::move(field), fmt::format("Invalid value: {}: {}", value, detail));
}

void FieldErrors::not_found(std::string field, std::string_view value) {
  add("FieldValueNotFound", std::move(field), fmt::format("Not found: {}", quote_json(value)));
}

Failure FieldErrors::failure(std::string_view group, std::string_view kind, std::string_view name) const {
  // Equal messages are said once, several are put in brackets, as Go's aggregate does.
  std::string list;
  std::size_t count = 0;
  std::vector<std::string> seen;
  for (const Cause& cause : causes_) {
    std::string one = fmt::format("{}: {}", cause.field, cause.message);
    if (std::find(seen.begin(), seen.end(), one) != seen.end()) continue;
    list += (count++ ? ", " : "") + one;
    seen.push_back(std::move(one));
  }
  if (count > 1) list = "[" + list + "]";
  Named what{group, kind};
  Failure failure = about(422, "Invalid", what, name,
                          fmt::format("{} {} is invalid: {}", what.qualified(), quote_json(name), list));
  failure.causes = causes_;
  return failure;
}

}  // namespace koord::sandbox
