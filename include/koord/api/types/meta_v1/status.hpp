// metav1.Status: how the API server says no, and which Error that is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/base/error.hpp"

namespace koord::api {

struct StatusCause {
  std::string reason;
  std::string message;
  std::string field;
  KOORD_STRUCT(StatusCause);
};

struct StatusDetails {
  std::string name;
  std::string group;
  std::string kind;
  std::string uid;
  std::vector<StatusCause> causes;
  int32_t retry_after_seconds = 0;
  KOORD_STRUCT(StatusDetails);
};

struct Status {
  ListMeta metadata;
  std::string status;  // Success, Failure
  std::string message;
  std::string reason;  // NotFound, AlreadyExists, Conflict, Expired, ...
  Box<StatusDetails> details;
  int32_t code = 0;  // HTTP
  KOORD_STRUCT(Status);
};

/// The error of an HTTP response's status code alone.
Code code_of_http(int http_status);

/// By reason where it decides, else by the HTTP code; with retry_after where the details have it.
Error to_error(const Status& status);

/// The error of a response that was not a success: `body` is a Status if the API server wrote it, and any
/// text if something in between did (its start becomes the message).
Error error_of_response(int http_status, std::string_view body);

}  // namespace koord::api
