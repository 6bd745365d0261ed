// Names, labels and buckets are client-go's.
#include "koord/kube/client_metrics.hpp"

namespace koord::kube {

namespace {

using metrics::Metric;
using metrics::Type;

constexpr metrics::Bounds kTimes = {0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0};
constexpr metrics::Bounds kSizes = {64,    256,    512,     1024,    4096,    16384,
                                    65536, 262144, 1048576, 4194304, 16777216};

constexpr Metric kRequests{.name = "rest_client_requests_total",
                           .help = "Number of HTTP requests, by status code, method, and host.",
                           .labels = {"code", "method", "host"}};
constexpr Metric kRetries{.name = "rest_client_request_retries_total",
                          .help = "Number of request retries, by status code, verb, and host.",
                          .labels = {"code", "verb", "host"}};
constexpr Metric kLatency{.name = "rest_client_request_duration_seconds",
                          .type = Type::histogram,
                          .help = "Request latency in seconds, by verb and host.",
                          .labels = {"verb", "host"},
                          .bounds = kTimes};
constexpr Metric kLimiter{.name = "rest_client_rate_limiter_duration_seconds",
                          .type = Type::histogram,
                          .help = "Latency of the client-side rate limiter in seconds, by verb and host.",
                          .labels = {"verb", "host"},
                          .bounds = kTimes};
constexpr Metric kRequestSize{.name = "rest_client_request_size_bytes",
                              .type = Type::histogram,
                              .help = "Size of a request's body in bytes, by verb and host.",
                              .labels = {"verb", "host"},
                              .bounds = kSizes};
constexpr Metric kResponseSize{.name = "rest_client_response_size_bytes",
                               .type = Type::histogram,
                               .help = "Size of a response's body in bytes, by verb and host.",
                               .labels = {"verb", "host"},
                               .bounds = kSizes};

double seconds(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

std::string code_of(unsigned status) { return status == 0 ? "<error>" : std::to_string(status); }

}  // namespace

const metrics::Table ClientMetrics::kMetrics = {&kRequests, &kRetries,     &kLatency,
                                                &kLimiter,  &kRequestSize, &kResponseSize};

ClientMetrics::ClientMetrics(metrics::Registry& r)
    : requests_(r.counters(kRequests)),
      retries_(r.counters(kRetries)),
      latency_(r.histograms(kLatency)),
      limiter_(r.histograms(kLimiter)),
      request_size_(r.histograms(kRequestSize)),
      response_size_(r.histograms(kResponseSize)) {}

HostMetrics::HostMetrics(const ClientMetrics& families, std::string host)
    : families_(families), host_(std::move(host)) {}

const HostMetrics::PerMethod& HostMetrics::of(std::string_view method) {
  for (const PerMethod& known : methods_)
    if (known.method == method) return known;
  methods_.push_back({std::string(method), families_.latency_.with({method, host_}),
                      families_.limiter_.with({method, host_}), families_.request_size_.with({method, host_}),
                      families_.response_size_.with({method, host_})});
  return methods_.back();
}

void HostMetrics::limited(std::string_view method, nanoseconds wait) {
  of(method).limiter.observe(seconds(wait));
}

void HostMetrics::tried(std::string_view method, unsigned status, nanoseconds took, std::size_t sent,
                        std::size_t received) {
  const PerMethod& all = of(method);
  all.latency.observe(seconds(took));
  all.request_size.observe(static_cast<double>(sent));
  if (status != 0) all.response_size.observe(static_cast<double>(received));
  for (const PerStatus& known : requests_)
    if (known.method == method && known.status == status) return known.count.inc();
  const std::string code = code_of(status);
  requests_.push_back({std::string(method), status, families_.requests_.with({code, method, host_})});
  requests_.back().count.inc();
}

void HostMetrics::repeated(std::string_view method, unsigned status) {
  const std::string code = code_of(status);
  families_.retries_.with({code, method, host_}).inc();
}

std::string host_of(const std::string& server) {
  const std::size_t scheme = server.find("://");
  std::string host = scheme == std::string::npos ? server : server.substr(scheme + 3);
  return host.substr(0, host.find('/'));
}

}  // namespace koord::kube
