// The quality of service that Kubernetes gives a pod.
#pragma once

#include <cstdint>
#include <string_view>

namespace koord::api {

struct Pod;
struct PodSpec;

enum class KubeQos : std::uint8_t { guaranteed, burstable, besteffort };
std::string_view to_string(KubeQos qos);  // Guaranteed, Burstable, BestEffort
/// As the status says, or computed.
KubeQos kube_qos(const Pod& pod);
/// By requests and limits, whatever the status says.
KubeQos compute_kube_qos(const PodSpec& spec);

}  // namespace koord::api
