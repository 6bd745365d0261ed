#include "koord/api/rules/kube_qos.hpp"

#include <algorithm>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::api {

namespace {
constexpr std::string_view kNames[] = {"Guaranteed", "Burstable", "BestEffort"};
}  // namespace

std::string_view to_string(KubeQos qos) { return kNames[static_cast<std::size_t>(qos)]; }

KubeQos kube_qos(const Pod& pod) {
  const auto* const at = std::ranges::find(kNames, pod.status.qos_class.view());
  return at == std::end(kNames) ? compute_kube_qos(pod.spec) : static_cast<KubeQos>(at - std::begin(kNames));
}

}  // namespace koord::api
