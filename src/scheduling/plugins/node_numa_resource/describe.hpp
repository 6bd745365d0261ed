// What is known of a node's CPUs and memory nodes and of who has them, as JSON for people.
#pragma once

#include <string>
#include <string_view>

#include "scheduling/plugins/node_numa_resource/numa_nodes.hpp"

namespace koord::scheduling::node_numa_resource {

/// Of a node with CPUs: Koordinator's members, in its words.
std::string describe(const NumaNodes::OfRow& of, std::string_view node);

}  // namespace koord::scheduling::node_numa_resource
