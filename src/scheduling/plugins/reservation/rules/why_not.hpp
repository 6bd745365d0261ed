// Why the reservations that are for a pod did not serve it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "scheduling/plugins/reservation/rules/wants.hpp"

namespace koord::scheduling::reservation {

/// Counts what the pod's own reservations said, one after the other.
class WhyNot {
 public:
  /// `node_reasons`: why its node was refused, asked of those that would have served.
  void count(Match match, const api::Taint* taint,
             const std::function<std::vector<std::string>()>& node_reasons);
  /// In Koordinator's words and order; nothing: there were none. `always`: then the sum is told all the same.
  std::vector<std::string> reasons(bool always) const;

 private:
  std::uint32_t owned_ = 0, named_ = 0, other_name_ = 0, affinity_ = 0, closed_ = 0, not_exact_ = 0;
  std::map<std::string, std::uint32_t> tainted_, of_node_;
};

}  // namespace koord::scheduling::reservation
