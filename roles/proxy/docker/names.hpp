// How a kubelet with docker behind it names things: containers, annotations among labels, slices of systemd.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "koord/rpc/hooks.hpp"

namespace koord::proxy::docker {

inline constexpr std::string_view kTypeLabel = "io.kubernetes.docker.type";  // kSandbox or "container"
inline constexpr std::string_view kSandbox = "podsandbox";
inline constexpr std::string_view kSandboxIdLabel = "io.kubernetes.sandbox.id";

/// Whose a container is.
struct Identity {
  std::string container;    // "POD" of a sandbox
  rpc::hooks::PodMeta pod;  // without an attempt, which hooks are not told
  std::uint32_t attempt = 0;
  friend bool operator==(const Identity&, const Identity&) = default;
};

/// Of "k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT", with a slash before it or without. A kubelet that found the
/// name taken adds a seventh part.
std::optional<Identity> identity_of_name(std::string_view name);
/// By the labels that a kubelet sets beside.
std::optional<Identity> identity_of_labels(const rpc::hooks::Map& labels);

/// Labels as docker has them; those of pods and containers begin with "annotation." where they are
/// annotations.
struct Split {
  rpc::hooks::Map labels, annotations;
};
Split split_labels(const rpc::hooks::Map& all);
std::string label_of_annotation(std::string_view name);

/// Docker with systemd takes a slice's own name as a cgroup parent ("kubepods-besteffort.slice"), where hooks
/// see its path ("/kubepods.slice/kubepods-besteffort.slice"). With cgroupfs both are the same. What is no
/// slice's name, or has a path already, stays as it is.
std::string path_of_parent(bool systemd, std::string_view parent);
std::string parent_of_path(bool systemd, std::string_view path);

/// The variable and its value; of a text without '=' nothing.
std::optional<std::pair<std::string_view, std::string_view>> split_variable(std::string_view text);
/// By name, each once: the last one counts.
rpc::hooks::Map sorted(rpc::hooks::Map pairs);

}  // namespace koord::proxy::docker
