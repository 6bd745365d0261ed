#include "koord/api/koordinator/classes.hpp"

#include <algorithm>
#include <span>

#include "koord/api/types/core_v1/pod.hpp"
#include "whole_number.hpp"

namespace koord::api {

namespace {

constexpr std::int32_t kBands[] = {9000, 7000, 5000, 3000};  // each is a thousand wide

// Names stand by value, from 1: 0 is none.

template <class E>
std::string_view name_of(std::span<const std::string_view> names, E value) {
  const auto index = static_cast<std::size_t>(value);
  return index == 0 || index > names.size() ? std::string_view() : names[index - 1];
}

template <class E>
E value_of(std::span<const std::string_view> names, std::string_view text) {
  const auto at = std::ranges::find(names, text);
  return at == names.end() ? E::none : static_cast<E>(at - names.begin() + 1);
}

}  // namespace

std::string_view to_string(KoordQos qos) { return name_of(kKoordQosNames, qos); }
KoordQos parse_koord_qos(std::string_view text) { return value_of<KoordQos>(kKoordQosNames, text); }

KoordQos koord_qos(const Pod& pod) { return parse_koord_qos(value_or(pod.metadata.labels, kQosLabel)); }

KoordQos with_default(KoordQos qos, KubeQos kube) {
  if (qos != KoordQos::none) return qos;
  switch (kube) {
    case KubeQos::guaranteed: return KoordQos::lsr;
    case KubeQos::burstable: return KoordQos::ls;
    case KubeQos::besteffort: return KoordQos::be;
  }
  return KoordQos::none;
}

std::optional<std::int64_t> sub_priority(const Pod& pod) {
  return whole_number<std::int64_t>(value_or(pod.metadata.labels, kSubPriorityLabel));
}

std::string_view to_string(KoordPriority priority) { return name_of(kKoordPriorityNames, priority); }
KoordPriority parse_koord_priority(std::string_view text) {
  return value_of<KoordPriority>(kKoordPriorityNames, text);
}

KoordPriority koord_priority_of(std::optional<std::int32_t> priority) {
  for (std::size_t i = 0; priority && i < std::size(kBands); ++i)
    if (*priority >= kBands[i] && *priority <= kBands[i] + 999) return static_cast<KoordPriority>(i + 1);
  return KoordPriority::none;
}

KoordPriority koord_priority(const Pod& pod) {
  const Symbol* const label = pod.metadata.labels.find(kPriorityClassLabel);
  return label != nullptr ? parse_koord_priority(*label) : koord_priority_of(pod.spec.priority);
}

KoordPriority with_default(KoordPriority priority, KoordQos qos) {
  if (priority != KoordPriority::none) return priority;
  return qos == KoordQos::be ? KoordPriority::batch : KoordPriority::prod;
}

std::int32_t default_priority(KoordPriority priority) {
  const auto index = static_cast<std::size_t>(priority);
  return index == 0 ? 0 : kBands[index - 1] + 500;
}

}  // namespace koord::api
