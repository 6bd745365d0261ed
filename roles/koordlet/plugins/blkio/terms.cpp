// koordinator.sh/blkioQOS: see terms.hpp.
#include "plugins/blkio/terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "framework/model/inventory.hpp"
#include "framework/objects/annotations.hpp"
#include "koord/api/types/core_v1/volume.hpp"
#include "plugins/blkio/limits.hpp"

namespace koord::koordlet {
namespace {

void find_volume(const api::Pod& pod, PodBlock& block) {
  const auto& volumes = pod.spec.volumes;
  const auto it = std::find_if(volumes.begin(), volumes.end(),
                               [&](const auto& volume) { return volume.name.view() == block.said.name; });
  if (it == volumes.end()) return;
  if (it->persistent_volume_claim)
    block.claim = it->persistent_volume_claim->claim_name;
  else if (it->ephemeral)
    block.claim = fmt::format("{}-{}", pod.metadata.name, it->name.view());
  else if (it->csi)
    block.volume = it->name.view();
}

}  // namespace

void read_block_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& warnings) {
  auto said = read<api::PodBlkioQos>(pod.metadata, warnings);
  if (!said) return;
  auto blocks = std::make_shared<PodBlocks>();
  for (std::size_t i = 0; i < said->blocks.size(); ++i) {
    PodBlock& block = blocks->blocks.emplace_back();
    block.said = std::move(said->blocks[i]);
    for (const std::string& wrong : blkio::drop_nonsense(block.said.io_cfg))
      warnings.push_back(fmt::format("{}: .blocks[{}].ioCfg{}", api::PodBlkioQos::kAnnotation, i, wrong));
    for (const std::string& left : blkio::drop_latencies(block.said.io_cfg))
      warnings.push_back(fmt::format("{}: .blocks[{}].ioCfg{}", api::PodBlkioQos::kAnnotation, i, left));
    if (block.said.type == blkio::kPodVolume) find_volume(pod, block);
  }
  terms.put(std::shared_ptr<const PodBlocks>(std::move(blocks)));
}

ClaimKeys claims_of(const Inventory& inventory) {
  ClaimKeys claims;
  for (const auto& pod : inventory.pods)
    if (const PodBlocks* const blocks = pod->terms.find<PodBlocks>())
      for (const PodBlock& block : blocks->blocks)
        if (!block.claim.empty()) claims.emplace(pod->ns, block.claim);
  return claims;
}

}  // namespace koord::koordlet
