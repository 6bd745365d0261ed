// What a PodGroup's status becomes, by the pods that it has.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/pod_group.hpp"
#include "koord/base/clock.hpp"

namespace koord::scheduling::coscheduling {

/// The pods of one PodGroup, by name; of each what its status follows from.
class GroupPods {
 public:
  void put(const api::Pod& pod);
  void remove(const std::string& name) { pods_.erase(name); }
  bool empty() const { return pods_.empty(); }
  std::int32_t count() const { return static_cast<std::int32_t>(pods_.size()); }
  std::int32_t bound() const;
  std::int32_t in(std::string_view phase) const;
  /// "namespace/owner", by commas, of the first by name; empty: it has none.
  std::string owners() const;

 private:
  struct Pod {
    bool bound;
    Symbol phase;
    std::string owners;
  };
  std::map<std::string, Pod> pods_;
};

/// The PodGroup with its phase and numbers as they are at `now`; absent: they are as they should be. It is
/// Koordinator's controller: "" becomes Pending, that with enough pods PreScheduling, and so on, all steps at
/// once. Nothing becomes of one that is Finished or Failed, nor of one whose pods may have been collected:
/// all had a node, none runs, and it was tried first more than two days after it was made.
std::optional<api::PodGroup> settled(const api::PodGroup& group, const GroupPods& pods, WallTime now);

}  // namespace koord::scheduling::coscheduling
