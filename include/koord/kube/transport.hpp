// Transport: HTTP requests to one API server, without saying how they travel and as whom.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "koord/net/pool.hpp"

namespace koord::kube {

struct ClientConfig;

/// One thread: the event loop's. Errors are of the way, as net::Pool's, and of our own credentials
/// (unauthorized, invalid). Any status that the server sends is a response.
class Transport {
 public:
  virtual ~Transport() = default;
  /// The request must stay until the task has ended.
  virtual Task<Result<net::Response>> send(const net::Request& request) = 0;
  virtual Task<Result<std::unique_ptr<net::Stream>>> open_stream(net::Request request) = 0;
};

/// The real one: a pool of connections, TLS where the URL says https. The certificate chain and the host name
/// are verified unless config.insecure_skip_tls_verify. What came from files (token, CA, client certificate
/// and key) is read again every minute; and when a request is refused (401) or TLS fails, and the files have
/// changed, it is tried once more. The clock must outlive the transport.
Result<std::unique_ptr<Transport>> make_transport(asio::any_io_executor executor, Clock& clock,
                                                  const ClientConfig& config, net::PoolOptions options = {});

}  // namespace koord::kube
