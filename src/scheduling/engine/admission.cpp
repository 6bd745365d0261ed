// Engine: what is said of a pod before any node is looked at; see admit_plugin.hpp.
#include <fmt/format.h>

#include "koord/scheduling/engine/engine.hpp"

namespace koord::scheduling {

std::optional<Engine::Refusal> Engine::first_refusal(const Profile& profile, const PodInfo& pod) {
  for (const auto& p : profile.admits)
    if (Status status = p.plugin->admit(pod); !status.ok()) return Refusal{p.index, std::move(status)};
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
    d.outcome = Decision::Failed{
        fmt::format("running PreFilter plugin \"{}\": {}", pod.profile->plugin_name(by), status.message),
        Symbol()};
    requeue(pod, Symbol());
    return false;
  }
  hopeless_.clear();
  Diagnosis why = diagnosis(*refusal);
  pod.rejectors = why.rejectors;
  pod.rejector_key = status.key;
  if (status.code == StatusCode::pending) pod.pending = pod.rejectors;
  d.detail = details_.refused(why, clock_.mono());
  refused(pod, d, std::move(why), [&]() -> ClassState& { return classes_.state(*pod.cls, pod.info); });
  return false;
}

}  // namespace koord::scheduling
