// Where Kubernetes puts its cgroups: QoS classes, pods and containers, for both drivers and four runtimes.
#pragma once

#include <string>
#include <string_view>

#include "koord/api/rules/kube_qos.hpp"
#include "koord/base/result.hpp"

namespace koord::host {

enum class CgroupDriver { systemd, cgroupfs };
using api::KubeQos;
enum class ContainerRuntime { docker, containerd, pouch, crio };

/// All paths are relative to a hierarchy's root, without a slash at either end.

/// kubepods[.slice] and its classes. Guaranteed pods live in the root itself. `root` is the kubelet's
/// cgroupRoot, as kubelet_root() gives it.
std::string kubepods_folder(CgroupDriver driver, KubeQos qos, std::string_view root = {});
/// The folder of a pod. `uid` is the pod's, or for static pods the hash that the kubelet uses.
std::string pod_folder(CgroupDriver driver, KubeQos qos, std::string_view uid, std::string_view root = {});
/// A kubelet's cgroupRoot ("/kubelet") without slashes at either end; "" is the hierarchy's root.
/// Code::invalid if a part of it is no plain name.
Result<std::string> kubelet_root(std::string_view text);

struct ContainerId {
  ContainerRuntime runtime = ContainerRuntime::containerd;
  std::string id;
};
/// A container status' containerID, "containerd://5e2f...". Code::invalid for an unknown runtime, an empty id
/// or one that is no plain name (it becomes part of a path).
Result<ContainerId> parse_container_id(std::string_view text);
/// The name of the container's folder below its pod's.
std::string container_folder(CgroupDriver driver, const ContainerId& container);
/// The other way: the id in the name of a folder below a pod's; empty if it is no container's.
std::string_view container_id_of_folder(CgroupDriver driver, std::string_view folder);

/// Whether `group` lies below `of`; "" is the hierarchy's root. A name that only begins alike is beside it.
bool is_below(std::string_view group, std::string_view of);
/// The same, or it is `of` itself.
bool is_within(std::string_view group, std::string_view of);

/// The class that a path's text shows: besteffort, burstable, else guaranteed.
KubeQos qos_of_path(std::string_view path);

}  // namespace koord::host
