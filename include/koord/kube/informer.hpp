// Informers: the collections that a process follows, each fetched once however many roles read it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/async/task_group.hpp"
#include "koord/kube/delivery.hpp"
#include "koord/kube/store.hpp"

namespace koord::kube {

class Client;
class InformerView;  // of src/kube

/// Which part of a collection. Empty members do not restrict.
struct Scope {
  std::string ns;
  std::string fields;  // a field selector as the API takes it: "spec.nodeName=a"
  std::string labels;  // a label selector as the API takes it
  friend bool operator==(const Scope&, const Scope&) = default;
};

/// How an informer is doing, for metrics and logs.
struct InformerStatus {
  std::string name;  // "pods", "pods in kube-system [spec.nodeName=a]"
  std::size_t objects = 0;
  bool synced = false;
  std::string resource_version;
  std::uint64_t lists = 0, watches = 0, events = 0, failures = 0;
  std::uint64_t expired = 0;  // times that the server no longer knew where a watch should go on (410)
  std::uint64_t skipped = 0;  // that cannot be decoded now: what was known of them stays, or nothing
  std::string last_error;     // empty while all is well
  /// Since when the server has not told of what changes; nothing while it does, and where it does not serve
  /// the kind, which counts as empty (see AnyInformer::synced()).
  std::optional<MonoTime> failing_since;
  /// The code of what came last in that time.
  Code failure{};
  /// Since when every answer has been that the right is missing (403).
  std::optional<MonoTime> forbidden_since;
};

/// The untyped half of Informer<T>; a handle that is cheap to copy.
class AnyInformer {
 public:
  explicit AnyInformer(std::shared_ptr<InformerView> view);

  Object find(std::string_view ns, std::string_view name) const;
  void for_each(const std::function<void(const Object&)>& visit) const;
  std::vector<Object> by_index(std::string_view index, std::string_view value) const;
  std::size_t size() const;

  /// True once everything that existed at the start is here; stays true. A kind that the server does not
  /// serve (404) counts as empty and is asked for again until it does; one of the core group is an error.
  bool synced() const;
  /// True once the server has said what there is, which it never does while it does not serve the kind; stays
  /// true.
  bool listed() const;
  /// The kind, while the server does not serve it: its definition is not installed, not yet, or not any more.
  /// Else, and while nothing is known, null.
  const api::Kind* undefined() const;
  /// Waits until synced(); Error(Code::cancelled) if cancelled.
  Task<Result<>> wait_synced();
  /// The same until listed(): of a kind whose definition comes later, until it has come.
  Task<Result<>> wait_listed();
  /// Waits until all that the server had when this was called is here and in the queues, what others wrote a
  /// moment ago included. Costs a list of one object and, where nobody changes the collection, one watch of
  /// about two seconds, after which the server says that nothing has been missed; of a server that does not
  /// (Kubernetes 1.30 and older, if its etcd tells it of no progress), a list of the whole collection. At
  /// once of a kind that the server does not serve. The error of a request that failed: it may be tried
  /// again.
  Task<Result<>> catch_up();
  /// From now on `queue` is told of every change; of what is here already it is told at once, as added.
  void deliver_to(DeliveryQueue& queue);
  InformerStatus status() const;

 private:
  std::shared_ptr<InformerView> view_;
};

/// A collection of T. Reads are of the event loop's thread; the objects may be kept and read anywhere.
template <class T>
class Informer : public AnyInformer {
 public:
  using AnyInformer::AnyInformer;

  /// Null if there is none. `ns` is empty for kinds without a namespace.
  std::shared_ptr<const T> get(std::string_view ns, std::string_view name) const {
    return std::static_pointer_cast<const T>(find(ns, name));
  }
  std::vector<std::shared_ptr<const T>> list() const {
    std::vector<std::shared_ptr<const T>> all;
    all.reserve(size());
    for_each([&](const Object& object) { all.push_back(std::static_pointer_cast<const T>(object)); });
    return all;
  }
  /// By an index that was declared with the informer; in no particular order.
  std::vector<std::shared_ptr<const T>> list_by(std::string_view index, std::string_view value) const {
    std::vector<std::shared_ptr<const T>> found;
    for (Object& object : by_index(index, value))
      found.push_back(std::static_pointer_cast<const T>(std::move(object)));
    return found;
  }
};

/// The informers of a process. Those with the same kind, scope and credentials are one; a narrower one
/// reads from a wider one of the same credentials if that is there when start() is called (or, later, when
/// it is asked for). Belongs to the event loop's thread. Clients outlive the set.
class InformerSet {
 public:
  /// `log`: told of failures, and with --v=2 of what is complete.
  InformerSet(asio::any_io_executor executor, Clock& clock, std::optional<Logger> log = {});
  ~InformerSet();
  InformerSet(const InformerSet&) = delete;
  InformerSet& operator=(const InformerSet&) = delete;

  /// Declares; nothing is fetched before start(). Throws std::invalid_argument for a malformed selector.
  template <class T>
  Informer<T> informer(Client& client, Scope scope = {}, std::vector<Index> indexes = {}) {
    return Informer<T>(view(kObjectType<T>, client, std::move(scope), std::move(indexes)));
  }

  /// The same of a type that is known at run time only.
  AnyInformer any_informer(const ObjectType& type, Client& client, Scope scope = {}) {
    return AnyInformer(view(type, client, std::move(scope), {}));
  }

  /// Begins to follow what was declared; what is declared later starts by itself.
  void start();
  /// Waits until all that is declared has synced.
  Task<Result<>> wait_synced();
  /// Ends all watches. Await before destroying.
  Task<> stop(nanoseconds grace = std::chrono::seconds(2));

  std::vector<InformerStatus> status() const;

 private:
  class Impl;
  std::shared_ptr<InformerView> view(const ObjectType& type, Client& client, Scope scope,
                                     std::vector<Index> indexes);
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::kube
