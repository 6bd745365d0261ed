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

#include "framework/webhook/admission.hpp"
#include "framework/webhook/certificates.hpp"
#include "framework/webhook/change_notes.hpp"
#include "framework/webhook/review.hpp"
#include "framework/webhook/review_limiter.hpp"
#include "koord/net/server.hpp"

namespace koord::manager {

/// A review that waits for informers or for other large ones is answered after so long, or when the API
/// server would give up (its `timeout`) less a tenth.
inline constexpr std::chrono::seconds kReviewTime{10};
/// What the API server has not told of for so long is not known any more: before that, what was told last is
/// good enough, so that a restart of one of several API servers refuses nothing.
inline constexpr std::chrono::seconds kStale{10};
/// So long, in such steps, a review is decided again whose verdict is that something is not there yet. Where
/// many wait so the steps are longer: together they take a quarter of the event loop's time at most.
inline constexpr std::chrono::milliseconds kAgainTime{1000}, kAgainPause{20};
/// Whole reviews that are not answered at once, because they wait or are large: so many, and so many bytes of
/// them; half of it for who is not known.
inline constexpr ReviewLimiter::Limits kHeldReviews{256, std::size_t{32} << 20};
/// A larger body is read, and its answer written, by a worker, one at a time.
inline constexpr std::size_t kLightReview = std::size_t{64} << 10;
/// An object and its predecessor, each as large as an API server takes it: controller-runtime's limit.
inline constexpr std::size_t kMaxReviewBytes = std::size_t{7} << 20;

/// What cannot be answered with a verdict is answered with an HTTP error, so that the failurePolicy decides:
/// informers that have not synced or have failed for kStale, objects that are missing for kAgainTime (500,
/// whose text API servers show to users), too many that wait or are large (503). A kind that the API server
/// does not serve counts as empty. What is no review gets an AdmissionReview that refuses, without a uid, as
/// upstream's does.
class WebhookServer {
 public:
  /// Makes the handlers of the rows whose gate is on. An error names the flag that is to blame.
  static Result<std::unique_ptr<WebhookServer>> make(runtime::RoleContext& context, kube::Client& client,
                                                     std::span<const HandlerRow> rows);
  ~WebhookServer();
  /// From now on changes are noted, and /audit shows them, to who asks from this host alone. It outlives the
  /// server.
  void note_changes(ChangeNotes& notes, const runtime::Audit& audit);

  /// Whether all that its reviews look things up in is known; the error names the kinds, their failures, and
  /// since when. Recovers by itself.
  Result<> ready() const;
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
  struct Draft;
  WebhookServer(runtime::RoleContext& context);
  Served* find(std::string_view path) const;
  using Page = std::function<net::Response(const net::Request& request)>;
  static net::Response show(const net::Request& request, const Page& page);
  /// Nothing if it is to be decided again; `last`: what it says now is the answer.
  std::optional<net::Response> review(Served& served, const net::Request& request, bool last);
  /// The same where it may take others' answers, until `end`.
  Task<std::optional<net::Response>> review_waiting(Served& served, const net::Request& request, bool last,
                                                    MonoTime end);
  /// The same of a large one, with its turn.
  Task<std::optional<net::Response>> review_large(Served& served, const net::Request& request, bool last,
                                                  ReviewLimiter::Turn& turn, MonoTime end);
  /// What Verdict::later comes to.
  Task<Verdict> settle(const Served& served, const Draft& draft, Verdict verdict, MonoTime end);
  /// What the API server is told is certain now.
  void conclude(const Served& served, const Draft& draft, const Verdict& verdict) const;
  void tell_refusal(const Served& served, const Draft& draft, const Verdict& verdict) const;
  // The steps of both: the first and the last need nothing of the server's, any thread may take them.
  static Result<Draft> read(const net::Request& request, WebhookType type);
  std::optional<Verdict> decide(Served& served, Draft& draft, bool last) const;
  static net::Response write(const Draft& draft, const Verdict& verdict, WebhookType type);
  net::Response no_review(const Served& served, const Error& error) const;
  net::Response count(Served& served, net::Response response, MonoTime since) const;

  runtime::RoleContext& context_;
  std::vector<std::unique_ptr<Served>> served_;
  std::map<std::string, Page, std::less<>> pages_;
  ChangeNotes* notes_ = nullptr;
  ReviewLimiter limiter_;
  net::Server server_;
  std::uint16_t port_ = 0;
};

}  // namespace koord::manager
