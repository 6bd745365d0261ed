// Names of error codes and their text.
#include "koord/base/error.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "koord/base/result.hpp"

namespace koord {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::bad_request: return "bad request";
    case Code::unauthorized: return "unauthorized";
    case Code::forbidden: return "forbidden";
    case Code::not_found: return "not found";
    case Code::already_exists: return "already exists";
    case Code::conflict: return "conflict";
    case Code::gone: return "gone";
    case Code::too_large: return "too large";
    case Code::unsupported: return "unsupported";
    case Code::invalid: return "invalid";
    case Code::too_many_requests: return "too many requests";
    case Code::server_error: return "server error";
    case Code::unavailable: return "unavailable";
    case Code::timeout: return "timeout";
    case Code::cancelled: return "cancelled";
    case Code::io: return "I/O error";
    case Code::parse: return "parse error";
    case Code::internal: return "internal error";
  }
  return "unknown";
}

bool retriable(Code code) {
  switch (code) {
    case Code::conflict:
    case Code::gone:
    case Code::unauthorized:  // tokens rotate; the next request reads the new one
    case Code::too_many_requests:
    case Code::server_error:
    case Code::unavailable:
    case Code::timeout:
    case Code::io: return true;
    default: return false;
  }
}

Error Error::context(std::string_view what) && {
  message_.insert(0, fmt::format("{}: ", what));
  return std::move(*this);
}

Error Error::context(std::string_view what) const& { return Error(*this).context(what); }

void throw_exception_from_error(const Error& error, const boost::source_location&) {
  throw std::logic_error(fmt::format("value() of a failed Result: {}", error.message()));
}

}  // namespace koord
