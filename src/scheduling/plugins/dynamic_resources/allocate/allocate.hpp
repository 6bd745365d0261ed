// allocate: which devices the claims of a pod get on a node.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/resource_v1/device_class.hpp"
#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "scheduling/plugins/dynamic_resources/allocate/taken.hpp"
#include "scheduling/plugins/dynamic_resources/allocate/verdicts.hpp"
#include "scheduling/plugins/dynamic_resources/pools/features.hpp"
#include "scheduling/plugins/dynamic_resources/pools/pools.hpp"

namespace koord::scheduling::dynamic_resources {

/// Devices that one claim can have.
inline constexpr std::size_t kMostResults = 32;
/// And constraints; the API server sees to it.
inline constexpr std::size_t kMostConstraints = 32;

/// Ends a search that takes too long.
class Budget {
 public:
  virtual ~Budget() = default;
  /// Asked before the first step, and then every 64.
  virtual bool spent() = 0;
};

/// What it refers to outlives the call, and does not change meanwhile.
struct Question {
  const NodePools& pools;
  std::span<const api::ResourceClaim* const> claims;  // that have nothing yet
  const Taken& taken;
  /// nullptr if there is no such class.
  const std::function<const api::DeviceClass*(std::string_view name)>& classes;
  SelectorVerdicts& verdicts;
  Features features;  // those that `pools` were gathered with
  Budget* budget = nullptr;
  /// Names a share: a UUID, another for each call.
  const std::function<std::string()>& share_id;
  /// Only whether there is an answer, for who filters nodes: its results are left out, and share_id not
  /// asked.
  bool only_whether = false;
  /// Not 0: none but devices on these memory nodes (bit i is the one with the number i), and those of which
  /// nobody says where they are.
  std::uint64_t numa_nodes = 0;
};

struct Answer {
  enum class Kind : std::uint8_t {
    found,
    none,         // the node's devices do not suffice
    failed_here,  // nor do they, and a pool is invalid: the message says so if no other node serves
    failed,       // something is wrong with the claims, wherever they are placed: the attempt ends
    spent,        // the budget is
  };
  Kind kind = Kind::none;
  std::string message;                         // of the last three, in kube-scheduler's words
  std::vector<api::AllocationResult> results;  // of `found`: one a claim, in order
  std::uint64_t steps = 0;
};

/// Searches all ways, depth first: claims and requests in order, subrequests in order, devices in the pools'
/// order; the first that satisfies everything. Ways that differ in nothing but the order of one request's
/// devices are one. Follows from the question alone.
Answer allocate(const Question& question);

}  // namespace koord::scheduling::dynamic_resources
