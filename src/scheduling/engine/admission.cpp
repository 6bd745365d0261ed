// Engine: what is said of a pod before any node is looked at; see admit_plugin.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/engine/engine.hpp"

namespace koord::scheduling {

/// What the plugins made of the pod is known then, for state_of().
std::optional<Engine::Refusal> Engine::first_refusal(const Profile& profile, const PodInfo& pod) {
  if (profile.pre_filter_transformers.empty() && profile.admits.empty()) return std::nullopt;
  Refusal refusal{kNoPlugin, {}};
  refusal.status = transform(profile, pod, refusal.by);
  if (!refusal.status.ok()) return refusal;
  const PodInfo& asked = transformed_ ? *transformed_ : pod;
  for (const auto& p : profile.admits) {
    Status status = p.plugin->admit(asked);
    if (status.ok()) continue;
    if (!status.rejected())
      status.message =
          fmt::format("running PreFilter plugin \"{}\": {}", profile.plugin_name(p.index), status.message);
    return Refusal{p.index, std::move(status)};
  }
  return std::nullopt;
}

/// As of a preparation that no node satisfies.
Diagnosis Engine::diagnosis(const Refusal& refusal) const {
  Diagnosis d{.nodes = nodes_.nodes(), .rejectors = mask_of(refusal.by), .code = refusal.status.code};
  (refusal.status.rejected() ? d.prefilter_message : d.error) = refusal.status.message;
  return d;
}

/// False: a plugin refused the pod, and it is put back.
bool Engine::admitted(QueuedPod& pod, Decision& d) {
  const std::optional<Refusal> refusal = first_refusal(*pod.profile, pod.info);
  if (!refusal) return true;
  const auto& [by, status] = *refusal;
  d.evaluated_nodes = 0;
  if (!status.rejected()) {
    failed(pod, d, status.message);
    return false;
  }
  hopeless_.clear();
  Diagnosis why = diagnosis(*refusal);
  pod.rejectors = why.rejectors;
  pod.rejector_key = status.key;
  // Who says what the pod waits for tells when there is more of it, and the pod is asked then, in its order:
  // what was refused before any node was looked at has cost nothing that a backoff would save.
  if (status.code == StatusCode::pending || !status.key.empty()) pod.pending = pod.rejectors;
  d.detail = details_.refused(why, clock_.mono());
  refused(pod, d, std::move(why), [&]() -> ClassState& { return state_of(*pod.profile, pod.cls, pod.info); });
  if (!status.key.empty()) note_in_vain(pod, d, by, status.key);
  return false;
}

// Thousands of pods may wait for one quota, and each pod of it that ends has all of them asked again: who is
// like one that was refused and found nobody to preempt since the key's last event is asked, but no more.

void Engine::note_in_vain(QueuedPod& pod, const Decision& d, PluginIndex by, const Symbol& key) {
  constexpr std::size_t kMostKeys = 64;  // of a class
  const auto* said = std::get_if<Decision::Unschedulable>(&d.outcome);
  if (said == nullptr || said->preemption.chosen != 0 || pod.cls == nullptr) return;
  pod.told_key = key;
  std::vector<PodClass::InVain>& all = pod.cls->in_vain;
  if (all.size() >= kMostKeys) all.clear();
  const bool preempts = pod.info.pod->spec.preemption_policy != "Never";
  const auto since = refusing_.try_emplace({pod.profile->plugin_name(by), key}, refusals_ + 1).first;
  refusals_ = std::max(refusals_, since->second);
  const PodClass::InVain made{key, by, since->second, pod.info.priority, preempts};
  const auto known = std::ranges::find(all, key, &PodClass::InVain::key);
  if (known == all.end()) {
    all.push_back(made);
  } else {
    *known = made;
  }
}

/// True: the plugin refuses it as it did, and it waits on; there is nothing new to tell of it.
bool Engine::refused_as_before(QueuedPod& pod) {
  const Symbol key = std::exchange(pod.told_key, Symbol());
  if (key.empty() || pod.cls == nullptr || pod.questions != 0 || pod.activated || nodes_.nodes() == 0 ||
      pod.info.pod->metadata.deletion_timestamp || !nominator_.node_of(pod.info).empty())
    return false;
  const auto known = std::ranges::find(pod.cls->in_vain, key, &PodClass::InVain::key);
  if (known == pod.cls->in_vain.end() || known->priority < pod.info.priority ||
      (!known->preempts && pod.info.pod->spec.preemption_policy != "Never"))
    return false;
  const auto since = refusing_.find({pod.profile->plugin_name(known->by), key});
  if (since == refusing_.end() || since->second != known->since) return false;
  const std::optional<Refusal> refusal = first_refusal(*pod.profile, pod.info);
  forget_transformed();
  if (!refusal || refusal->by != known->by || !refusal->status.rejected() || refusal->status.key != key)
    return false;
  pod.rejectors = pod.pending = mask_of(refusal->by);
  pod.rejector_key = pod.told_key = key;
  --pod.attempts;
  queue_->add_failed(pod, clock_.mono(), Hint::skip);
  return true;
}

}  // namespace koord::scheduling
