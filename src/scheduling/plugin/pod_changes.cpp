// PodChanges: see pod_changes.hpp.
#include "koord/scheduling/plugin/pod_changes.hpp"

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduling {

void apply(const PodPatch& patch, api::ObjectMeta& meta) {
  for (const std::string& key : patch.removed_labels) meta.labels.erase(key);
  for (const std::string& key : patch.removed_annotations) meta.annotations.erase(key);
  for (const auto& [key, value] : patch.labels) meta.labels[key] = value;
  for (const auto& [key, value] : patch.annotations) meta.annotations[key] = value;
}

api::Pod patched(const api::Pod& pod, const PodPatch& patch) {
  api::Pod after = pod;
  apply(patch, after.metadata);
  for (const auto& change : patch.spec) change(after.spec);
  return after;
}

}  // namespace koord::scheduling
