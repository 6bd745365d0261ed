// NodeObjects<T>: one object of a kind for each node, of the node's name: made with it, kept right, removed
// after it.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "controllers/specs.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/informer.hpp"
#include "koord/kube/work_queue.hpp"

namespace koord::manager {

/// The two counters of a controller, by status and reason.
struct ControllerCounts {
  metrics::Family<metrics::Counter> reconciled;  // slo_controller_nodeslo_reconcile_count
  metrics::Family<metrics::Counter> parsed;      // slo_controller_nodeslo_spec_parse_count

  static void count(const metrics::Family<metrics::Counter>& family, bool succeeded,
                    std::string_view reason) {
    family.with({succeeded ? "succeeded" : "failed", reason}).inc();
  }
};

extern const metrics::Table kNodeObjectMetrics;
ControllerCounts node_metric_counts(metrics::Registry& registry);
ControllerCounts node_slo_counts(metrics::Registry& registry);

/// The part that is alike for all T: which names want work, how many are worked on at once, what is tried
/// again.
class NodeWorkers {
 public:
  /// Requests to the API server at a time.
  static constexpr int kWorkers = 16;

  /// `reconcile` sets right what belongs to the node of that name; an error is tried again, from 5 ms to
  /// 1,000 s later. `may_write` is asked before each.
  NodeWorkers(Clock& clock, Logger log, std::string_view name,
              std::function<Task<Result<>>(const std::string& node)> reconcile,
              std::function<bool()> may_write);

  void add(std::string_view node) { queue_.add(std::string(node)); }
  /// The configuration changed: all of them.
  void add_all(const kube::Informer<api::Node>& nodes);
  void add_after(const std::string& node, nanoseconds delay) { queue_.add_after(node, delay); }
  /// From now on there is work; `tasks` belongs to the role.
  void start(TaskGroup& tasks);
  void stop() { queue_.close(); }
  std::size_t waiting() const { return queue_.size(); }

 private:
  Task<Result<>> work();

  Logger log_;
  std::string_view name_;
  std::function<Task<Result<>>(const std::string&)> reconcile_;
  std::function<bool()> may_write_;
  kube::WorkQueue<std::string> queue_;
};

/// While the API server does not serve the kind, it is seen so often whether it does.
constexpr nanoseconds kUndefinedPause = std::chrono::seconds(30);

/// Belongs to the event loop's thread.
template <class T>
class NodeObjects {
 public:
  using Spec = decltype(T::spec);
  struct Parts {
    std::string_view name;       // "nodeslo"
    std::string_view kind_name;  // "NodeSLO", as the reasons of metrics have it
    Clock& clock;
    Logger log;
    kube::Client& client;
    kube::Informer<api::Node> nodes;
    kube::Informer<T> objects;
    ControllerCounts counts;
    /// Whether anything can be said yet.
    std::function<bool()> available;
    std::function<Spec(const api::Node&, const Spec* before, SpecParts&)> spec;
    std::function<bool()> may_write;
  };
  explicit NodeObjects(Parts parts)
      : parts_(std::move(parts)),
        create_(fmt::format("create{}", parts_.kind_name)),
        update_(fmt::format("update{}", parts_.kind_name)),
        delete_(fmt::format("delete{}", parts_.kind_name)),
        workers_(
            parts_.clock, parts_.log, parts_.name,
            [this](const std::string& node) { return reconcile(node); }, parts_.may_write) {}

  NodeWorkers& workers() { return workers_; }

 private:
  Task<Result<>> reconcile(std::string name) {
    if (!parts_.available()) co_return Result<>();  // everything is looked at when it is
    if (parts_.objects.undefined() != nullptr) {
      workers_.add_after(name, kUndefinedPause);
      co_return Result<>();
    }
    const auto node = parts_.nodes.get("", name);
    const auto object = parts_.objects.get("", name);
    if (!node && !object) co_return Result<>();
    if (!node) {
      kube::DeleteOptions same;
      same.uid = object->metadata.uid;
      co_return told(co_await parts_.client.remove(api::kind<T>(), {"", name}, std::move(same)), delete_);
    }
    SpecParts said;
    Spec spec = parts_.spec(*node, object ? &object->spec : nullptr, said);
    for (const SpecPart& part : said)
      ControllerCounts::count(parts_.counts.parsed, part.succeeded, part.reason);
    if (!object) {
      T fresh;
      fresh.metadata.name = name;
      fresh.spec = std::move(spec);
      auto created = co_await parts_.client.template create<T>(std::move(fresh));
      co_return told(created ? Result<>() : Result<>(std::move(created).error()), create_);
    }
    if (object->spec == spec) co_return Result<>();
    T after = *object;
    after.spec = std::move(spec);
    co_return told(co_await parts_.client.template patch<T>(*object, after), update_);
  }

  /// What somebody else has removed or made meanwhile is no failure: the informer brings it.
  Result<> told(Result<> done, const std::string& reason) const {
    if (!done && done.error().code() == Code::cancelled) return done;
    if (!done && reason == delete_ && done.error().code() == Code::not_found) return {};
    ControllerCounts::count(parts_.counts.reconciled, done.has_value(), reason);
    return done;
  }

  Parts parts_;
  std::string create_, update_, delete_;
  NodeWorkers workers_;
};

}  // namespace koord::manager
