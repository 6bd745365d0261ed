// Pods that slipped past the webhook: see missed_profiles.hpp.
#include "controllers/missed_profiles.hpp"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "koord/api/koordinator/classes.hpp"

namespace koord::manager {
namespace {

/// What of the pod a profile gives, the last by name first. A null profile: it cannot be told.
struct ProfileValue {
  const Profile* profile = nullptr;
  std::string value;
};
using ProfileValues = std::map<std::string, ProfileValue, std::less<>>;  // by key

/// Whether nothing that the profile gives can be told from a pod.
bool is_uncertain(const Profile& profile, const api::Pod& pod, const ProfileSince& since) {
  return profile.source().spec.probability.has_value() || since(profile) > pod.metadata.creation_timestamp;
}

struct Wanted {
  ProfileValues labels, annotations;
  ProfileValue scheduler, priority_class;

  void add(const Profile& profile, bool uncertain) {
    const api::ClusterColocationProfileSpec& spec = profile.source().spec;
    const Profile* const from = uncertain ? nullptr : &profile;
    const auto all = [from](ProfileValues& values, const api::SymbolMap& entries) {
      for (const auto& [key, value] : entries)
        values[std::string(key.view())] = {from, std::string(value.view())};
    };
    const auto forget = [](ProfileValues& values, const api::SymbolMap& keys) {
      for (const auto& [key, value] : keys) values[std::string(value.view())] = {};
    };
    all(labels, spec.labels);
    all(annotations, spec.annotations);
    forget(labels, spec.label_keys_mapping);
    forget(annotations, spec.annotation_keys_mapping);
    for (const auto& [key, suffix] : spec.label_suffixes) labels[std::string(key.view())] = {};
    if (!spec.qos_class.empty())
      labels[std::string(api::kQosLabel)] = {from, std::string(spec.qos_class.view())};
    if (spec.koordinator_priority)
      labels[std::string(api::kSubPriorityLabel)] = {from, std::to_string(*spec.koordinator_priority)};
    if (!spec.scheduler_name.empty()) scheduler = {from, std::string(spec.scheduler_name.view())};
    if (!spec.priority_class_name.empty())
      priority_class = {from, std::string(spec.priority_class_name.view())};
    if (spec.patch.empty()) return;
    // A patch may change any of it.
    for (ProfileValues* values : {&labels, &annotations})
      for (auto& [key, given] : *values) given.profile = nullptr;
    scheduler.profile = priority_class.profile = nullptr;
  }
};

std::optional<MissedProfile> missed(const ProfileValues& values, const api::SymbolMap& there,
                                    std::string_view what) {
  for (const auto& [key, given] : values)
    if (given.profile != nullptr && api::value_or(there, key) != given.value)
      return MissedProfile{given.profile, fmt::format("{} {}={}", what, key, given.value)};
  return std::nullopt;
}

}  // namespace

std::optional<MissedProfile> missed_profile(const api::Pod& pod,
                                            std::span<const std::shared_ptr<const Profile>> profiles,
                                            const api::SymbolMap& namespace_labels,
                                            const ProfileSince& since) {
  std::vector<const Profile*> matching;
  for (const auto& profile : profiles)
    if (profile->defect().empty() && profile->matches_labels(pod.metadata.labels) &&
        profile->matches_namespace(namespace_labels))
      matching.push_back(profile.get());
  if (matching.empty()) return std::nullopt;
  // The labels with which the pod may have come: without those that one of the profiles gives.
  Wanted all;
  for (const Profile* profile : matching) all.add(*profile, false);
  api::SymbolMap labels_at_creation = pod.metadata.labels;
  for (const auto& [key, given] : all.labels)
    if (api::value_or(labels_at_creation, key) == given.value) labels_at_creation.erase(key);
  Wanted wanted;
  for (const Profile* profile : matching)
    wanted.add(*profile, is_uncertain(*profile, pod, since) || !profile->matches_labels(labels_at_creation));
  if (auto label = missed(wanted.labels, pod.metadata.labels, "label")) return label;
  if (auto annotation = missed(wanted.annotations, pod.metadata.annotations, "annotation")) return annotation;
  for (const auto& [given, there, what] :
       {std::tuple{&wanted.scheduler, pod.spec.scheduler_name.view(), "scheduler"},
        std::tuple{&wanted.priority_class, pod.spec.priority_class_name.view(), "priority class"}})
    if (given->profile != nullptr && there != given->value)
      return MissedProfile{given->profile, fmt::format("{} {}", what, given->value)};
  return std::nullopt;
}

}  // namespace koord::manager
