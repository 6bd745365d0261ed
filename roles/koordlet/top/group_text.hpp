// Groups of pods as tables: quotas, and what pods name and is not there.
#pragma once

#include <cstddef>

#include "koord/api/figures/cluster_view.hpp"
#include "top/table.hpp"

namespace koord::koordlet {

/// At most `most` of them; nothing where there is none.
void add_quotas(Lines& out, const figures::ClusterView& view, std::size_t most);
/// A line for each kind: "named by pods that wait, but not there: gang d/x (3 pods)".
void add_missing(Lines& out, const figures::ClusterView& view);

}  // namespace koord::koordlet
