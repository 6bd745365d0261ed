// The pod of a runtime's request, as hooks see pods: made from the request's labels, annotations and
// resources by the same readers as the kubelet's pods, so that a hook answers the same.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/hooks/hook.hpp"
#include "framework/model/inventory.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

struct RequestedPod {
  std::shared_ptr<const PodInfo> pod;
  /// Of pod: the container that the request is about; null: it is about the sandbox.
  const ContainerInfo* container = nullptr;
  /// "ANNOTATION: what", which count as absent.
  std::vector<std::string> warnings;

  /// What hooks are asked about; `request` is the one that this was made from, and outlives the answer, as
  /// this does.
  HookTarget target(const RuntimeRequest& request) const;
};

/// What the request does not say (other containers, what the pod asks the scheduler for beside its
/// annotations) is not known. The group of a container that has no id yet is empty. Code::invalid: its uid
/// cannot be a part of a path.
Result<RequestedPod> read_request(const RuntimeRequest& request, host::CgroupDriver driver,
                                  std::string_view kubelet_root = {}, PodTermsReaders readers = {});

/// Thousandths of a CPU that a quota gives; microseconds. Nothing: no quota, or none that could be.
std::optional<std::int64_t> quota_to_milli(std::int64_t quota, std::int64_t period);

/// The container that the request is about, as one of a pod that is known already. Its limits are what the
/// request says; of one that says no quota, what is known of the container of that name.
ContainerInfo requested_container(const RuntimeRequest& request, const PodInfo& pod,
                                  host::CgroupDriver driver, std::vector<std::string>& warnings);

}  // namespace koord::koordlet
