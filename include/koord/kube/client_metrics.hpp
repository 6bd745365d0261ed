// ClientMetrics: what clients ask of API servers, by client-go's names (rest_client_*).
#pragma once

#include <string>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/base/metrics.hpp"
#include "koord/kube/transport.hpp"

namespace koord::kube {

/// The families in one registry; outlives the clients that count in it.
class ClientMetrics {
 public:
  static const metrics::Table kMetrics;
  explicit ClientMetrics(metrics::Registry& registry);

 private:
  friend class HostMetrics;
  metrics::Family<metrics::Counter> requests_, retries_;
  metrics::Family<metrics::Histogram> latency_, limiter_, request_size_, response_size_;
};

/// The series of one server, found once and kept: counting costs no look-up by name.
class HostMetrics {
 public:
  HostMetrics(const ClientMetrics& families, std::string host);

  /// How long the client-side limit held a request back.
  void limited(std::string_view method, nanoseconds wait);
  /// One try is over; `status` 0: no answer came ("<error>").
  void tried(std::string_view method, unsigned status, nanoseconds took, std::size_t sent,
             std::size_t received);
  /// A try is repeated because of `status`.
  void repeated(std::string_view method, unsigned status);

 private:
  struct PerMethod {
    std::string method;
    metrics::Histogram latency, limiter, request_size, response_size;
  };
  struct PerStatus {
    std::string method;
    unsigned status;
    metrics::Counter count;
  };
  const PerMethod& of(std::string_view method);

  const ClientMetrics& families_;
  std::string host_;
  std::vector<PerMethod> methods_;   // a handful
  std::vector<PerStatus> requests_;  // a handful
};

/// HOST:PORT of a server's URL, as a label.
std::string host_of(const std::string& server);

}  // namespace koord::kube
