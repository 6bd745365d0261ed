// The webhook server: who is let in, reviews that can be answered at once, and those that wait for informers.
#include "framework/webhook/server.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <stdexcept>

#include "koord/api/values/time.hpp"
#include "koord/async/offload.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/log.hpp"
#include "koord/json/patch.hpp"

namespace koord::manager {

namespace {

constexpr metrics::Labels kPath = {"webhook"};
constexpr metrics::Metric kLatency{.name = "controller_runtime_webhook_latency_seconds",
                                   .type = metrics::Type::histogram,
                                   .help = "Seconds that a review took, from its last byte to its answer.",
                                   .labels = kPath,
                                   .bounds = metrics::exponential_bounds(10e-9, 10, 12)};
constexpr metrics::Metric kRequests{.name = "controller_runtime_webhook_requests_total",
                                    .type = metrics::Type::counter,
                                    .help = "Reviews by path and HTTP status: all but 200 are no verdicts.",
                                    .labels = {"webhook", "code"}};
constexpr metrics::Metric kInFlight{.name = "controller_runtime_webhook_requests_in_flight",
                                    .type = metrics::Type::gauge,
                                    .help = "Reviews that wait, for informers or because they are large.",
                                    .labels = kPath};

constexpr std::string_view kHealthz = "/healthz";

bool is_loopback(std::string_view address) {
  return address == "::1" || address.starts_with("127.") || address.starts_with("::ffff:127.");
}

bool is_large(const net::Request& request) { return request.body.size() > kLightReview; }

net::ServerOptions server_options(runtime::RoleContext& context) {
  net::ServerOptions options;
  options.max_body_bytes = kMaxReviewBytes;
  options.body_budget = std::size_t{64} << 20;
  options.request_timeout = std::chrono::seconds{10};
  options.max_connections = 1000;
  options.log = context.log;
  options.dropped = context.metrics.counters(runtime::kDroppedConnections);
  return options;
}

/// How long a review may wait: what its API server says ("10s") less a tenth, never longer than kReviewTime.
nanoseconds patience(const net::Request& request) {
  const std::string_view text = request.query_get("timeout");
  unsigned seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || std::string_view(end, text.data() + text.size() - end) != "s")
    return kReviewTime;
  return std::min<nanoseconds>(kReviewTime, std::chrono::milliseconds{900} * seconds);
}

Task<Result<>> all_synced(std::vector<kube::AnyInformer> informers) {
  for (kube::AnyInformer& informer : informers) KOORD_CO_CHECK(co_await informer.wait_synced());
  co_return Result<>();
}

net::Response refusal(unsigned status, std::string_view message) {
  return net::Response::text(status, fmt::format("{}\n", message));
}

/// Of what was left for later and has no end. It is a refusal: what could not be looked at must not pass for
/// allowed.
Verdict unsettled(const HandlerRow& row, const Error& why) {
  if (why.code() == Code::cancelled) return Verdict::unavailable("the manager ends: try again");
  if (why.code() != Code::timeout) return Verdict::error(400, why.message());
  return row.late.empty() ? Verdict::unavailable(fmt::format("{} takes too long: try again", row.path))
                          : Verdict::error(400, std::string(row.late));
}

/// What it would say is not known, so that the failurePolicy decides.
bool is_undecided(const Verdict& verdict) { return verdict.again && !verdict.stands; }

bool is_stale(const kube::InformerStatus& status, const Clock& clock) {
  return status.failing_since && clock.mono() - *status.failing_since >= kStale;
}

std::string text_since(const kube::InformerStatus& status, const Clock& clock) {
  return api::Time(clock.now() - (clock.mono() - *status.failing_since)).to_string();
}

}  // namespace

const metrics::Table WebhookServer::kMetrics = {&kLatency, &kRequests, &kInFlight};

/// A path, its handler and what its reviews wait for.
struct WebhookServer::Served {
  const HandlerRow& row;
  AdmissionHandler handler;
  std::vector<kube::AnyInformer> informers;
  PluginTimes times;
  metrics::Histogram latency;
  metrics::Counter answered;  // with 200
  metrics::Gauge in_flight;
  bool synced = false;

  bool ready() {
    if (!synced) synced = std::ranges::all_of(informers, [](const auto& each) { return each.synced(); });
    return synced;
  }
  /// The first informer that cannot be waited for, in words; empty: none.
  std::string stale(const Clock& clock) const {
    for (const kube::AnyInformer& informer : informers)
      if (const kube::InformerStatus status = informer.status(); is_stale(status, clock))
        return fmt::format("{} have not been followed since {}: {}", status.name, text_since(status, clock),
                           status.last_error);
    return {};
  }
};

/// A review that was read, and what a mutating handler changes.
struct WebhookServer::Draft {
  Review review;
  json::Document changed;
};

WebhookServer::WebhookServer(runtime::RoleContext& context)
    : context_(context),
      limiter_(context.clock, kHeldReviews),
      server_(context.executor, context.clock, server_options(context),
              {.handle = [this](net::Request request) { return answer(std::move(request)); },
               .fast = [this](net::Request& request) { return answer_now(request); },
               .fast_admit = [this](const net::Request& request) { return admit(request); }}) {}

WebhookServer::~WebhookServer() = default;

Result<std::unique_ptr<WebhookServer>> WebhookServer::make(runtime::RoleContext& context,
                                                           kube::Client& client,
                                                           std::span<const HandlerRow> rows) {
  std::unique_ptr<WebhookServer> made(new WebhookServer(context));
  metrics::Registry& registry = context.metrics;
  const auto latency = registry.histograms(kLatency);
  const auto requests = registry.counters(kRequests);
  const auto in_flight = registry.gauges(kInFlight);
  const auto shared = std::make_shared<SharedParts>();
  for (const HandlerRow& row : rows) {
    if (!context.gates.enabled(row.gate)) continue;
    HandlerContext needs{context, client, shared,
                         [&made](std::string path, std::function<std::string()> page) {
                           made->pages_[std::move(path)] = [page = std::move(page)](const net::Request&) {
                             return net::Response::json(200, page());
                           };
                         }};
    KOORD_TRY(handler, row.make(needs));
    if ((row.type == WebhookType::mutate) !=
        std::holds_alternative<std::unique_ptr<MutatingHandler>>(handler))
      throw std::logic_error(fmt::format("{}: a handler of the other type", row.path));
    made->served_.push_back(std::make_unique<Served>(
        Served{row, std::move(handler), std::move(needs.informers),
               PluginTimes(registry, context.clock, row.type, row.object_type), latency.with({row.path}),
               requests.with({row.path, "200"}), in_flight.with({row.path})}));
  }
  return made;
}

Result<> WebhookServer::ready() const {
  std::vector<std::string> problems;
  for (const auto& served : served_)
    for (const kube::AnyInformer& informer : served->informers) {
      const kube::InformerStatus status = informer.status();
      std::string problem;
      if (is_stale(status, context_.clock))
        problem = fmt::format("{}: {} since {}", status.name, to_string(status.failure),
                              text_since(status, context_.clock));
      else if (!informer.synced())
        problem = fmt::format("{}: not known yet", status.name);
      if (!problem.empty() && std::ranges::find(problems, problem) == problems.end())
        problems.push_back(std::move(problem));
    }
  if (problems.empty()) return {};
  return Error(Code::unavailable, fmt::format("{}", fmt::join(problems, "; ")));
}

WebhookServer::Served* WebhookServer::find(std::string_view path) const {
  for (const auto& each : served_)
    if (each->row.path == path) return each.get();
  return nullptr;
}

Result<std::uint16_t> WebhookServer::serve(const Certificates& certificates, std::uint16_t port) {
  net::TlsSettings settings;
  settings.certificate_pem = certificates.server.certificate_pem;
  settings.key_pem = certificates.server.key_pem;
  KOORD_TRY(tls, net::TlsContext::make_server(settings));
  if (port_ != 0) {
    server_.set_tls(std::move(tls));
    return port_;
  }
  KOORD_TRY(bound, server_.listen("", port, std::move(tls)));
  port_ = bound;
  return port_;
}

Task<> WebhookServer::stop() { co_await server_.stop(std::chrono::seconds{1}); }

net::Admission WebhookServer::admit(const net::Request& request) const {
  net::Admission admission;
  admission.max_body = 0;
  if (request.path == kHealthz || pages_.contains(request.path)) return admission;
  if (find(request.path) == nullptr) {
    admission.refusal = refusal(404, "404 page not found");
  } else if (request.method != "POST") {
    admission.refusal = refusal(405, "reviews are posted");
    admission.refusal->headers.add("Allow", "POST");
  }
  admission.max_body = kMaxReviewBytes;
  return admission;
}

std::optional<net::Response> WebhookServer::answer_now(net::Request& request) {
  Served* const served = find(request.path);
  if (const auto page = pages_.find(request.path); page != pages_.end()) {
    net::Response response = show(request, page->second);
    response.proves = false;
    return response;
  }
  if (served == nullptr) {
    net::Response response =
        request.path == kHealthz ? net::Response::text(200, "") : refusal(404, "not found");
    response.proves = false;  // a seat is kept for who brings reviews
    return response;
  }
  if (const std::string stale = served->stale(context_.clock); !stale.empty())
    return count(*served, refusal(500, stale), context_.clock.mono());
  if (is_large(request) || !served->ready()) return std::nullopt;
  return review(*served, request, false);
}

net::Response WebhookServer::show(const net::Request& request, const Page& page) {
  if (!is_loopback(request.peer->address))
    return refusal(403, "this page is for who asks from its own host: use kubectl port-forward");
  return page(request);
}

Task<net::Response> WebhookServer::answer(net::Request request) {
  Served& served = *find(request.path);
  Clock& clock = context_.clock;
  const MonoTime began = clock.mono(), end = began + patience(request);
  const bool known = request.peer->known, large = is_large(request);
  const auto place = limiter_.enter(request.body.size(), known);
  if (!place) co_return count(served, refusal(503, "too many reviews wait"), began);
  struct Shown {
    const metrics::Gauge& gauge;
    explicit Shown(const metrics::Gauge& of) : gauge(of) { gauge.add(1); }
    ~Shown() { gauge.add(-1); }
  } const shown(served.in_flight);
  if (!served.ready()) (void)co_await with_timeout(clock, end - began, all_synced(served.informers));
  const MonoTime until = std::min(clock.mono() + kAgainTime, end);
  while (served.ready()) {
    const bool last = clock.mono() >= until;
    ReviewLimiter::Turn turn;
    if (large) {
      auto given = co_await with_timeout(clock, end - clock.mono(), limiter_.turn(known));
      if (!given) co_return count(served, refusal(503, "other large reviews take too long"), began);
      turn = std::move(*given);
    }
    const MonoTime read = clock.mono();
    std::optional<net::Response> response = large ? co_await review_large(served, request, last, turn, end)
                                                  : co_await review_waiting(served, request, last, end);
    if (response) co_return std::move(*response);
    const MonoTime again = clock.mono() + kAgainPause + limiter_.rest(clock.mono() - read);
    turn = {};
    if (!co_await sleep_until(clock, std::min(again, until)))
      co_return count(served, refusal(503, "the manager ends"), began);
  }
  std::string missing;
  for (const kube::AnyInformer& informer : served.informers)
    if (const kube::InformerStatus status = informer.status(); !status.synced)
      fmt::format_to(std::back_inserter(missing), "{}{}{}{}", missing.empty() ? "" : ", ", status.name,
                     status.last_error.empty() ? "" : ": ", status.last_error);
  co_return count(served, refusal(500, fmt::format("the manager does not know these yet: {}", missing)),
                  began);
}

net::Response WebhookServer::count(Served& served, net::Response response, MonoTime since) const {
  served.latency.observe(std::chrono::duration<double>(context_.clock.mono() - since).count());
  if (response.status == 200)
    served.answered.inc();
  else
    context_.metrics.counters(kRequests).with({served.row.path, std::to_string(response.status)}).inc();
  return response;
}

std::optional<net::Response> WebhookServer::review(Served& served, const net::Request& request, bool last) {
  const MonoTime began = context_.clock.mono();
  Result<Draft> draft = read(request, served.row.type);
  if (!draft) return count(served, no_review(served, draft.error()), began);
  const std::optional<Verdict> verdict = decide(served, *draft, last);
  if (!verdict || verdict->later) return std::nullopt;
  return count(served, write(*draft, *verdict, served.row.type), began);
}

Task<std::optional<net::Response>> WebhookServer::review_waiting(Served& served, const net::Request& request,
                                                                 bool last, MonoTime end) {
  const MonoTime began = context_.clock.mono();
  Result<Draft> draft = read(request, served.row.type);
  if (!draft) co_return count(served, no_review(served, draft.error()), began);
  draft->review.request.until = end;
  std::optional<Verdict> verdict = decide(served, *draft, last);
  if (!verdict) co_return std::nullopt;
  if (verdict->later) verdict = co_await settle(served, *draft, *std::move(verdict), end);
  co_return count(served, write(*draft, *verdict, served.row.type), began);
}

Task<Verdict> WebhookServer::settle(const Served& served, const Draft& draft, Verdict verdict, MonoTime end) {
  auto last = co_await with_timeout(context_.clock, end - context_.clock.mono(), verdict.later());
  if (!last) last = unsettled(served.row, last.error());
  conclude(served, draft, *last);
  co_return *std::move(last);
}

Task<std::optional<net::Response>> WebhookServer::review_large(Served& served, const net::Request& request,
                                                               bool last, ReviewLimiter::Turn& turn,
                                                               MonoTime end) {
  const MonoTime began = context_.clock.mono();
  const WebhookType type = served.row.type;
  Result<Draft> draft = co_await offload(context_.workers, [&] { return read(request, type); });
  if (!draft && draft.error().code() == Code::cancelled) co_return refusal(503, "the manager ends");
  if (!draft) co_return count(served, no_review(served, draft.error()), began);
  draft->review.request.until = end;
  const MonoTime loop = context_.clock.mono();
  std::optional<Verdict> verdict = decide(served, *draft, last);
  turn.held(context_.clock.mono() - loop);
  if (!verdict) co_return std::nullopt;
  if (verdict->later) verdict = co_await settle(served, *draft, *std::move(verdict), end);
  Result<net::Response> written =
      co_await offload(context_.workers, [&] { return write(*draft, *verdict, type); });
  co_return count(served, written ? std::move(*written) : refusal(503, "the manager ends"), began);
}

Result<WebhookServer::Draft> WebhookServer::read(const net::Request& request, WebhookType type) {
  const std::string_view content = request.headers.get("Content-Type");
  if (request.body.empty()) return Error(Code::bad_request, "request body is empty");
  if (content.substr(0, content.find(';')) != "application/json")
    return Error(Code::bad_request, fmt::format("contentType={:.64}, expected application/json", content));
  KOORD_TRY(review, read_review(request.body));
  Draft draft{std::move(review), {}};
  if (type == WebhookType::mutate) draft.changed = json::draft(draft.review.request.object);
  return draft;
}

std::optional<Verdict> WebhookServer::decide(Served& served, Draft& draft, bool last) const {
  const AdmissionRequest& request = draft.review.request;
  Verdict verdict;
  try {
    if (auto* const validating = std::get_if<std::unique_ptr<ValidatingHandler>>(&served.handler))
      verdict = (*validating)->handle(request, served.times);
    else
      verdict = std::get<std::unique_ptr<MutatingHandler>>(served.handler)
                    ->handle(request, draft.changed, served.times);
  } catch (const std::exception& thrown) {  // a defect of ours: the review is answered all the same
    context_.log.error("a webhook handler failed with an exception: the review was answered with 500",
                       kv("path", served.row.path), kv("error", thrown.what()));
    verdict = Verdict::error(500, fmt::format("panic: {} [recovered]", thrown.what()));
  }
  if (verdict.again && !last) return std::nullopt;
  if (!verdict.later) conclude(served, draft, verdict);
  return verdict;
}

void WebhookServer::note_changes(ChangeNotes& notes, const runtime::Audit& audit) {
  notes_ = &notes;
  pages_["/audit"] = [&audit](const net::Request& request) { return audit.answer(request); };
}

void WebhookServer::conclude(const Served& served, const Draft& draft, const Verdict& verdict) const {
  tell_refusal(served, draft, verdict);
  if (served.row.noted && notes_ != nullptr)
    notes_->note(draft.review.request, verdict, !is_undecided(verdict));
}

void WebhookServer::tell_refusal(const Served& served, const Draft& draft, const Verdict& verdict) const {
  if (verdict.allowed) return;
  const AdmissionRequest& request = draft.review.request;
  context_.log.info(is_undecided(verdict) ? "a review could not be decided: it was answered with an error"
                                          : "a review was refused",
                    kv("path", served.row.path), kv("namespace", request.ns), kv("name", request.name),
                    kv("code", verdict.code), kv("message", verdict.message));
}

net::Response WebhookServer::write(const Draft& draft, const Verdict& verdict, WebhookType type) {
  if (is_undecided(verdict)) return refusal(500, verdict.message);
  std::string patch;
  if (verdict.allowed && type == WebhookType::mutate)
    patch = json::json_diff(draft.review.request.object, draft.changed);
  return net::Response::json(200, write_answer(draft.review, verdict, patch));
}

net::Response WebhookServer::no_review(const Served& served, const Error& error) const {
  context_.log.warn("a request to a webhook is not an AdmissionReview", kv("path", served.row.path),
                    kv("error", error));
  net::Response response = net::Response::json(200, write_refusal(400, error.message()));
  response.proves = false;
  return response;
}

}  // namespace koord::manager
