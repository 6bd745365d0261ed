// ClaimBoard: see claim_board.hpp.
#include "scheduling/plugins/dynamic_resources/write/claim_board.hpp"

#include <utility>

namespace koord::scheduling::dynamic_resources {

void ClaimBoard::put(ClaimChange change) {
  const std::scoped_lock lock(mutex_);
  if (!told_ || changes_.size() >= kMost) return;
  ++busy_[change.claim->metadata.uid];
  changes_.push_back(std::move(change));
  told_();
}

std::vector<ClaimChange> ClaimBoard::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(changes_, {});
}

void ClaimBoard::done(const api::ResourceClaim& claim) {
  const std::scoped_lock lock(mutex_);
  const auto known = busy_.find(claim.metadata.uid);
  if (known != busy_.end() && --known->second == 0) busy_.erase(known);
}

bool ClaimBoard::is_busy(const api::ResourceClaim& claim) {
  const std::scoped_lock lock(mutex_);
  return busy_.contains(claim.metadata.uid);
}

void ClaimBoard::call(std::function<void()> told) {
  const std::scoped_lock lock(mutex_);
  changes_.clear();
  busy_.clear();
  told_ = std::move(told);
}

}  // namespace koord::scheduling::dynamic_resources
