// Imbalance: how differently a node's resources are asked for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/plugin.hpp"

namespace koord::descheduler::fragmentation_aware {

/// Of the resources that the node has, in thousandths. The standard deviation of the shares that are asked
/// for, and so in floating point, as the thresholds are.
class Imbalance {
 public:
  Imbalance(const api::Node& node, std::span<const std::string> resources);

  void add(const api::Pod& pod);
  /// 0: all resources are asked for alike.
  double score() const { return score_less({}); }
  /// What it would be without a pod that was added.
  double score_without(const api::Pod& pod) const { return score_less(asked(pod)); }

 private:
  using Amounts = std::vector<std::int64_t>;
  Amounts asked(const api::Pod& pod) const;
  double score_less(const Amounts& less) const;

  std::vector<std::string> resources_;
  Amounts has_, used_;
};

}  // namespace koord::descheduler::fragmentation_aware
