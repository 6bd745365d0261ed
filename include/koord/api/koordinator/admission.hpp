// What pods, profiles and ConfigMaps say to the manager's webhooks and controllers.
#pragma once

#include <string_view>

namespace koord::api {

/// What names of Koordinator's begin with, or have behind a dot.
inline constexpr std::string_view kKoordinatorDomain = "koordinator.sh/";

// Labels of pods.
inline constexpr std::string_view kMutatingUpdateLabel = "pod.koordinator.sh/mutating-update",
                                  kSkipEnhancedValidationLabel =
                                      "pod.koordinator.sh/skip-enhanced-validation",
                                  kBindingBypassLabel = "koordinator.sh/binding-admission-bypass";
// Of ClusterColocationProfiles: a label and an annotation.
inline constexpr std::string_view kControllerManagedLabel = "config.koordinator.sh/controller-managed",
                                  kSkipUpdateResources = "config.koordinator.sh/skip-update-resources";
// Of ConfigMaps.
inline constexpr std::string_view kConfigMapTypeLabel = "koordinator.sh/configmap-type";
// Of webhook configurations; koord's own.
inline constexpr std::string_view kWebhookEntries = "koordinator.sh/webhook-entries";

}  // namespace koord::api
