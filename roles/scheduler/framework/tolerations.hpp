// Tolerations: which taints a pod puts up with.
#pragma once

#include <span>

#include "framework/plugin.hpp"
#include "koord/api/node.hpp"
#include "koord/api/pod.hpp"

namespace koord::scheduler {

/// Whether one of the tolerations tolerates the taint. Lt and Gt tolerate nothing: they are behind an alpha
/// gate of Kubernetes 1.35.
bool tolerated(std::span<const api::Toleration> tolerations, const api::Taint& taint);
void sign_tolerations(const api::Pod& pod, Signature& signature);

}  // namespace koord::scheduler
