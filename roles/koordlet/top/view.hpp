// What `koord top` prints: the agent's API as a table for people.
#pragma once

#include <cstddef>
#include <string>

#include "framework/serve/view.hpp"

namespace koord::koordlet {

/// Lines of at most `width` columns (at least 80), each ended. Pods are ordered by CPU, the busiest first;
/// what does not fit into `height` lines is counted (0: everything is shown).
std::string render_top(const NodeView& node, const PodListView& pods, std::size_t width, std::size_t height);

}  // namespace koord::koordlet
