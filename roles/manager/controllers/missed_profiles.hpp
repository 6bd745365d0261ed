// What a pod does not have though a ClusterColocationProfile gives it: it slipped past the webhook.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "admission/profile/profile.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::manager {

struct MissedProfile {
  const Profile* profile;
  std::string what;  // "label koordinator.sh/qosClass=BE"
};

/// The first thing that a pod which was admitted with these profiles would have and this one does not. Not
/// everything can be told from a pod: profiles with a probability, those that have been as they are only
/// `since` after the pod came, and what they map, append or patch count as nothing; of several that give the
/// same the last by name counts; and a profile that matches by a label that one of them gives did not match
/// when the pod came. `namespace_labels` is of the pod's namespace.
using ProfileSince = std::function<api::Time(const Profile&)>;
std::optional<MissedProfile> missed_profile(const api::Pod& pod,
                                            std::span<const std::shared_ptr<const Profile>> profiles,
                                            const api::SymbolMap& namespace_labels,
                                            const ProfileSince& since);

}  // namespace koord::manager
