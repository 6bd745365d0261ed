// What an API server asks before it stores an object, and what is answered: the seam between the webhook
// server, which speaks AdmissionReview over TLS, and the handlers, which decide.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/metrics.hpp"
#include "koord/json/value.hpp"
#include "koord/kube/informer.hpp"
#include "koord/runtime/role.hpp"

namespace koord::manager {

enum class Operation : std::uint8_t { create, update, remove, connect };
/// As on the wire: CREATE, UPDATE, DELETE, CONNECT.
std::string_view to_string(Operation operation);

/// One question. The texts, and what the values hold, lie in the review that was read (see review.hpp).
struct AdmissionRequest {
  std::string_view uid;
  Operation operation = Operation::create;
  std::string_view group, version, resource;  // "", "v1", "pods"
  std::string_view subresource;               // "status", "binding"; empty: the object itself
  std::string_view name;                      // empty where the API server is still to make one
  std::string_view ns;                        // of the request: the object's own may be empty
  std::string_view username;
  std::string_view user_uid;             // his in the API server's eyes; mostly empty
  std::vector<std::string_view> groups;  // of that user; what is no text is left out
  json::Value extra;                     // of that user: lists of texts by name, unchecked; null: none
  bool dry_run = false;
  json::Value object;      // as it came, unknown fields included; null where there is none (DELETE)
  json::Value old_object;  // null where there is none (CREATE)
  /// When the answer is of no use any more, known where a review may wait.
  MonoTime until = MonoTime::max();
};

struct Verdict {
  bool allowed = true;
  int code = 200;           // what the user's request fails with: an HTTP status
  std::string message;      // for the user
  std::string reason = {};  // of a metav1.Status: "Forbidden"; empty where upstream has none
  bool again = false;       // what is missing may be here in a moment: see not_yet()
  bool stands = false;      // beside `again`: it is the answer if nothing changes; see unless_soon()
  /// What is left to decide once everything else allows it, and takes others' answers: awaited once, for as
  /// long as the review may wait. It refers to nothing of the review.
  std::function<Task<Result<Verdict>>()> later = {};
  int retry_after = 0;  // seconds, after which the same may pass; 0: it is not known to

  static Verdict allow() { return {}; }
  /// A rule forbids it: 403, Forbidden.
  static Verdict deny(std::string message) { return {false, 403, std::move(message), "Forbidden"}; }
  /// It cannot be read or worked out: 400 what the object is to blame for, 500 what it is not.
  static Verdict error(int code, std::string message) { return {false, code, std::move(message)}; }
  /// What it takes is away for a moment: clients of the API server try again by themselves.
  static Verdict unavailable(std::string message) {
    return {false, 503, std::move(message), "ServiceUnavailable", false, false, {}, 1};
  }
  /// An informer does not have what was made a moment ago: the review is decided again for a while
  /// (kAgainTime); then it is answered with HTTP 500, so that the failurePolicy decides.
  static Verdict not_yet(std::string message) { return {false, 500, std::move(message), {}, true}; }
  /// The same of what is refused if it is still so in the end: who is not known must not pass for that.
  static Verdict unless_soon(int code, std::string message) {
    return {false, code, std::move(message), {}, true, true};
  }
};

enum class WebhookType : std::uint8_t { mutate, validate };
std::string_view to_string(WebhookType type);  // "mutate", "validate"

/// What the parts of a handler take: koord_manager_webhook_webhook_duration_milliseconds. The clock outlives
/// it.
class PluginTimes {
 public:
  PluginTimes(metrics::Registry& registry, const Clock& clock, WebhookType type,
              std::string_view object_type);

  /// What `step`, the plugin's part of a review, decides; it is counted as allowed or rejected, unless more
  /// of it is left for later.
  template <class Step>
  Verdict run(Operation operation, std::string_view plugin, Step&& step) const {
    const MonoTime began = clock_.mono();
    Verdict verdict = std::forward<Step>(step)();
    if (!verdict.later) record(operation, plugin, verdict.allowed, clock_.mono() - began);
    return verdict;
  }

  /// Of what was left for later, when it is over.
  void record(Operation operation, std::string_view plugin, bool allowed, nanoseconds took) const;
  const Clock& clock() const { return clock_; }

  static const metrics::Table kMetrics;

 private:
  const Clock& clock_;
  metrics::Family<metrics::Histogram> times_;
  std::string_view type_, object_type_;
};

/// Handlers are made once a process, called on the event loop's thread, one review at a time, and do not
/// block: what they look up they have from informers. They keep nothing of a review: it may be a dry run, or
/// be refused by another webhook afterwards.
class MutatingHandler {
 public:
  virtual ~MutatingHandler() = default;
  /// Changes `object`, a copy of the request's, in place; the server answers with what differs. What is not
  /// allowed is not changed, whatever was done to the copy.
  virtual Verdict handle(const AdmissionRequest& request, json::Document& object,
                         const PluginTimes& times) = 0;
};

class ValidatingHandler {
 public:
  virtual ~ValidatingHandler() = default;
  virtual Verdict handle(const AdmissionRequest& request, const PluginTimes& times) = 0;
};

using AdmissionHandler = std::variant<std::unique_ptr<MutatingHandler>, std::unique_ptr<ValidatingHandler>>;

/// What several handlers have in common: one of each type, made by the first that asks for it.
class SharedParts {
 public:
  template <class T>
  std::shared_ptr<T> get(const std::function<std::shared_ptr<T>()>& make) {
    std::shared_ptr<void>& part = parts_[&kKey<T>];
    if (!part) part = make();
    return std::static_pointer_cast<T>(part);
  }

 private:
  template <class T>
  static inline char kKey = 0;
  std::map<const void*, std::shared_ptr<void>> parts_;
};

/// What a handler is made of; the references outlive it.
struct HandlerContext {
  runtime::RoleContext& role;
  kube::Client& client;
  std::shared_ptr<SharedParts> shared = std::make_shared<SharedParts>();
  /// Serves a text of JSON beside the reviews, to who asks from this host alone; empty: nothing is served.
  std::function<void(std::string path, std::function<std::string()> page)> add_page = {};
  /// What it looks things up in: its reviews wait until these have synced.
  std::vector<kube::AnyInformer> informers = {};

  template <class T>
  kube::Informer<T> informer(kube::Scope scope = {}, std::vector<kube::Index> indexes = {}) {
    auto made = role.informers.informer<T>(client, std::move(scope), std::move(indexes));
    informers.push_back(made);
    return made;
  }
};

/// An entry of a webhook configuration, as the manifests have it: what an API server asks about.
struct WebhookEntry {
  std::string_view name;                      // "mpod-create.koordinator.sh"
  std::string_view group, version, resource;  // "", "v1", "pods/binding"
  std::span<const Operation> operations;
  std::string_view object_selector = {};  // a label selector as the API takes it; empty: all
  std::string_view namespace_selector = {};
  /// In CEL, which requests of those it is asked about. Before Kubernetes 1.28 an API server does not know
  /// conditions and asks about all: the handler lets through what it would have been spared. Empty: none.
  std::string_view condition = {};
};

/// A path that is served. All of it is static.
struct HandlerRow {
  std::string_view path;  // "/mutate-pod"
  WebhookType type = WebhookType::mutate;
  std::string_view object_type;               // in metrics: "pod"
  std::string_view gate;                      // off: the path is not served, and its entries are taken out
  std::span<const std::string_view> plugins;  // in their order
  std::span<const WebhookEntry> entries;
  /// A handler of `type`; an error names the flag that is to blame.
  Result<AdmissionHandler> (*make)(HandlerContext& context) = nullptr;
  bool noted = false;  // who changes it is noted
  /// What is answered, with 400, where what a verdict left for later does not end in time; empty:
  /// Verdict::unavailable().
  std::string_view late = {};
};

}  // namespace koord::manager
