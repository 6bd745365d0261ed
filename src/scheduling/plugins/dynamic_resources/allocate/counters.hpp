// Counters: what is left of what the devices of a pool share.
#pragma once

#include <cstdint>
#include <vector>

#include "koord/api/values/quantity.hpp"
#include "scheduling/plugins/dynamic_resources/allocate/taken.hpp"
#include "scheduling/plugins/dynamic_resources/pools/pools.hpp"

namespace koord::scheduling::dynamic_resources {

/// Of the pools of a node. A pool is reckoned when it is first asked for.
class Counters {
 public:
  /// Both outlive it.
  Counters(const NodePools& pools, const Taken& taken) : pools_(pools), taken_(taken) {}

  /// Takes what the device uses; false, and nothing is taken, if there is not enough, or if less than nothing
  /// is left of any counter of its pool.
  bool take(const NodePools::Device& device);
  /// What take() took.
  void give_back(const NodePools::Device& device);

 private:
  void reckon(std::uint32_t pool);
  void subtract(const NodePools::Uses& uses);

  const NodePools& pools_;
  const Taken& taken_;
  struct OfPool {
    bool reckoned = false;
    bool overdrawn = false;  // by devices that are taken
  };
  std::vector<OfPool> of_pool_;
  std::vector<api::Quantity> left_;
};

}  // namespace koord::scheduling::dynamic_resources
