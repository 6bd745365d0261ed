// Transport: HTTP requests to one API server, without saying how they travel.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/async/resolve.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"

namespace koord::kube {

struct ClientConfig;

enum class Method : std::uint8_t { get, post, put, patch, delete_, head };
std::string_view to_string(Method method);

struct HttpRequest {
  Method method = Method::get;
  std::string target;  // path and query, percent-encoded: "/api/v1/pods?limit=500"
  std::string body;
  std::string_view content_type;  // a literal; for bodies only
  std::string_view accept = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;  // besides those that the transport sets
  /// Until the response is complete (send) or its header has come (open_stream); 0: the transport's default.
  nanoseconds timeout{0};
  /// May be sent a second time when a kept-alive connection turns out to be dead. GET and HEAD always may.
  bool idempotent = false;
};

struct HttpResponse {
  unsigned status = 0;
  std::string content_type;
  std::optional<std::chrono::milliseconds> retry_after;
  std::string body;  // decoded: neither chunked nor gzip
};

/// A response whose body is read as it comes. Destroying it drops the connection.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  /// Status and headers; body is empty.
  virtual const HttpResponse& head() const = 0;
  /// The next bytes, decoded, valid until the next call; empty at the orderly end of the body. A body that
  /// is cut short is Code::unavailable. Waits as long as it takes, unless `idle` is given: when
  /// that long nothing comes, Code::timeout (the stream is then dead).
  virtual Task<Result<std::string_view>> read(nanoseconds idle = nanoseconds{0}) = 0;
};

/// One thread: the event loop's. Errors here are of the way, not of the server: unavailable (refused, reset,
/// cut, TLS verification), timeout, too_large, cancelled. Any status that the server sends is a response.
class Transport {
 public:
  virtual ~Transport() = default;
  /// The request must stay until the task has ended.
  virtual Task<Result<HttpResponse>> send(const HttpRequest& request) = 0;
  virtual Task<Result<std::unique_ptr<HttpStream>>> open_stream(HttpRequest request) = 0;
};

struct TransportOptions {
  /// Connections in use at once, streams not counted; further requests wait for one in order of arrival.
  unsigned max_connections = 32;
  nanoseconds connect_timeout = std::chrono::seconds{10};
  nanoseconds request_timeout = std::chrono::seconds{60};
  /// Idle connections are closed after this.
  nanoseconds idle_timeout = std::chrono::seconds{90};
  /// Largest decoded body of send(); a bigger one is Code::too_large.
  std::size_t max_body = std::size_t{512} << 20;
  /// Ask for gzip where the answer may be big (GET); decoding costs less than the network, not on loopback.
  bool gzip = true;
  /// How the server's name is looked up.
  ResolveOptions resolve = {};
};

/// The real one: HTTP/1.1 over TCP, TLS where the URL says https. The certificate chain and the host name are
/// verified unless config.insecure_skip_tls_verify. A token from a file is read again every minute and after
/// a 401, and the request is then tried once more. The clock must outlive the transport.
Result<std::unique_ptr<Transport>> make_transport(asio::any_io_executor executor, Clock& clock,
                                                  const ClientConfig& config, TransportOptions options = {});

}  // namespace koord::kube
