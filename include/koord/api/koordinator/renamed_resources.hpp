// Resources under other names: old ones, and those that a pod's annotation replaces.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::api {

/// A name that a resource had, and the one that it has; `to` empty: it is taken out.
struct RenamedResource {
  std::string_view from, to;
};

/// Whether renaming would change the list.
bool has_any(const ResourceList& list, std::span<const RenamedResource> names);
/// Where both names occur the old one stays, and means nothing to anybody. CPUs become thousandths.
void rename(ResourceList& list, std::span<const RenamedResource> names);
/// The same of all that a pod asks for.
bool has_any(const Pod& pod, std::span<const RenamedResource> names);
void rename(Pod& pod, std::span<const RenamedResource> names);

/// What kReplaceResources says, "a:b,c:": a under the name of b, c taken out. Parts that say nothing of the
/// kind are passed over; those that take out come first, of several for one name the last counts. They refer
/// to `annotation`.
std::vector<RenamedResource> replaced_resources(std::string_view annotation);

}  // namespace koord::api
