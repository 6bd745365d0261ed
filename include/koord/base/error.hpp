// Error: what went wrong, as a closed code (policy) and a message (people).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace koord {

/// Retry policy is a function of the code alone, see retriable(). The first group mirrors the
/// reasons of a Kubernetes Status, the second is ours.
enum class Code {
  bad_request,        // 400: the request itself is malformed
  unauthorized,       // 401: the credentials are missing, expired or wrong
  forbidden,          // 403: the credentials do not allow it
  not_found,          // 404
  already_exists,     // 409, reason AlreadyExists
  conflict,           // 409, reason Conflict: the resourceVersion is stale
  gone,               // 410, reason Expired or Gone: relist
  too_large,          // 413
  unsupported,        // 405, 406, 415
  invalid,            // 422 and our own validation: names the field and what was expected
  too_many_requests,  // 429: see Error::retry_after
  server_error,       // 500 and other 5xx
  unavailable,        // 503, connection refused or reset
  timeout,            // 504 and our own deadlines
  cancelled,          // asked to stop
  io,                 // a file or socket failed; the message has the errno text
  parse,              // outside input could not be read; the message has the position
  internal,           // a defect of ours
};

std::string_view to_string(Code code);

/// True if the same request may succeed later without being changed.
bool retriable(Code code);

/// A class, not an aggregate: an aggregate that starts with an enum makes Result<int>(1) ambiguous.
class Error {
 public:
  Error() = default;  // boost::system::result needs it; means nothing by itself
  explicit Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  /// How long the server asked us to wait (Retry-After), if it did.
  std::optional<std::chrono::milliseconds> retry_after() const { return retry_after_; }
  Error& retry_after(std::chrono::milliseconds wait) {
    retry_after_ = wait;
    return *this;
  }

  /// Returns the error with "what: " put before the message.
  Error context(std::string_view what) &&;
  Error context(std::string_view what) const&;

 private:
  Code code_ = Code::internal;
  std::string message_;
  std::optional<std::chrono::milliseconds> retry_after_;
};

}  // namespace koord
