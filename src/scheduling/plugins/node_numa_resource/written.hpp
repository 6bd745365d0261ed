// What is written into a pod with its binding: what it was given, and how its CPUs were bound.
#pragma once

#include <string>

#include "scheduling/plugins/node_numa_resource/room.hpp"

namespace koord::scheduling::node_numa_resource {

/// The text of api::ResourceStatus; amounts in the form in which the pod asks for them.
std::string status_text(const api::Pod& pod, const Given& given);
/// The text of api::ResourceSpec with the policy that counted, where the pod leaves it open; empty: it says
/// all.
std::string spec_text(const api::Pod& pod, const Room::Binding& binding);

}  // namespace koord::scheduling::node_numa_resource
