// URLs of the API, the rules for repeating, and Status into Error.
#include "koord/kube/client.hpp"

#include "koord/api/schema/kind.hpp"
#include "koord/api/types/meta_v1/status.hpp"
#include "koord/async/timer.hpp"
#include "koord/json/writer.hpp"
#include "koord/kube/client_metrics.hpp"
#include "rate_limit.hpp"

namespace koord::kube {

namespace {

constexpr std::size_t kMaxErrorBody = 1 << 20;
// etcd takes objects of 1.5 MiB, an API server bodies of 3; a page of a list is as large as its limit makes
// it.
constexpr std::size_t kMaxObject = std::size_t{16} << 20;
constexpr std::size_t kMaxList = std::size_t{256} << 20;

void append_escaped(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 15];
    }
  }
}

/// Query parameters; empty values are left out.
class Query {
 public:
  explicit Query(std::string& target) : target_(target) {}
  Query& add(std::string_view name, std::string_view value) {
    if (value.empty()) return *this;
    target_ += separator_;
    separator_ = '&';
    target_.append(name).append("=");
    append_escaped(target_, value);
    return *this;
  }
  Query& add(std::string_view name, std::uint64_t value) {
    return value == 0 ? *this : add(name, std::to_string(value));
  }
  Query& add_flag(std::string_view name, bool value) { return value ? add(name, "true") : *this; }

 private:
  std::string& target_;
  char separator_ = '?';
};

std::string collection(const api::Kind& kind, std::string_view ns) {
  std::string target = kind.group.empty() ? "/api" : "/apis/";
  target.append(kind.group).append("/").append(kind.version);
  if (kind.namespaced && !ns.empty()) {
    target += "/namespaces/";
    append_escaped(target, ns);
  }
  return target.append("/").append(kind.plural);
}

Result<std::string> object(const api::Kind& kind, const ObjectKey& key, std::string_view subresource) {
  if (key.name.empty() || key.name == "." || key.name == "..")
    return Error(Code::invalid,
                 std::string(kind.kind) + ": the name \"" + key.name + "\" is not one of an object");
  if (kind.namespaced && key.ns.empty())
    return Error(Code::invalid, std::string(kind.kind) + " " + key.name + ": the namespace is missing");
  std::string target = collection(kind, key.ns) + "/";
  append_escaped(target, key.name);
  if (!subresource.empty()) target.append("/").append(subresource);
  return target;
}

void append_delete_options(json::Writer& json, const DeleteOptions& options) {
  json.begin_object().member("apiVersion", "v1").member("kind", "DeleteOptions");
  if (!options.uid.empty() || !options.resource_version.empty()) {
    json.key("preconditions").begin_object().member_if("uid", options.uid);
    json.member_if("resourceVersion", options.resource_version).end_object();
  }
  if (options.grace_period_seconds) json.member("gracePeriodSeconds", *options.grace_period_seconds);
  if (options.orphan_dependents) json.member("orphanDependents", *options.orphan_dependents);
  json.member_if("propagationPolicy", options.propagation_policy);
  if (!options.dry_run.empty()) {
    json.key("dryRun").begin_array();
    for (const std::string& stage : options.dry_run) json.value(stage);
    json.end_array();
  }
  json.end_object();
}

std::string delete_body(const DeleteOptions& options) {
  std::string body;
  json::Writer json(body);
  append_delete_options(json, options);
  return body;
}

Error error_of(const net::Response& response) {
  Error error = api::error_of_response(static_cast<int>(response.status), response.body);
  const auto wait = retry_after(response);
  if (wait && !error.retry_after()) error.retry_after(*wait);
  if (error.retry_after() > kMaxRetryAfter) error.retry_after(kMaxRetryAfter);  // of the Status' details
  return error;
}

net::Request with_body(std::string method, std::string target, std::string body, MayGo may_go = {},
                       std::string_view type = "application/json") {
  net::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.body = std::move(body);
  request.headers.add("Content-Type", type);
  request.max_answer = kMaxObject;
  request.may_go = std::move(may_go);
  return request;
}

std::string pod_target(const ObjectKey& pod, std::string_view subresource) {
  std::string target = "/api/v1/namespaces/";
  append_escaped(target, pod.ns);
  target += "/pods/";
  append_escaped(target, pod.name);
  return target.append("/").append(subresource);
}

Task<Result<std::string>> body_of(Task<Result<net::Response>> request) {
  KOORD_CO_TRY(response, co_await std::move(request));
  co_return std::move(response.body);
}

Task<Result<>> nothing_of(Task<Result<net::Response>> request) {
  KOORD_CO_CHECK(co_await std::move(request));
  co_return Result<>();
}

Task<Result<std::string>> failed_text(Error error) { co_return error; }
Task<Result<>> failed_nothing(Error error) { co_return error; }

}  // namespace

struct Client::Limiter {
  TokenBucket bucket;
};

Client::Client(Transport& transport, Clock& clock, Options options)
    : transport_(transport),
      clock_(clock),
      options_(std::move(options)),
      limiter_(std::make_unique<Limiter>(Limiter{TokenBucket(options_.qps, options_.burst)})) {
  if (options_.metrics != nullptr) metrics_ = std::make_unique<HostMetrics>(*options_.metrics, options_.host);
}

Client::~Client() = default;

nanoseconds Client::turn(std::string_view method) {
  const nanoseconds wait = limiter_->bucket.take(clock_.mono());
  if (metrics_ && options_.qps > 0) metrics_->limited(method, wait);
  return wait;
}

Task<Result<net::Response>> Client::request(net::Request request) {
  if (request.method != "GET" && request.method != "HEAD") return write(std::move(request), nullptr);
  return perform(std::move(request), options_.max_retries);
}

Task<Result<net::Response>> Client::write(net::Request request, By by, int retries) {
  if (write_log_ == nullptr) co_return co_await perform(std::move(request), retries);
  KOORD_CO_TRY(number, co_await write_log_->begin(request, by.get()));
  bool went = false, answered = false;
  request.may_go = [&went, asked = std::move(request.may_go)] {
    if (asked && !asked()) return false;
    return went = true;
  };
  Result<net::Response> answer = co_await perform(std::move(request), retries, &answered);
  if (write_log_ == nullptr || number == 0) co_return answer;
  const Error error = answer ? Error() : answer.error();
  using Outcome = WriteLog::Outcome;
  // A server that ran out of time may yet have carried it out.
  const bool known = answered && (answer || error.code() != Code::timeout);
  write_log_->end(number,
                  answer  ? Outcome::done
                  : known ? Outcome::refused
                  : went  ? Outcome::unknown
                          : Outcome::not_sent,
                  answer ? nullptr : &error);
  co_return answer;
}

Task<Result<net::Response>> Client::perform(net::Request request, int retries, bool* answered) {
  Backoff backoff({.initial = std::chrono::milliseconds{100},
                   .factor = 2,
                   .cap = std::chrono::seconds{10},
                   .jitter = 0.5},
                  ++requests_);
  for (;; --retries) {
    if (const nanoseconds wait = turn(request.method); wait.count() > 0)
      KOORD_CO_CHECK(co_await sleep(clock_, wait));
    const MonoTime start = clock_.mono();
    Result<net::Response> answer = co_await transport_.send(request);
    if (metrics_)
      metrics_->tried(request.method, answer ? answer->status : 0, clock_.mono() - start, request.body.size(),
                      answer ? answer->body.size() : 0);
    if (answered != nullptr) *answered = answer.has_value();
    if (!answer) co_return std::move(answer).error();
    net::Response& response = *answer;
    if (response.status >= 200 && response.status < 300) co_return std::move(response);
    const auto wait = repeat_after(response, backoff);
    if (!wait || retries <= 0) co_return error_of(response);
    if (metrics_) metrics_->repeated(request.method, response.status);
    KOORD_CO_CHECK(co_await sleep(clock_, *wait));
  }
}

Task<Result<std::string>> Client::get_raw(const api::Kind& kind, ObjectKey key,
                                          std::string_view subresource) {
  auto target = object(kind, key, subresource);
  if (!target) return failed_text(std::move(target).error());
  net::Request get;
  get.target = std::move(*target);
  get.max_answer = kMaxObject;
  return body_of(request(std::move(get)));
}

Task<Result<std::string>> Client::list_raw(const api::Kind& kind, ListOptions options) {
  net::Request get;
  get.target = collection(kind, options.ns);
  Query(get.target)
      .add("labelSelector", options.label_selector)
      .add("fieldSelector", options.field_selector)
      .add("limit", options.limit)
      .add("continue", options.continue_token)
      .add("resourceVersion", options.resource_version)
      .add("resourceVersionMatch", options.resource_version_match);
  get.max_answer = kMaxList;
  return body_of(request(std::move(get)));
}

Task<Result<std::string>> Client::create_raw(const api::Kind& kind, std::string ns, std::string body,
                                             CreateOptions options) {
  if (kind.namespaced && ns.empty())
    return failed_text(
        Error(Code::invalid, "creating a " + std::string(kind.kind) + ": the namespace is missing"));
  return body_of(write(with_body("POST", collection(kind, ns), std::move(body), std::move(options.may_go)),
                       std::move(options.by)));
}

Task<Result<std::string>> Client::update_raw(const api::Kind& kind, ObjectKey key, std::string body,
                                             std::string_view subresource) {
  auto target = object(kind, key, subresource);
  if (!target) return failed_text(std::move(target).error());
  return body_of(request(with_body("PUT", std::move(*target), std::move(body))));
}

Task<Result<std::string>> Client::patch_raw(const api::Kind& kind, ObjectKey key, std::string body,
                                            PatchOptions options) {
  auto target = object(kind, key, options.subresource);
  if (!target) return failed_text(std::move(target).error());
  if (options.type == api::PatchType::apply && options.field_manager.empty())
    return failed_text(Error(Code::invalid, "apply: the field manager is missing"));
  Query(*target).add("fieldManager", options.field_manager).add_flag("force", options.force);
  return body_of(write(with_body("PATCH", std::move(*target), std::move(body), std::move(options.may_go),
                                 api::content_type(options.type)),
                       std::move(options.by)));
}

Task<Result<>> Client::patch_change(const api::Kind& kind, ObjectKey key, std::optional<api::Patch> change,
                                    PatchOptions options) {
  if (!change) co_return Result<>();
  options.type = change->type;
  KOORD_CO_CHECK(co_await patch_raw(kind, std::move(key), std::move(change->body), std::move(options)));
  co_return Result<>();
}

Task<Result<>> Client::remove(const api::Kind& kind, ObjectKey key, DeleteOptions options) {
  auto target = object(kind, key, {});
  if (!target) return failed_nothing(std::move(target).error());
  std::string body = delete_body(options);
  return nothing_of(write(with_body("DELETE", std::move(*target), std::move(body), std::move(options.may_go)),
                          std::move(options.by)));
}

Task<Result<>> Client::post_subresource(const api::Kind& kind, ObjectKey key, std::string_view subresource,
                                        std::string body) {
  auto target = object(kind, key, subresource);
  if (!target) return failed_nothing(std::move(target).error());
  return nothing_of(request(with_body("POST", std::move(*target), std::move(body))));
}

Task<Result<std::unique_ptr<net::Stream>>> Client::watch(const api::Kind& kind, WatchOptions options) {
  net::Request get;
  get.target = collection(kind, options.ns);
  Query(get.target)
      .add_flag("watch", true)
      .add("labelSelector", options.label_selector)
      .add("fieldSelector", options.field_selector)
      .add("resourceVersion", options.resource_version)
      .add_flag("allowWatchBookmarks", options.allow_bookmarks || options.send_initial_events)
      .add_flag("sendInitialEvents", options.send_initial_events)
      .add("resourceVersionMatch", options.send_initial_events ? "NotOlderThan" : "")
      .add("timeoutSeconds", static_cast<std::uint64_t>(options.timeout.count()));
  if (const nanoseconds wait = turn("GET"); wait.count() > 0) KOORD_CO_CHECK(co_await sleep(clock_, wait));
  const MonoTime start = clock_.mono();
  auto opened = co_await transport_.open_stream(std::move(get));
  if (metrics_) metrics_->tried("GET", opened ? (*opened)->head().status : 0, clock_.mono() - start, 0, 0);
  if (!opened) co_return std::move(opened).error();
  std::unique_ptr<net::Stream> stream = std::move(*opened);
  if (stream->head().status == 200) co_return std::move(stream);
  net::Response response = stream->head();
  while (response.body.size() < kMaxErrorBody) {
    const Result<std::string_view> more = co_await stream->read(std::chrono::seconds{10});
    if (!more || more->empty()) break;  // what came of the text is still the best message
    response.body.append(*more);
  }
  co_return error_of(response);
}

Task<Result<>> Client::bind(ObjectKey pod, std::string uid, std::string node, MayGo may_go) {
  std::string body;
  json::Writer json(body);
  json.begin_object().member("apiVersion", "v1").member("kind", "Binding").key("metadata").begin_object();
  json.member("name", pod.name).member_if("namespace", pod.ns).member_if("uid", uid).end_object();
  json.key("target").begin_object().member("apiVersion", "v1").member("kind", "Node").member("name", node);
  json.end_object().end_object();
  return nothing_of(
      request(with_body("POST", pod_target(pod, "binding"), std::move(body), std::move(may_go))));
}

Task<Result<>> Client::evict(ObjectKey pod, DeleteOptions options) {
  std::string body;
  json::Writer json(body);
  json.begin_object()
      .member("apiVersion", "policy/v1")
      .member("kind", "Eviction")
      .key("metadata")
      .begin_object();
  json.member("name", pod.name).member_if("namespace", pod.ns).end_object().key("deleteOptions");
  append_delete_options(json, options);
  json.end_object();
  return nothing_of(
      write(with_body("POST", pod_target(pod, "eviction"), std::move(body), std::move(options.may_go)),
            std::move(options.by), 0));
}

}  // namespace koord::kube
