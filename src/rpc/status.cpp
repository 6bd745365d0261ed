// Status: its names, and koord's errors as gRPC's.
#include <fmt/format.h>

#include "koord/rpc/call.hpp"

namespace koord::rpc {

std::string_view to_string(StatusCode code) {
  switch (code) {
    case StatusCode::ok: return "OK";
    case StatusCode::cancelled: return "Canceled";
    case StatusCode::unknown: return "Unknown";
    case StatusCode::invalid_argument: return "InvalidArgument";
    case StatusCode::deadline_exceeded: return "DeadlineExceeded";
    case StatusCode::not_found: return "NotFound";
    case StatusCode::already_exists: return "AlreadyExists";
    case StatusCode::permission_denied: return "PermissionDenied";
    case StatusCode::resource_exhausted: return "ResourceExhausted";
    case StatusCode::failed_precondition: return "FailedPrecondition";
    case StatusCode::aborted: return "Aborted";
    case StatusCode::out_of_range: return "OutOfRange";
    case StatusCode::unimplemented: return "Unimplemented";
    case StatusCode::internal: return "Internal";
    case StatusCode::unavailable: return "Unavailable";
    case StatusCode::data_loss: return "DataLoss";
    case StatusCode::unauthenticated: return "Unauthenticated";
  }
  return "Unknown";
}

Status Status::of(const Error& error) {
  const auto code = [&] {
    switch (error.code()) {
      case Code::bad_request:
      case Code::invalid:
      case Code::parse: return StatusCode::invalid_argument;
      case Code::unauthorized: return StatusCode::unauthenticated;
      case Code::forbidden: return StatusCode::permission_denied;
      case Code::not_found: return StatusCode::not_found;
      case Code::already_exists: return StatusCode::already_exists;
      case Code::conflict: return StatusCode::aborted;
      case Code::gone: return StatusCode::out_of_range;
      case Code::too_large:
      case Code::too_many_requests: return StatusCode::resource_exhausted;
      case Code::unsupported: return StatusCode::unimplemented;
      case Code::unavailable: return StatusCode::unavailable;
      case Code::timeout: return StatusCode::deadline_exceeded;
      case Code::cancelled: return StatusCode::cancelled;
      case Code::server_error:
      case Code::io:
      case Code::internal: return StatusCode::internal;
    }
    return StatusCode::unknown;
  }();
  return {.code = code, .message = error.message(), .details = {}};
}

Error Status::error() const {
  const auto as = [&] {
    switch (code) {
      case StatusCode::cancelled: return Code::cancelled;
      case StatusCode::invalid_argument: return Code::invalid;
      case StatusCode::deadline_exceeded: return Code::timeout;
      case StatusCode::not_found: return Code::not_found;
      case StatusCode::already_exists: return Code::already_exists;
      case StatusCode::permission_denied: return Code::forbidden;
      case StatusCode::resource_exhausted: return Code::too_many_requests;
      case StatusCode::aborted: return Code::conflict;
      case StatusCode::out_of_range: return Code::gone;
      case StatusCode::unimplemented: return Code::unsupported;
      case StatusCode::unavailable: return Code::unavailable;
      case StatusCode::unauthenticated: return Code::unauthorized;
      case StatusCode::ok:
      case StatusCode::unknown:
      case StatusCode::failed_precondition:
      case StatusCode::internal:
      case StatusCode::data_loss: return Code::server_error;
    }
    return Code::server_error;
  }();
  return Error(as, fmt::format("{}: {}", to_string(code), message));
}

}  // namespace koord::rpc
