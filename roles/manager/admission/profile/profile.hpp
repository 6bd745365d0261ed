// ClusterColocationProfiles: whom they are for, and what pods and reservations get of them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/rules/selector.hpp"
#include "koord/api/types/config_v1alpha1/cluster_colocation_profile.hpp"
#include "koord/api/types/scheduling_v1/priority_class.hpp"
#include "koord/base/log.hpp"
#include "koord/base/result.hpp"
#include "koord/json/index.hpp"
#include "koord/json/value.hpp"

namespace koord::manager {

/// Null if there is no such class.
using PriorityClasses = std::function<std::shared_ptr<const api::PriorityClass>(std::string_view name)>;
/// Any number from 0 to 99.
using Dice = std::function<int()>;

/// What a profile is applied to, and how much of it.
struct ProfileTarget {
  enum class Kind : std::uint8_t { pod, reservation };
  Kind kind = Kind::pod;
  /// schedulerName and priorityClassName too: of a pod that exists they cannot be changed any more.
  bool scheduling = true;
};

/// A profile, read once. Immutable.
class Profile {
 public:
  explicit Profile(std::shared_ptr<const api::ClusterColocationProfile> source);

  const std::string& name() const { return source_->metadata.name; }
  const api::ClusterColocationProfile& source() const { return *source_; }
  /// Why it can be applied to nothing: a selector, a probability or a patch that cannot be read. Empty if it
  /// can.
  const std::string& defect() const { return defect_; }
  /// Pods that it matches keep their cpu and memory.
  bool keeps_resources() const;
  bool selects_namespaces() const { return namespaces_.has_value(); }

  bool matches_labels(const json::Members<const json::Value>& labels) const;
  bool matches_labels(const api::SymbolMap& labels) const { return !objects_ || objects_->matches(labels); }
  bool matches_namespace(const api::SymbolMap& labels) const;
  /// Whether the dice leave the object out.
  bool spares(const Dice& dice) const { return percent_ <= 0 || (percent_ < 100 && dice() >= percent_); }

  /// Changes the object, or leaves it as it is: Code::not_found where the priority class is missing,
  /// Code::invalid where the patch does not fit or what comes of it is no pod (reservation) any more. Fields
  /// are applied in upstream's order, keys of maps in the order of their text. The object is one that
  /// check_pod (check_reservation) finds right.
  Result<> apply(json::Value& object, json::Arena& arena, const ProfileTarget& target,
                 const PriorityClasses& classes) const;

 private:
  Result<> patch(json::Value& object, json::Arena& arena, const ProfileTarget& target) const;

  std::shared_ptr<const api::ClusterColocationProfile> source_;
  std::optional<api::Selector> namespaces_, objects_;  // nothing: all
  std::int64_t percent_ = 100;
  json::Document patch_;  // null: none
  std::string defect_;
};

/// All profiles by name, read again when they are others.
class ProfileSet {
 public:
  using Sources = std::vector<std::shared_ptr<const api::ClusterColocationProfile>>;
  /// `told` hears of each profile that has a defect, once for each of its versions.
  using Told = std::function<void(const Profile&)>;

  /// `sources` in any order.
  void set(Sources sources, const Told& told);
  std::span<const std::shared_ptr<const Profile>> profiles() const { return profiles_; }

 private:
  Sources sources_;
  std::vector<std::shared_ptr<const Profile>> profiles_;
};

/// What became of an object's profiles.
struct ProfileOutcome {
  bool matched = false;          // at least one was for it, whatever the dice said
  bool keeps_resources = false;  // one that was for it says so
  struct Failure {
    const Profile* profile;
    std::string why;
  };
  std::vector<Failure> failures;  // these were left out
};

/// Tells the log of profiles that cannot be applied: once for each version of a profile, not for each pod.
class ProfileFailures {
 public:
  void tell(const Logger& log, const Profile& profile, std::string_view why);

 private:
  std::map<std::string, std::string, std::less<>> told_;  // the version last told of, by name
};

/// The labels of the object's namespace, or nullptr if it is not known.
using NamespaceLabels = std::function<const api::SymbolMap*()>;

/// Applies those that are for the object. Errors are those that refuse the object: Code::unavailable where
/// the namespace is needed and not known, Code::not_found where a priority class is missing. Without
/// `namespace_labels` (reservations have none) namespaceSelectors are not looked at.
Result<ProfileOutcome> apply_profiles(std::span<const std::shared_ptr<const Profile>> profiles,
                                      json::Value& object, json::Arena& arena, const ProfileTarget& target,
                                      const NamespaceLabels& namespace_labels, const PriorityClasses& classes,
                                      const Dice& dice);

}  // namespace koord::manager
