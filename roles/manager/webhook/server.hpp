// The webhook server: reviews over TLS, from the request's bytes to the answer's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/net/server.hpp"
#include "webhook/admission.hpp"
#include "webhook/certificates.hpp"
#include "webhook/review.hpp"

namespace koord::manager {

/// A review that waits for informers is answered after so long, or when the API server would give up (its
/// `timeout`) less a tenth.
inline constexpr std::chrono::seconds kReviewTime{10};
/// So long, in such steps, a review is decided again whose verdict is that something is not there yet.
inline constexpr std::chrono::milliseconds kAgainTime{1000}, kAgainPause{20};
/// So many may wait at once.
inline constexpr std::size_t kMaxReviews = 1000;
/// An object and its predecessor, each as large as an API server takes it: controller-runtime's limit.
inline constexpr std::size_t kMaxReviewBytes = std::size_t{7} << 20;

/// What cannot be answered with a verdict is answered with an HTTP error, so that the failurePolicy decides:
/// informers that have not synced (504), too many that wait (503). What needs a kind that the API server does
/// not serve is refused at once, as upstream refuses it. What is no review gets an AdmissionReview
/// that refuses, without a uid, as upstream's does.
class WebhookServer {
 public:
  /// Makes the handlers of the rows whose gate is on. An error names the flag that is to blame.
  static Result<std::unique_ptr<WebhookServer>> make(runtime::RoleContext& context, kube::Client& client,
                                                     std::span<const HandlerRow> rows);
  ~WebhookServer();

  bool serves(std::string_view path) const { return find(path) != nullptr; }
  /// From now on with these; the first time it opens the port, which is returned from then on.
  Result<std::uint16_t> serve(const Certificates& certificates, std::uint16_t port);
  Task<> stop();

  /// What the port answers: at once if it can, else by waiting.
  std::optional<net::Response> answer_now(net::Request& request);
  Task<net::Response> answer(net::Request request);
  net::Admission admit(const net::Request& request) const;

  static const metrics::Table kMetrics;

 private:
  struct Served;
  WebhookServer(runtime::RoleContext& context);
  Served* find(std::string_view path) const;
  /// Nothing if it is to be decided again; `last`: what it says now is the answer.
  std::optional<net::Response> review(Served& served, const net::Request& request, bool last);
  std::optional<net::Response> decide(Served& served, std::string_view body, bool last) const;
  net::Response count(Served& served, net::Response response, MonoTime since) const;

  runtime::RoleContext& context_;
  std::vector<std::unique_ptr<Served>> served_;
  net::Server server_;
  std::uint16_t port_ = 0;
  std::size_t waiting_ = 0;
};

}  // namespace koord::manager
