// StatusError: how what a server refused becomes an Error.
#include "koord/api/types/meta_v1/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "koord/api/schema/codec.hpp"

namespace koord::api {
namespace {

struct ReasonRow {
  std::string_view reason;
  Code code;
};

constexpr ReasonRow kReasons[] = {
    {"AlreadyExists", Code::already_exists},
    {"BadRequest", Code::bad_request},
    {"Conflict", Code::conflict},
    {"Expired", Code::gone},
    {"Forbidden", Code::forbidden},
    {"Gone", Code::gone},
    {"InternalError", Code::server_error},
    {"Invalid", Code::invalid},
    {"MethodNotAllowed", Code::unsupported},
    {"NotAcceptable", Code::unsupported},
    {"NotFound", Code::not_found},
    {"RequestEntityTooLarge", Code::too_large},
    {"ServerTimeout", Code::timeout},
    {"ServiceUnavailable", Code::unavailable},
    {"StorageReadError", Code::server_error},
    {"Timeout", Code::timeout},
    {"TooManyRequests", Code::too_many_requests},
    {"Unauthorized", Code::unauthorized},
    {"UnsupportedMediaType", Code::unsupported},
};

}  // namespace

Code code_of_http(int http_status) {
  switch (http_status) {
    case 400: return Code::bad_request;
    case 401: return Code::unauthorized;
    case 403: return Code::forbidden;
    case 404: return Code::not_found;
    case 405:
    case 406:
    case 415: return Code::unsupported;
    case 408:
    case 504: return Code::timeout;
    case 409: return Code::conflict;
    case 410: return Code::gone;
    case 413: return Code::too_large;
    case 422: return Code::invalid;
    case 429: return Code::too_many_requests;
    case 502:
    case 503: return Code::unavailable;
    default: return http_status >= 500 ? Code::server_error : Code::bad_request;
  }
}

Error to_error(const Status& status) {
  const auto* row =
      std::ranges::find_if(kReasons, [&](const ReasonRow& r) { return r.reason == status.reason; });
  const Code code = row != std::end(kReasons) ? row->code
                    : status.code != 0        ? code_of_http(status.code)
                                              : Code::server_error;
  std::string message = status.message;
  if (message.empty()) message = status.reason;
  if (message.empty()) message = fmt::format("HTTP status {}", status.code);
  Error error(code, std::move(message));
  if (status.details && status.details->retry_after_seconds > 0)
    error.retry_after(std::chrono::seconds(status.details->retry_after_seconds));
  return error;
}

Error error_of_response(int http_status, std::string_view body) {
  if (auto status = decode<Status>(body); status && (!status->message.empty() || !status->reason.empty())) {
    if (status->code == 0) status->code = http_status;
    return to_error(*status);
  }
  constexpr size_t kShown = 300;
  std::string start(body.substr(0, kShown));
  std::ranges::replace_if(
      start,
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e; },
      ' ');
  while (!start.empty() && start.back() == ' ') start.pop_back();
  return Error(code_of_http(http_status), start.empty()
                                              ? fmt::format("HTTP status {}", http_status)
                                              : fmt::format("HTTP status {}: {}", http_status, start));
}

}  // namespace koord::api
