// What a pod says of its disks (koordinator.sh/blkioQOS).
#pragma once

#include <string>
#include <vector>

#include "framework/model/claim_volumes.hpp"
#include "framework/model/pod_terms.hpp"
#include "koord/api/koordinator/pod_io.hpp"

namespace koord::koordlet {

struct Inventory;

/// Limits of what a block names, and where that is found.
struct PodBlock {
  api::BlockConfig said;
  /// Of a volume of the pod: the claim that it is of, else what the kubelet calls it. Both empty: the pod has
  /// no such volume, or it is of no kind that is on a disk of its own.
  std::string claim, volume;
};
struct PodBlocks {
  std::vector<PodBlock> blocks;
};

/// Puts PodBlocks among the terms.
void read_block_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& warnings);

/// Claims whose volumes the limits of pods are for.
ClaimKeys claims_of(const Inventory& inventory);

}  // namespace koord::koordlet
