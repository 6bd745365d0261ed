// What the agent needs to know of a pod and of its node, from the API's objects. Annotations and labels are
// other people's: a malformed one is named, and counts as absent for that one object.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/model/inventory.hpp"
#include "koord/api/koordinator/annotation.hpp"

namespace koord::api {
struct Node;
struct Pod;
}  // namespace koord::api

namespace koord::koordlet {

/// Annotations longer than this are not looked at.
using api::kMaxAnnotation;
/// A list of more pods is nobody's kubelet's: some hundreds can run on a node (110 is the default), and of
/// those that have ended Kubernetes keeps 12,500 in a whole cluster.
inline constexpr std::size_t kMaxPods = 16'384;
/// And so many objects, of which a pod has some hundreds: "{}" is two bytes there and may be 150 here.
inline constexpr std::size_t kMaxObjects = 2'000'000;
/// Of one list so many warnings are put into words, of so many bytes each; the others are counted.
inline constexpr std::size_t kMaxWarnings = 100, kMaxWarning = 512;

struct PodReading {
  PodInfo info;
  bool runs = false;   // at least one container runs
  bool ended = false;  // and none of it ever will again
  /// "ANNOTATION: what".
  std::vector<std::string> warnings;
};
/// `readers` are the features', each for its own terms. Code::invalid if the pod's uid cannot be a part of a
/// path.
Result<PodReading> read_pod(std::shared_ptr<const api::Pod> pod, host::CgroupDriver driver,
                            std::string_view kubelet_root = {}, PodTermsReaders readers = {});

struct PodWarning {
  std::shared_ptr<const api::Pod> pod;
  std::string what;
};
struct PodList {
  /// Ascending by uid: those that run, and those that have not ended.
  std::vector<std::shared_ptr<const PodInfo>> pods, all;
  OwnCpus own_cpus;  // of all that have not ended
  std::size_t listed = 0;
  std::vector<PodWarning> warnings;  // the first ones
  std::size_t more_warnings = 0;
};
/// The kubelet's answer to /pods/, pod by pod. Code::invalid if a pod is another node's: then it is not our
/// kubelet that answered, and nothing that it says counts; Code::too_large if there are more than kMaxPods or
/// kMaxObjects, which are read no further. An undecodable pod costs that pod. On any thread.
Result<PodList> read_pod_list(std::string_view json, std::string_view node, host::CgroupDriver driver,
                              std::string_view kubelet_root = {}, PodTermsReaders readers = {});
/// Those of `before`, ascending by uid, that are as they were take the place of their like: whatever else is
/// known of them stays known. The kubelet lists the same pods in another order each time. On any thread.
void keep_unchanged(PodList& list, std::span<const std::shared_ptr<const PodInfo>> before);

/// The node's name, capacity and what is reserved on it; `warnings` as above.
NodeInfo read_node(const api::Node& node, std::vector<std::string>& warnings);

}  // namespace koord::koordlet
