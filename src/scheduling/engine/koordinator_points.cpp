// Engine: Koordinator's own places of the cycle; see koordinator_points.hpp. How long each plugin took there
// is counted under Koordinator's names.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/engine/engine.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"

namespace koord::scheduling {

namespace {

constexpr std::int32_t most_below(std::int32_t priority) {
  return priority == std::numeric_limits<std::int32_t>::min() ? priority : priority - 1;
}

}  // namespace

void Engine::took(const Profile& profile, PluginIndex plugin, std::string_view point, std::string_view status,
                  nanoseconds time) {
  plugin_times_.observe({profile.plugin_name(plugin), point, status}, time);
}

/// The attempt ends with an error, in these words.
void Engine::failed(QueuedPod& pod, Decision& d, std::string message) {
  d.outcome = Decision::Failed{std::move(message), Symbol()};
  requeue(pod, Symbol());
}

// NextPod

QueuedPod* Engine::next() {
  const MonoTime now = clock_.mono();
  for (const auto& [name, plugin] : next_pods_) {
    const MonoTime began = clock_.mono();
    const std::shared_ptr<const api::Pod> named = plugin->next_pod();
    plugin_times_.observe({name, "NextPod", named ? "true" : "false"}, clock_.mono() - began);
    QueuedPod* const pod = named ? find(*named) : nullptr;
    if (pod == nullptr || !queue_->take(*pod)) continue;
    if (!pod->first_attempt) pod->first_attempt = now;
    return pod;
  }
  return queue_->pop(now);
}

std::optional<CycleControl::Queued> Engine::queued(const api::Pod& object) const {
  const auto it = pods_.find(pod_key(object));
  if (it == pods_.end() || it->second->info.pod->metadata.uid != object.metadata.uid) return std::nullopt;
  const QueuedPod& pod = *it->second;
  return Queued{pod.place, pod.attempts, pod.timestamp};
}

// BeforePreFilter, AfterPreFilter, FindOneNode

/// What its transformers make of the pod, which is transformed_ then; `by`: whose status it is.
Status Engine::transform(const Profile& profile, const PodInfo& pod, PluginIndex& by) {
  forget_transformed();
  for (const auto& p : profile.pre_filter_transformers) {
    const MonoTime began = clock_.mono();
    PreFilterTransformer::Before said = p.plugin->before_pre_filter(transformed_ ? *transformed_ : pod);
    took(profile, p.index, "BeforePreFilter", label(said.status.code), clock_.mono() - began);
    if (said.status.ok() && said.in_place &&
        (pod_key(*said.in_place) != pod_key(*pod.pod) ||
         said.in_place->metadata.uid != pod.pod->metadata.uid))
      said.status = {StatusCode::error, fmt::format("plugin \"{}\" put another pod in the place of {}",
                                                    profile.plugin_name(p.index), described(*pod.pod))};
    if (!said.status.ok()) {
      by = p.index;
      return std::move(said.status);
    }
    if (said.in_place)
      transformed_ =
          std::make_shared<const PodInfo>(make_pod_info(std::move(said.in_place), nodes_.resources()));
  }
  return {};
}

/// Of what the nodes are asked about: the pod, of this class, or what is in its place.
ClassState& Engine::state_of(const Profile& profile, PodClass* cls, const PodInfo& pod) {
  if (!transformed_) return classes_.state(*cls, pod);
  if (transformed_class_ == nullptr) transformed_class_ = &classes_.acquire(profile, *transformed_);
  return classes_.state(*transformed_class_, *transformed_);
}

void Engine::forget_transformed() {
  if (transformed_class_ != nullptr) classes_.release(*transformed_class_);
  transformed_class_ = nullptr;
  transformed_.reset();
}

CycleHooks::Narrowed Engine::prepared(const Profile& profile, const PodInfo& pod) {
  Narrowed narrowed;
  for (const auto& p : profile.pre_filter_transformers) {
    const MonoTime began = clock_.mono();
    PreFilterTransformer::After said = p.plugin->after_pre_filter(pod);
    took(profile, p.index, "AfterPreFilter", label(said.status.code), clock_.mono() - began);
    if (!said.status.ok()) return {std::move(said.status), {}, p.index};
    if (!said.only_nodes) continue;
    std::vector<std::string>& names = *said.only_nodes;
    if (narrowed.only_nodes)
      std::erase_if(names, [&](const std::string& name) {
        return std::ranges::find(*narrowed.only_nodes, name) == narrowed.only_nodes->end();
      });
    narrowed.only_nodes = std::move(names);
    narrowed.by = p.index;
  }
  if (!profile.find_one_node) return narrowed;
  const auto& by = *profile.find_one_node;
  const MonoTime began = clock_.mono();
  FindOneNodePlugin::Found found = by.plugin->find_one_node(pod);
  took(profile, by.index, "FindOneNodePlugin", label(found.status.code), clock_.mono() - began);
  if (found.status.code == StatusCode::skip) return narrowed;
  if (found.status.ok() && found.node.empty())
    found.status = {StatusCode::error,
                    fmt::format("FindOneNodePlugin \"{}\" succeeded but produced no node for {}",
                                profile.plugin_name(by.index), described(*pod.pod))};
  if (!found.status.ok()) return {std::move(found.status), {}, by.index};
  return {{}, std::vector{std::move(found.node)}, by.index};
}

// BeforeFilter

void Engine::saw_deltas(const Profile& profile, PluginIndex plugin, nanoseconds time) {
  took(profile, plugin, "BeforeFilter", label(StatusCode::success), time);
}

// AfterPostFilter

void Engine::after_post_filter(const PodAttempt& attempt, const Diagnosis& diagnosis, const Status& said) {
  for (const auto& p : attempt.profile.post_filter_transformers) {
    const MonoTime began = clock_.mono();
    p.plugin->after_post_filter(attempt, diagnosis, said);
    took(attempt.profile, p.index, "AfterPostFilter", "", clock_.mono() - began);
  }
}

// BeforeScore, the nomination, ResizePod

/// What is none of success is the error that the attempt ends with.
Status Engine::before_score(const QueuedPod& pod, ClassState& state) {
  for (const auto& p : pod.profile->score_transformers) {
    const MonoTime began = clock_.mono();
    Status status = p.plugin->before_score(transformed_ ? *transformed_ : pod.info, state.feasible_rows());
    took(*pod.profile, p.index, "BeforeScore", label(status.code), clock_.mono() - began);
    if (!status.ok()) return status;
  }
  return {};
}

/// Of a pod that has a row and does not count there yet; as above.
Status Engine::after_choice(QueuedPod& pod, Row row) {
  const Profile& profile = *pod.profile;
  if (!pod.attempt || (profile.nominators.empty() && profile.resizes.empty())) return {};
  pod.attempt->node = nodes_.name(row);
  pod.attempt->row = row;
  for (const auto& p : profile.nominators)
    if (Status status = p.plugin->nominate_reservation(*pod.attempt); !status.ok()) return status;
  Requests takes = pod.info.requests;
  for (const auto& p : profile.resizes) {
    const MonoTime began = clock_.mono();
    Status status = p.plugin->resize_pod(*pod.attempt, takes);
    took(profile, p.index, "ResizePod", label(status.code), clock_.mono() - began);
    if (!status.ok()) return status;
  }
  if (takes == pod.info.requests) return {};
  pod.info.requests = std::move(takes);
  pod.resized = true;
  return {};
}

/// What its object asks for is what it takes.
void Engine::take_again(QueuedPod& pod) {
  pod.resized = false;
  pod.info.requests = make_pod_info(pod.info.pod, nodes_.resources()).requests;
}

// Who is told

void Engine::tell_forgotten(const QueuedPod& pod, const Symbol& node) {
  for (ForgetPlugin* plugin : forgetting_) plugin->forgotten(pod.info, node);
}

// Pods that other schedulers have nominated

void Engine::follow_foreign(const std::shared_ptr<const api::Pod>& pod) {
  const Symbol& node = pod->status.nominated_node_name;
  if (node.empty() || !pod->spec.node_name.empty() || is_finished(*pod) || profile_of(*pod) != nullptr)
    return drop_foreign(pod->metadata.uid);
  std::unique_ptr<PodInfo>& known = foreign_[pod->metadata.uid];
  auto now = std::make_unique<PodInfo>(make_pod_info(pod, nodes_.resources()));
  if (known && nominator_.node_of(*known) == node && known->requests == now->requests &&
      known->ports == now->ports && known->priority == now->priority &&
      known->pod->metadata.labels == now->pod->metadata.labels &&
      known->pod->spec.affinity == now->pod->spec.affinity)
    return;
  const std::unique_ptr<PodInfo> before = std::exchange(known, std::move(now));
  const Symbol was = before ? nominator_.node_of(*before) : Symbol();
  if (before) nominator_.nominate(*before, {});
  nominator_.nominate_foreign(*known, node);
  if (!was.empty()) left(before->pod, was, most_below(before->priority));
}

void Engine::drop_foreign(std::string_view uid) {
  if (foreign_.empty()) return;
  const auto it = foreign_.find(std::string(uid));
  if (it == foreign_.end()) return;
  const std::unique_ptr<PodInfo> pod = std::move(it->second);
  foreign_.erase(it);
  const Symbol was = nominator_.node_of(*pod);
  nominator_.nominate(*pod, {});
  // Only pods of a lower priority had left it their room.
  left(pod->pod, was, most_below(pod->priority));
}

}  // namespace koord::scheduling
