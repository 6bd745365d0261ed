// What a gRPC call is made of, in plain values: for servers and clients, whatever carries it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/base/error.hpp"

namespace koord::rpc {

/// gRPC's codes, by their numbers on the wire. A number beyond them is passed on as it is.
enum class StatusCode : int {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};
std::string_view to_string(StatusCode code);  // "Unavailable", as Go prints them

/// How a call ended.
struct Status {
  StatusCode code = StatusCode::ok;
  std::string message;
  std::string details;  // a serialised google.rpc.Status ("grpc-status-details-bin"); empty: none

  bool ok() const { return code == StatusCode::ok; }
  /// `koord` errors and gRPC's, each the nearest of the other.
  static Status of(const Error& error);
  Error error() const;
};

/// Names are lower case; those that end in "-bin" have bytes as values. What gRPC sets itself is not in it.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// A call with one message: as a server's handler gets it and as a client sends it.
struct Request {
  std::string method;  // "/runtime.v1.RuntimeService/CreateContainer"
  std::string message;
  Metadata metadata = {};
  std::optional<nanoseconds> time_left = {};  // nothing: the caller waits for ever
};

struct Reply {
  Status status;
  std::string message;  // of no meaning unless status is ok
  Metadata headers = {}, trailers = {};

  static Reply failed(StatusCode code, std::string message) {
    return {.status = {.code = code, .message = std::move(message), .details = {}}, .message = {}};
  }
};

}  // namespace koord::rpc
