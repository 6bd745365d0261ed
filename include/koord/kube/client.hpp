// Client: Kubernetes' verbs on typed objects and on raw JSON, over any Transport.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/lists/list_decoder.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/kube/transport.hpp"
#include "koord/kube/write_log.hpp"

namespace koord::kube {

class ClientMetrics;
class HostMetrics;

struct ObjectKey {
  std::string ns;  // empty for cluster-scoped kinds
  std::string name;
  friend bool operator==(const ObjectKey&, const ObjectKey&) = default;
};

struct ListOptions {
  std::string ns;  // empty: all namespaces
  std::string label_selector, field_selector;
  std::uint32_t limit = 0;  // objects per page; 0: the server's choice
  std::string continue_token;
  std::string resource_version;
  std::string resource_version_match;
};

struct WatchOptions {
  std::string ns, label_selector, field_selector;
  std::string resource_version;
  bool allow_bookmarks = true;
  /// Asks for the present objects first (watch-list); a server without it answers Code::invalid.
  bool send_initial_events = false;
  /// After which the server ends the watch; 0: its choice.
  std::chrono::seconds timeout{0};
};

/// Asked when a request is about to go over the wire, after all waiting (for its turn, for a connection, for
/// what was refused for now); false: Code::unavailable. Empty: it may.
using MayGo = std::function<bool()>;

// `by` of a write is what its log is told, where there is one.

struct CreateOptions {
  MayGo may_go = {};
  By by = {};
};

struct PatchOptions {
  api::PatchType type = api::PatchType::merge;
  std::string subresource;    // "status", "scale"; empty: the object
  std::string field_manager;  // required for apply
  bool force = false;         // apply only
  MayGo may_go = {};
  By by = {};
};

struct DeleteOptions {
  std::string uid, resource_version;  // preconditions; empty: none
  std::optional<std::int64_t> grace_period_seconds;
  std::string propagation_policy;         // "Background", "Foreground", "Orphan"; empty: the kind's default
  std::optional<bool> orphan_dependents;  // of old clients, instead of it
  std::vector<std::string> dry_run;       // "All": nothing is changed
  MayGo may_go = {};
  By by = {};
};

/// What was listed. An object with a value of the wrong type is left out and named in `bad`.
template <class T>
struct List {
  api::ListMeta meta;
  std::vector<std::shared_ptr<const T>> items;
  std::vector<std::string> bad;  // "NAMESPACE/NAME: what"
};

/// One thread: the event loop's. Errors carry the code of the API's Status and its message. 429 and 503 with
/// Retry-After are repeated here, bounded by `max_retries`; everything else is the caller's to repeat.
class Client {
 public:
  struct Options {
    std::string default_namespace = "default";
    double qps = 0;  // 0: no client-side limit
    int burst = 0;
    int max_retries = 5;
    /// Clients with the same text are the same user towards the same server, so that informers made with
    /// one may serve the other; empty: like no other client.
    std::string credentials;
    /// Where requests are counted, under the label `host`; nullptr: nowhere. It outlives the client.
    const ClientMetrics* metrics = nullptr;
    std::string host;
  };
  /// All three must outlive the client.
  Client(Transport& transport, Clock& clock, Options options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Typed. T is an object type with a kind, such as api::Pod.
  template <class T>
  Task<Result<T>> get(ObjectKey key) {
    KOORD_CO_TRY(json, co_await get_raw(api::kind<T>(), std::move(key)));
    co_return api::decode<T>(json);
  }
  /// One page: meta.continue_ is not empty if there are more.
  template <class T>
  Task<Result<List<T>>> list(ListOptions options) {
    List<T> all;
    KOORD_CO_TRY(meta, co_await append_page(std::move(options), all));
    all.meta = std::move(meta);
    co_return std::move(all);
  }
  /// All pages, 500 objects each unless options.limit says otherwise. Code::gone if the list grew too old
  /// meanwhile.
  template <class T>
  Task<Result<List<T>>> list_pages(ListOptions options) {
    List<T> all;
    if (options.limit == 0) options.limit = 500;
    do {
      KOORD_CO_TRY(meta, co_await append_page(options, all));
      all.meta = std::move(meta);
      options.continue_token = all.meta.continue_;
    } while (!options.continue_token.empty());
    co_return std::move(all);
  }
  template <class T>
  Task<Result<T>> create(T object, CreateOptions options = {}) {
    KOORD_CO_TRY(json, co_await create_raw(api::kind<T>(), std::string(object.metadata.namespace_.view()),
                                           api::encode(object), std::move(options)));
    co_return api::decode<T>(json);
  }
  /// Writes what differs, as the patch that api::diff makes; nothing is sent if nothing does.
  template <class T>
  Task<Result<>> patch(const T& before, const T& after, std::string subresource = {}) {
    PatchOptions options;
    options.subresource = std::move(subresource);
    return patch(before, after, std::move(options));
  }
  /// `options.type` is the patch's.
  template <class T>
  Task<Result<>> patch(const T& before, const T& after, PatchOptions options) {
    std::optional<api::Patch> change = api::diff(before, after);
    return patch_change(api::kind<T>(),
                        {std::string(before.metadata.namespace_.view()), before.metadata.name},
                        std::move(change), std::move(options));
  }
  template <class T>
  Task<Result<>> remove(ObjectKey key, DeleteOptions options = {}) {
    return remove(api::kind<T>(), std::move(key), std::move(options));
  }

  // Raw: the answer's JSON as it came.
  Task<Result<std::string>> get_raw(const api::Kind& kind, ObjectKey key, std::string_view subresource = {});
  Task<Result<std::string>> list_raw(const api::Kind& kind, ListOptions options);
  Task<Result<std::string>> create_raw(const api::Kind& kind, std::string ns, std::string body,
                                       CreateOptions options = {});
  /// PUT of a document that was read, edited in place; it carries its resourceVersion.
  Task<Result<std::string>> update_raw(const api::Kind& kind, ObjectKey key, std::string body,
                                       std::string_view subresource = {});
  Task<Result<std::string>> patch_raw(const api::Kind& kind, ObjectKey key, std::string body,
                                      PatchOptions options);
  Task<Result<>> remove(const api::Kind& kind, ObjectKey key, DeleteOptions options = {});
  /// POST to a subresource (binding, eviction, scale); the answer is dropped.
  Task<Result<>> post_subresource(const api::Kind& kind, ObjectKey key, std::string_view subresource,
                                  std::string body);
  /// Any request, with the rules for errors and repeats.
  Task<Result<net::Response>> request(net::Request request);
  /// The lines of a watch; a status other than 200 is already an error here.
  Task<Result<std::unique_ptr<net::Stream>>> watch(const api::Kind& kind, WatchOptions options);

  /// Binds a pod to a node. `uid` guards against a pod of the same name that is another one; may be empty.
  Task<Result<>> bind(ObjectKey pod, std::string uid, std::string node, MayGo may_go = {});
  /// Code::too_many_requests when a disruption budget forbids it now (not repeated here).
  Task<Result<>> evict(ObjectKey pod, DeleteOptions options = {});

  /// Who is told of every write from now on; nullptr: nobody. It outlives those that have begun.
  void set_write_log(WriteLog* log) { write_log_ = log; }

  Clock& clock() { return clock_; }
  const Options& options() const { return options_; }

 private:
  struct Limiter;
  /// How long the client-side limit wants a request to wait.
  nanoseconds turn(std::string_view method);
  /// `answered`: the server has said what the result is.
  Task<Result<net::Response>> perform(net::Request request, int retries, bool* answered = nullptr);
  Task<Result<net::Response>> write(net::Request request, By by, int retries);
  Task<Result<net::Response>> write(net::Request request, By by) {
    return write(std::move(request), std::move(by), options_.max_retries);
  }
  Task<Result<>> patch_change(const api::Kind& kind, ObjectKey key, std::optional<api::Patch> change,
                              PatchOptions options);

  template <class T>
  Task<Result<api::ListMeta>> append_page(ListOptions options, List<T>& all) {
    KOORD_CO_TRY(json, co_await list_raw(api::kind<T>(), std::move(options)));
    auto on_item = [&all](std::shared_ptr<const T> item) { all.items.push_back(std::move(item)); };
    auto on_bad = [&all](const T& partial, const Error& error) {
      all.bad.push_back(std::string(partial.metadata.namespace_.view()) + "/" + partial.metadata.name + ": " +
                        error.message());
    };
    co_return api::decode_list<T>(json, on_item, on_bad);
  }

  Transport& transport_;
  Clock& clock_;
  Options options_;
  std::unique_ptr<Limiter> limiter_;
  std::unique_ptr<HostMetrics> metrics_;
  std::uint64_t requests_ = 0;
  WriteLog* write_log_ = nullptr;
};

}  // namespace koord::kube
