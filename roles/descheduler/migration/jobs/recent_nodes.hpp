// RecentNodes: which nodes the pods of a workload have left lately, or have come to.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "koord/base/clock.hpp"

namespace koord::descheduler::migration {

/// So that a workload does not go to and fro between nodes. Workloads are the UIDs of controllers. One
/// thread.
class RecentNodes {
 public:
  /// Of one workload the newest are remembered.
  static constexpr std::size_t kMost = 32;

  /// For so long each is.
  explicit RecentNodes(nanoseconds kept) : kept_(kept) {}

  /// Times need not come in order; "" is no workload and no node.
  void note(std::string_view workload, std::string_view node, WallTime at);
  bool has(std::string_view workload, std::string_view node, WallTime now) const;
  /// By name.
  std::vector<std::string> of(std::string_view workload, WallTime now) const;
  void forget_before(WallTime now);

 private:
  struct Noted {
    std::string node;
    WallTime at;
  };
  nanoseconds kept_;
  std::unordered_map<std::string, std::vector<Noted>> noted_;
};

}  // namespace koord::descheduler::migration
