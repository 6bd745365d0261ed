// Engine: what is said of a pod before any node is looked at; see admit_plugin.hpp.
#include <fmt/format.h>

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
  if (status.code == StatusCode::pending) pod.pending = pod.rejectors;
  d.detail = details_.refused(why, clock_.mono());
  refused(pod, d, std::move(why), [&]() -> ClassState& { return state_of(*pod.profile, pod.cls, pod.info); });
  return false;
}

}  // namespace koord::scheduling
