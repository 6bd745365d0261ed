// DynamicResources from Reserve on: what claims get, is given back, and written before the binding.
#include <algorithm>
#include <utility>

#include "koord/api/types/core_v1/pod.hpp"
#include "scheduling/plugins/dynamic_resources/claims/pod_claims.hpp"
#include "scheduling/plugins/dynamic_resources/dynamic_resources.hpp"

namespace koord::scheduling::dynamic_resources {

/// Within the memory nodes that the pod is bound to. Best effort binds it also where they cannot be had
/// there.
Answer DynamicResources::ask_near(const Asking& asking, const NodePools& pools, NumaMask nodes) const {
  const MonoTime until = context_.clock.mono() + rules_.filter_timeout;
  Answer answer;
  if (nodes != 0) answer = ask(asking, pools, until, false, nodes);
  return answer.kind == Answer::Kind::found ? answer : ask(asking, pools, until, false);
}

Status DynamicResources::reserve(PodAttempt& attempt) {
  *tried_ = nullptr;
  auto* state = static_cast<ClaimState*>(attempt.kept(context_.index));
  if (state == nullptr) return {};
  VerdictId refused = kPass;
  const Asking* const asking = asking_on(*state, attempt.row, refused);
  if (asking != nullptr && asking->claims.empty()) return {};
  const Result<NodePools>& pools = cluster_.rows.pools(attempt.row);
  dynamic_resources::Answer answer;
  if (asking != nullptr && pools) answer = ask_near(*asking, *pools, bound_to(*state, *asking, attempt));
  if (answer.kind != dynamic_resources::Answer::Kind::found)
    return {StatusCode::error, "claim allocation not found for node"};
  const auto give = [&](api::ResourceClaim to, std::size_t i) {
    auto allocation = std::make_shared<const api::AllocationResult>(std::move(answer.results[i]));
    auto claim = std::make_shared<api::ResourceClaim>(std::move(to));
    auto& finalizers = claim->metadata.finalizers;
    if (std::ranges::find(finalizers, Symbol(kDeleteProtection)) == finalizers.end())
      finalizers.push_back(kDeleteProtection);
    claim->status.allocation.ensure() = *allocation;
    state->allocations.push_back(std::move(allocation));
    cluster_.book.reserve(claim);
    return claim;
  };
  for (std::size_t i = 0; i < state->wanting.size(); ++i) give(*state->claims[state->wanting[i]], i);
  if (asking == &state->asking) return {};
  state->special = special_of(*state, *asking);
  state->special_reserved = give(to_reserve(*state->special->claim), state->wanting.size());
  return {};
}

const SpecialClaim* DynamicResources::special_of(const ClaimState& state, const Asking& asking) {
  for (const auto& [set, special] : state.extended->by_set)
    if (&special.asking == &asking) return &special;
  return nullptr;
}

void DynamicResources::unreserve(PodAttempt& attempt) {
  const auto* state = static_cast<const ClaimState*>(attempt.kept(context_.index));
  if (state == nullptr) return;
  const api::Pod& pod = *attempt.pod.pod;
  bool given_back = false;
  for (std::size_t i = 0; i < state->claims.size(); ++i) {
    const ClaimState::Claim written = state->written->find(i);
    const ClaimState::Claim& claim = written != nullptr ? written : state->claims[i];
    const bool reserved = i < state->claims.size() &&
                          std::ranges::find(state->wanting, i) != state->wanting.end() &&
                          !state->allocations.empty();
    if (reserved && written != nullptr)
      cluster_.book.written(written);
    else if (reserved)
      given_back = cluster_.book.give_back(*claim) || given_back;
    if (!claim->status.allocation || !is_reserved_for(pod, *claim)) continue;
    cluster_.book.release(*claim, pod.metadata.uid);
    cluster_.board->put({claim, pod.metadata.uid});
  }
  if (state->special != nullptr) {
    if (const ClaimState::Claim created = state->written->find(state->claims.size()))
      cluster_.extended->remove(state->special_reserved, created);
    else
      given_back = cluster_.book.give_back(*state->special_reserved) || given_back;
  }
  if (given_back && !context_.cycle.takes_back())
    context_.cycle.happened(context_.key({}), "DevicesGivenBack");
}

std::shared_ptr<PreBindWork> DynamicResources::pre_bind(PodAttempt& attempt) {
  const auto* state = static_cast<const ClaimState*>(attempt.kept(context_.index));
  if (state == nullptr) return nullptr;
  const api::Pod& pod = *attempt.pod.pod;
  std::vector<ClaimWork::Item> items;
  for (const ClaimState::Claim& claim : state->claims) {
    ClaimWork::Item& item = items.emplace_back();
    item.claim = claim;
    item.doubtful = cluster_.book.is_released(*claim, pod.metadata.uid);
    item.kept = !item.doubtful && is_reserved_for(pod, *claim);
  }
  for (std::size_t i = 0; i < state->wanting.size() && i < state->allocations.size(); ++i)
    items[state->wanting[i]].allocation = state->allocations[i];
  if (state->special != nullptr) {
    ClaimWork::Item& item = items.emplace_back();
    item.claim = state->special->claim;
    item.allocation = state->allocations.back();
    item.mappings = state->special->mappings;
    item.is_new = true;
  }
  if (items.empty()) return nullptr;
  return std::make_shared<ClaimWork>(std::move(items),
                                     ClaimWork::Rules{features_.binding_conditions, rules_.binding_timeout},
                                     cluster_.board, state->written);
}

void DynamicResources::post_bind(PodAttempt& attempt) {
  const auto* state = static_cast<const ClaimState*>(attempt.kept(context_.index));
  if (state == nullptr) return;
  for (std::size_t i = 0; i < state->claims.size(); ++i)
    if (const ClaimState::Claim written = state->written->find(i)) cluster_.book.written(written);
  if (state->special == nullptr) return;
  if (const ClaimState::Claim created = state->written->find(state->claims.size()))
    cluster_.extended->settle(state->special_reserved, created);
}

}  // namespace koord::scheduling::dynamic_resources
