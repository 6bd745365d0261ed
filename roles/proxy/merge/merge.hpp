// What hooks say, laid over what they were asked with; and what of it is new, which alone changes a request.
#pragma once

#include "koord/rpc/cri.hpp"
#include "koord/rpc/hooks.hpp"

namespace koord::proxy {

namespace hooks = rpc::hooks;

/// `said` wins; nothing is removed.
void merge_map(hooks::Map& into, const hooks::Map& said);

/// By a hook's answer. What is 0 or empty was not said; an OOM score that no process can have (beyond -1000
/// and 1000) is not taken.
void merge_resources(hooks::Resources& into, const hooks::Resources& said);
/// By an UpdateContainerResources of the kubelet's: the same, but the OOM score stays.
void merge_update(hooks::Resources& into, const hooks::Resources& said);

/// Labels, annotations and the cgroup parent; resources where the request has some: those of a CRI's
/// sandboxes are the agent's, not the runtime's.
void merge(hooks::PodRequest& into, const hooks::PodResponse& said);
/// An environment that is not empty takes the place of the old one, the rest is laid over it.
void merge(hooks::ContainerRequest& into, const hooks::ContainerResponse& said);

/// What of `now` is not in `before` already.
rpc::cri::ResourceChange difference(const std::optional<hooks::Resources>& before,
                                    const std::optional<hooks::Resources>& now);
rpc::cri::PodChange difference(const hooks::PodRequest& before, const hooks::PodRequest& now);
rpc::cri::ContainerChange difference(const hooks::ContainerRequest& before,
                                     const hooks::ContainerRequest& now);

/// Whether the labels have the pair.
bool has(const hooks::Map& labels, std::string_view key, std::string_view value);

}  // namespace koord::proxy
