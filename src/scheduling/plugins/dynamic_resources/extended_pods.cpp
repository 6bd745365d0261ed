// ExtendedPods: see extended_pods.hpp.
#include "scheduling/plugins/dynamic_resources/extended_pods.hpp"

#include <algorithm>
#include <utility>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"

namespace koord::scheduling::dynamic_resources {

ExtendedPods::ExtendedPods(const PluginContext& context, const ExtendedResources& resources, ClaimBook& book,
                           std::shared_ptr<ClaimBoard> board)
    : nodes_(context.nodes),
      resources_(resources),
      book_(book),
      cycle_(context.cycle),
      key_(context.key({})),
      board_(std::move(board)) {
  book_.store().on_change([this](const api::ResourceClaim* before, const api::ResourceClaim* now) {
    claims_.changed(before, now);
    if (now == nullptr)
      forget_gone(before->metadata.uid);
    else if (now->status.allocation)
      told(*now);
  });
}

/// It counts by its own name: the one that it was reserved under gives its devices back.
void ExtendedPods::told(const api::ResourceClaim& claim) {
  if (api::value_or(claim.metadata.annotations, kSpecialAnnotation) != "true") return;
  for (const api::OwnerReference& owner : claim.metadata.owner_references) {
    api::ResourceClaim reserved;
    reserved.metadata.namespace_ = claim.metadata.namespace_;
    reserved.metadata.uid = owner.uid.str();
    book_.give_back(to_reserve(reserved));
  }
}

std::unique_ptr<ExtendedAsks> ExtendedPods::read(const PodInfo& pod) {
  std::vector<ExtendedAsks::Resource> resources;
  bool backed = false;
  for (const Amount& asked : pod.requests.scalars) {
    const std::string_view name = nodes_.resources().name(asked.resource);
    if (asked.amount == 0 || (!is_extended_resource(name) && !name.starts_with(ExtendedResources::kOfClass)))
      continue;
    const api::DeviceClass* const device_class = resources_.class_of(name);
    backed = backed || device_class != nullptr;
    resources.push_back(
        {asked.resource,
         {Symbol(name), device_class != nullptr ? Symbol(device_class->metadata.name) : Symbol()}});
  }
  if (!backed) return nullptr;
  forget_gone();
  auto asks = std::make_unique<ExtendedAsks>();
  asks->resources = std::move(resources);
  const api::Pod& of = *pod.pod;
  asks->keeps_room = is_placeholder(of);
  if (const std::string_view name = claims_.of(of); !name.empty())
    asks->left = book_.store().find(of.metadata.namespace_.view(), name);
  for (const Going& each : going_)
    if (asks->left == nullptr && each.reserved->metadata.uid == of.metadata.uid) asks->left = each.created;
  return asks;
}

std::optional<ExtendedAsks::Set> ExtendedPods::on_row(const ExtendedAsks& asks, Row row) const {
  ExtendedAsks::Set set = 0;
  for (std::size_t i = 0; i < asks.resources.size(); ++i) {
    const ExtendedAsks::Resource& each = asks.resources[i];
    const bool backed = !each.backed.device_class.empty();
    if (backed && nodes_.allocatable(each.id, row) == 0) {
      // No claim has so many requests.
      if (i >= ExtendedAsks::kMost || asks.keeps_room) return {};
      set |= ExtendedAsks::Set{1} << i;
    } else if (!nodes_.node(row)->status.allocatable.contains(each.backed.resource.view())) {
      return {};
    }
  }
  return set;
}

const SpecialClaim& ExtendedPods::claim_of(ExtendedAsks& asks, ExtendedAsks::Set set, const api::Pod& pod,
                                           const std::vector<const api::ResourceClaim*>& own,
                                           AskClasses& classes) const {
  const auto [known, added] = asks.by_set.try_emplace(set);
  SpecialClaim& special = known->second;
  if (!added) return special;
  std::vector<BackedResource> resources;
  for (std::size_t i = 0; i < asks.resources.size(); ++i)
    if (i < ExtendedAsks::kMost && (set >> i & 1) != 0) resources.push_back(asks.resources[i].backed);
  DeviceAsks devices = device_asks(pod, std::move(resources));
  special.mappings = std::move(devices.mappings);
  special.claim = std::make_shared<const api::ResourceClaim>(special_claim(pod, std::move(devices.requests)));
  special.asking.claims = own;
  special.asking.claims.push_back(special.claim.get());
  special.asking.asks = classes.of(special.asking.claims);
  return special;
}

void ExtendedPods::remove(const Claim& reserved, const Claim& created) {
  board_->put({created, {}, true});
  going_.push_back({reserved, created});
}

void ExtendedPods::settle(const Claim& reserved, const Claim& created) {
  // The API server may have told of it already, and of its end.
  if (!book_.pending(*reserved)) return;
  book_.reserve(created);
  book_.written(created);
  book_.give_back(*reserved);
}

/// Of what is deleted, or cannot be, the API server tells, and what it tells counts.
void ExtendedPods::forget_gone(std::string_view uid) {
  bool given_back = false;
  std::erase_if(going_, [&](const Going& each) {
    if (each.created->metadata.uid != uid && board_->is_busy(*each.created)) return false;
    given_back = book_.give_back(*each.reserved) || given_back;
    return true;
  });
  if (given_back) cycle_.happened(key_, "DevicesGivenBack");
}

}  // namespace koord::scheduling::dynamic_resources
