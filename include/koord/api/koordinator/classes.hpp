// Classes of pods: Koordinator's quality of service and its priorities. Their names on the wire, and the
// labels and resources that go with them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "koord/api/rules/kube_qos.hpp"

namespace koord::api {

inline constexpr std::string_view kQosLabel = "koordinator.sh/qosClass";
inline constexpr std::string_view kPriorityClassLabel = "koordinator.sh/priority-class";
/// Within its class: a number.
inline constexpr std::string_view kSubPriorityLabel = "koordinator.sh/priority";
/// Nothing where no whole number is said.
std::optional<std::int64_t> sub_priority(const Pod& pod);
/// What nodes lend to batch and mid pods.
inline constexpr std::string_view kBatchCpu = "kubernetes.io/batch-cpu";
inline constexpr std::string_view kBatchMemory = "kubernetes.io/batch-memory";
inline constexpr std::string_view kMidCpu = "kubernetes.io/mid-cpu";
inline constexpr std::string_view kMidMemory = "kubernetes.io/mid-memory";
/// The names that they had before.
inline constexpr std::string_view kOldBatchCpu = "koordinator.sh/batch-cpu";
inline constexpr std::string_view kOldBatchMemory = "koordinator.sh/batch-memory";

/// Koordinator's quality of service (kQosLabel). Absent and unknown values are `none`.
enum class KoordQos : std::uint8_t { none, lse, lsr, ls, be, system };
inline constexpr std::string_view kKoordQosNames[] = {"LSE", "LSR", "LS", "BE", "SYSTEM"};
std::string_view to_string(KoordQos qos);  // "" for none
KoordQos parse_koord_qos(std::string_view text);
KoordQos koord_qos(const Pod& pod);
/// Guaranteed is LSR, Burstable LS, BestEffort BE where nothing else is said.
KoordQos with_default(KoordQos qos, KubeQos kube);

/// Koordinator's priority classes (kPriorityClassLabel, else bands of spec.priority).
enum class KoordPriority : std::uint8_t { none, prod, mid, batch, free };
inline constexpr std::string_view kKoordPriorityNames[] = {"koord-prod", "koord-mid", "koord-batch",
                                                           "koord-free"};
std::string_view to_string(KoordPriority priority);  // "" for none
KoordPriority parse_koord_priority(std::string_view text);
/// prod 9000-9999, mid 7000-7999, batch 5000-5999, free 3000-3999, else none.
KoordPriority koord_priority_of(std::optional<std::int32_t> priority);
KoordPriority koord_priority(const Pod& pod);
/// By quality of service where nothing else is said: BE is batch, the others are prod.
KoordPriority with_default(KoordPriority priority, KoordQos qos);
/// What a pod of the class has that says no number: the middle of its band; 0 for none.
std::int32_t default_priority(KoordPriority priority);

}  // namespace koord::api
