// PodChanges: what plugins change of pods before one of them is bound.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "koord/api/values/string_map.hpp"

namespace koord::api {
struct ObjectMeta;
struct Pod;
struct PodSpec;
}  // namespace koord::api

namespace koord::scheduling {

/// What is changed of one pod, in one patch of the object as the API server has it by then.
struct PodPatch {
  /// Values to be set. Of several plugins that set one the last counts.
  api::StringMap labels = {}, annotations = {};
  /// Keys that go, but for those that are set.
  std::vector<std::string> removed_labels = {}, removed_annotations = {};
  /// Each changes the spec, in this order; called again when the patch has to be made anew, on the event
  /// loop's thread. Which changes of a spec it takes is the API server's to say.
  std::vector<std::function<void(api::PodSpec&)>> spec = {};

  bool empty() const {
    return labels.empty() && annotations.empty() && removed_labels.empty() && removed_annotations.empty() &&
           spec.empty();
  }
};

/// Of labels and annotations.
void apply(const PodPatch& patch, api::ObjectMeta& meta);
/// The pod as it is with the change.
api::Pod patched(const api::Pod& pod, const PodPatch& patch);

/// Of the pod that is to be bound, and of others that it concerns (members of its job).
struct PodChanges : PodPatch {
  struct Other {
    std::shared_ptr<const api::Pod> pod;
    PodPatch patch;
  };
  /// Written after the pod's own, one after the other. If one fails, the pod is not bound; what was written
  /// stays. Those that have gone by then are passed over.
  std::vector<Other> others = {};

  bool empty() const { return PodPatch::empty() && others.empty(); }
};

}  // namespace koord::scheduling
