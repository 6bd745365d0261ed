// Changes that concern the controllers: see changes.hpp.
#include "controllers/changes.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "framework/noderesource/node_update.hpp"
#include "framework/noderesource/overcommit_level.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/colocation.hpp"
#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/node.hpp"

namespace koord::manager {
namespace {

constexpr std::array<std::string_view, 7> kResourceAnnotations = {api::NodeReservation::kAnnotation,
                                                                  api::ThirdPartyAllocations::kAnnotation,
                                                                  api::kRawAllocatable,
                                                                  api::kCpuNormalizationRatio,
                                                                  api::AmplificationRatios::kAnnotation,
                                                                  kLevelAnnotation,
                                                                  kOriginExtended};

bool same_annotations(const api::Node& a, const api::Node& b, std::span<const std::string_view> names) {
  return std::ranges::all_of(names, [&](std::string_view name) {
    return api::value_or(a.metadata.annotations, name) == api::value_or(b.metadata.annotations, name);
  });
}

bool is_evicted(const api::Pod& pod) {
  return std::ranges::any_of(pod.status.conditions, [](const api::PodCondition& condition) {
    return condition.type.view() == "DisruptionTarget" && condition.status.view() == "True" &&
           condition.reason.view() == "EvictionByEvictionAPI";
  });
}

}  // namespace

bool changes_specs(const api::Node& before, const api::Node& after) {
  return before.metadata.uid != after.metadata.uid || before.metadata.labels != after.metadata.labels ||
         !same_annotations(before, after,
                           std::array{api::ColocationStrategy::kAnnotation, api::kNetworkBandwidth});
}

bool changes_resources(const api::Node& before, const api::Node& after) {
  return changes_specs(before, after) || before.status.capacity != after.status.capacity ||
         before.status.allocatable != after.status.allocatable ||
         !same_annotations(before, after, kResourceAnnotations);
}

bool changes_resources(const api::Pod& before, const api::Pod& after) {
  return before.spec.node_name != after.spec.node_name || before.status.phase != after.status.phase ||
         before.metadata.labels != after.metadata.labels || before.spec.containers != after.spec.containers;
}

bool changes_resources(const api::NodeResourceTopology& before, const api::NodeResourceTopology& after) {
  return before.zones != after.zones ||
         api::value_or(before.metadata.annotations, api::CpuBasicInfo::kAnnotation) !=
             api::value_or(after.metadata.annotations, api::CpuBasicInfo::kAnnotation);
}

bool changes_resources(const api::Device& before, const api::Device& after) {
  return before.spec != after.spec || before.metadata.labels != after.metadata.labels;
}

bool is_evicted_best_effort(const api::Pod& pod) {
  if (!is_evicted(pod)) return false;
  const api::KoordQos qos = api::with_default(api::koord_qos(pod), api::kube_qos(pod));
  const api::KoordPriority priority = api::with_default(api::koord_priority(pod), qos);
  return priority == api::KoordPriority::batch || priority == api::KoordPriority::free;
}

}  // namespace koord::manager
