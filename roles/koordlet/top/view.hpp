// What `koord top` prints: the agent's API as a table for people.
#pragma once

#include <string>

#include "framework/serve/view.hpp"
#include "top/cells.hpp"

namespace koord::koordlet {

/// Lines that keep to the page, each ended. Pods are ordered by CPU, the busiest first.
std::string render_top(const NodeView& node, const PodListView& pods, const Page& page);

}  // namespace koord::koordlet
