// Koordinator's quality of service and priority classes of a pod.
#include "koord/api/rules/pod_requests.hpp"

namespace koord::api {

namespace {

struct QosName {
  KoordQos qos;
  std::string_view name;
};
constexpr QosName kQosNames[] = {{KoordQos::lse, "LSE"},
                                 {KoordQos::lsr, "LSR"},
                                 {KoordQos::ls, "LS"},
                                 {KoordQos::be, "BE"},
                                 {KoordQos::system, "SYSTEM"}};

struct Band {
  KoordPriority priority;
  std::string_view name;
  std::int32_t lowest;  // each band is a thousand wide
};
constexpr Band kBands[] = {{KoordPriority::prod, "koord-prod", 9000},
                           {KoordPriority::mid, "koord-mid", 7000},
                           {KoordPriority::batch, "koord-batch", 5000},
                           {KoordPriority::free, "koord-free", 3000}};

}  // namespace

std::string_view to_string(KoordQos qos) {
  for (const QosName& row : kQosNames)
    if (row.qos == qos) return row.name;
  return "";
}

KoordQos parse_koord_qos(std::string_view text) {
  for (const QosName& row : kQosNames)
    if (row.name == text) return row.qos;
  return KoordQos::none;
}

KoordQos koord_qos(const Pod& pod) {
  return parse_koord_qos(value_or(pod.metadata.labels, "koordinator.sh/qosClass"));
}

KoordQos koord_qos_with_default(const Pod& pod) {
  if (const KoordQos qos = koord_qos(pod); qos != KoordQos::none) return qos;
  const std::string_view kube = pod_qos(pod);
  if (kube == "Guaranteed") return KoordQos::lsr;
  if (kube == "Burstable") return KoordQos::ls;
  return kube == "BestEffort" ? KoordQos::be : KoordQos::none;
}

std::string_view to_string(KoordPriority priority) {
  for (const Band& band : kBands)
    if (band.priority == priority) return band.name;
  return "";
}

KoordPriority parse_koord_priority(std::string_view text) {
  for (const Band& band : kBands)
    if (band.name == text) return band.priority;
  return KoordPriority::none;
}

KoordPriority koord_priority_of(std::optional<std::int32_t> priority) {
  for (const Band& band : kBands)
    if (priority && *priority >= band.lowest && *priority <= band.lowest + 999) return band.priority;
  return KoordPriority::none;
}

KoordPriority koord_priority(const Pod& pod) {
  if (const Symbol* label = pod.metadata.labels.find("koordinator.sh/priority-class"))
    return parse_koord_priority(*label);
  return koord_priority_of(pod.spec.priority);
}

KoordPriority koord_priority_with_default(const Pod& pod) {
  if (const KoordPriority priority = koord_priority(pod); priority != KoordPriority::none) return priority;
  const KoordQos qos = koord_qos_with_default(pod);
  if (qos == KoordQos::none) return KoordPriority::none;
  return qos == KoordQos::be ? KoordPriority::batch : KoordPriority::prod;
}

}  // namespace koord::api
