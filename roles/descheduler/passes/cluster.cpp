// See cluster.hpp.
#include "passes/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>

#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/policy_v1/pod_disruption_budget.hpp"
#include "koord/api/types/scheduling_v1/priority_class.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/client.hpp"

namespace koord::descheduler {

namespace {

/// A cluster that has not been heard of for so long is another one by now.
constexpr nanoseconds kStale = std::chrono::seconds(60);
constexpr nanoseconds kRefused = std::chrono::seconds(10);
constexpr nanoseconds kLookAgain = std::chrono::seconds(1);

scheduling::Transforms::Complain complain(const Logger& log) {
  return [log](std::string_view kind, const api::ObjectMeta& object, std::string_view what) {
    log.warn("a malformed annotation of Koordinator is ignored", kv("kind", kind),
             kv("namespace", object.namespace_.view()), kv("name", object.name), kv("error", what));
  };
}

}  // namespace

Cluster::Cluster(kube::InformerSet& informers, kube::Client& client, Clock& clock, const Logger& log)
    : clock_(clock),
      transforms_({}, complain(log)),
      nodes_(informers.informer<api::Node>(client)),
      pods_(informers.informer<api::Pod>(client)),
      metrics_(informers.informer<api::NodeMetric>(client)),
      namespaces_(informers.informer<api::Namespace>(client)),
      classes_(informers.informer<api::PriorityClass>(client)),
      budgets_(informers.informer<api::PodDisruptionBudget>(client)) {}

void Cluster::follow_also(std::vector<kube::AnyInformer> others) { others_ = std::move(others); }

std::vector<kube::AnyInformer> Cluster::needed() const {
  return {nodes_, pods_, metrics_, namespaces_, classes_};
}

std::vector<kube::AnyInformer> Cluster::dispensable() const {
  std::vector<kube::AnyInformer> own = needed(), some{budgets_};
  own.push_back(budgets_);
  // By their names, which informers have once they have been started.
  std::ranges::copy_if(others_, std::back_inserter(some), [&](const kube::AnyInformer& other) {
    return std::ranges::none_of(own, [name = other.status().name](const kube::AnyInformer& each) {
      return each.status().name == name;
    });
  });
  return some;
}

std::vector<kube::AnyInformer> Cluster::all() const {
  std::vector<kube::AnyInformer> all = needed();
  std::ranges::move(dispensable(), std::back_inserter(all));
  return all;
}

bool Cluster::is_refused(const kube::AnyInformer& informer) const {
  if (informer.synced()) return false;
  const kube::InformerStatus status = informer.status();
  return status.forbidden_since && clock_.mono() - *status.forbidden_since >= kRefused;
}

std::vector<std::string> Cluster::refused() const {
  std::vector<std::string> names;
  for (const kube::AnyInformer& informer : dispensable())
    if (is_refused(informer)) names.push_back(informer.status().name);
  return names;
}

Result<> Cluster::synced() const {
  std::string awaited;
  const std::vector<std::string> without = refused();
  for (const kube::AnyInformer& informer : all()) {
    if (informer.synced()) continue;
    const kube::InformerStatus status = informer.status();
    if (std::ranges::find(without, status.name) != without.end()) continue;
    awaited += fmt::format("{}{}{}{}", awaited.empty() ? "" : "; ", status.name,
                           status.last_error.empty() ? "" : ": ", status.last_error);
  }
  if (awaited.empty()) return {};
  return Error(Code::unavailable, fmt::format("the informers have not synced: {}", awaited));
}

Task<Result<>> Cluster::wait_synced() {
  for (kube::AnyInformer& informer : needed()) KOORD_CO_CHECK(co_await informer.wait_synced());
  for (kube::AnyInformer& informer : dispensable()) {
    while (!informer.synced() && !is_refused(informer)) {
      const Result<> waited = co_await with_timeout(clock_, kLookAgain, informer.wait_synced());
      if (!waited && waited.error().code() == Code::cancelled) co_return waited;
    }
  }
  co_return Result<>();
}

Task<Result<>> Cluster::catch_up() {
  KOORD_CO_CHECK(co_await nodes_.catch_up());
  co_return co_await pods_.catch_up();
}

std::string Cluster::stale() const {
  std::string text;
  const std::vector<std::string> without = refused();
  for (const kube::AnyInformer& informer : all()) {
    const kube::InformerStatus status = informer.status();
    if (std::ranges::find(without, status.name) != without.end()) continue;
    if (!status.failing_since || clock_.mono() - *status.failing_since < kStale) continue;
    text += fmt::format("{}{} have not been followed for {}: {}", text.empty() ? "" : "; ", status.name,
                        api::Duration(clock_.mono() - *status.failing_since).to_string(), status.last_error);
  }
  return text;
}

SnapshotObjects Cluster::objects() {
  SnapshotObjects objects{nodes_.list(),      pods_.list(),    metrics_.list(),
                          namespaces_.list(), classes_.list(), budgets_.list()};
  for (auto& node : objects.nodes) node = transforms_.node(std::move(node));
  for (PodPtr& pod : objects.pods) pod = transforms_.pod(std::move(pod));
  return objects;
}

}  // namespace koord::descheduler
