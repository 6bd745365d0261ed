// Ranking: in which order pods go so that nodes become empty.
#pragma once

#include <string>
#include <vector>

#include "framework/plugin.hpp"
#include "koord/api/values/string_map.hpp"

namespace koord::descheduler::scale_down_bin_pack {

using Weights = api::FlatMap<double>;

/// A node and its pods that have not ended.
struct Ranked {
  const NodeView* node = nullptr;
  std::vector<PodPtr> may_go;  // one at least
  std::vector<PodPtr> others;  // what holds the node all the same
  double score = 0;            // see rank()
};

/// By what others ask for in relation to those that may go, weighted by resource: nodes without others first,
/// those first that fewer pods would have to leave, by name; on a node the largest pod first, then the
/// youngest, by namespace and name. Shares and weights, and so in floating point, added up by resource's
/// name.
void rank(std::vector<Ranked>& nodes, const Weights& weights);

}  // namespace koord::descheduler::scale_down_bin_pack
