// ClaimBook: see claim_book.hpp.
#include "scheduling/plugins/dynamic_resources/claims/claim_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace koord::scheduling::dynamic_resources {

namespace {

/// What pods that were refused are told when DeviceShare has taken GPUs back (CycleControl::happened()).
constexpr std::string_view kTold = "GpusOfDeviceShare";

std::string key_of(std::string_view ns, std::string_view name) { return fmt::format("{}/{}", ns, name); }
std::string key_of(const api::ResourceClaim& claim) {
  return key_of(claim.metadata.namespace_.view(), claim.metadata.name);
}

/// 0 for what is no version that API servers write.
std::uint64_t version_of(const api::ResourceClaim& claim) {
  const std::string& text = claim.metadata.resource_version;
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

ClaimBook::ClaimBook(const PluginContext& context, DeviceRows& rows, NamingAttributes names)
    : store_(context.objects.watch<api::ResourceClaim>()),
      ledger_(rows.numbers(), rows.features().consumable_capacity,
              [this, &rows](DeviceNumber device, const api::AllocationResult* given) {
                const DeviceId& id = rows.numbers().id(device);
                rows.touched(id);
                if (given != nullptr)
                  common_.given(device, id, *given);
                else
                  common_.given_back(device);
              }),
      common_(
          context.shared.get<CommonDevices>(), std::move(names),
          [this, &rows, cycle = &context.cycle, key = context.key({})](DeviceNumber device, bool withheld) {
            rows.touched(rows.numbers().id(device));
            if (withheld) return ledger_.withhold(device);
            ledger_.allow(device);
            // What a group takes back that is not placed is no news to those that were refused.
            if (!cycle->takes_back()) cycle->happened(key, kTold);
          }),
      cycle_(context.cycle),
      key_(context.key({})) {
  rows.tell(&common_);
  store_.on_change(
      [this](const api::ResourceClaim* before, const api::ResourceClaim* now) { changed(before, now); });
}

ClaimBook::Claim ClaimBook::find(std::string_view ns, std::string_view name) const {
  if (!reserved_.empty())
    if (const auto known = reserved_.find(key_of(ns, name));
        known != reserved_.end() && known->second.written)
      return known->second.claim;
  return store_.find(ns, name);
}

bool ClaimBook::pending(const api::ResourceClaim& claim) const {
  const auto known = reserved_.find(key_of(claim));
  return known != reserved_.end() && !known->second.written &&
         known->second.claim->metadata.uid == claim.metadata.uid;
}

void ClaimBook::reserve(Claim allocated) {
  ledger_.put(*allocated);
  std::string key = key_of(*allocated);
  reserved_.insert_or_assign(std::move(key), Reserved{std::move(allocated)});
}

void ClaimBook::written(const Claim& claim) {
  const auto known = reserved_.find(key_of(*claim));
  if (known == reserved_.end() || known->second.claim->metadata.uid != claim->metadata.uid) return;
  known->second = {claim, true};
  ledger_.put(*claim);
}

bool ClaimBook::give_back(const api::ResourceClaim& claim) {
  const auto known = reserved_.find(key_of(claim));
  if (known == reserved_.end() || known->second.claim->metadata.uid != claim.metadata.uid) return false;
  reserved_.erase(known);
  if (const Claim stored = store_.find(claim.metadata.namespace_.view(), claim.metadata.name))
    ledger_.put(*stored);
  else
    ledger_.remove(claim.metadata.namespace_.view(), claim.metadata.name);
  return true;
}

void ClaimBook::release(const api::ResourceClaim& claim, std::string_view pod_uid) {
  if (!is_released(claim, pod_uid)) released_[claim.metadata.uid].emplace_back(pod_uid);
}

bool ClaimBook::is_released(const api::ResourceClaim& claim, std::string_view pod_uid) const {
  const auto known = released_.find(claim.metadata.uid);
  return known != released_.end() && std::ranges::find(known->second, pod_uid) != known->second.end();
}

void ClaimBook::changed(const api::ResourceClaim* before, const api::ResourceClaim* now) {
  const api::ResourceClaim& claim = now != nullptr ? *now : *before;
  if (const auto released = released_.find(before != nullptr ? before->metadata.uid : std::string());
      released != released_.end()) {
    std::erase_if(released->second, [&](const std::string& pod) {
      return now == nullptr || now->metadata.uid != released->first ||
             std::ranges::find(now->status.reserved_for, pod, &api::ResourceClaimConsumerReference::uid) ==
                 now->status.reserved_for.end();
    });
    if (released->second.empty()) released_.erase(released);
  }
  bool lost = false;
  const auto known = reserved_.find(key_of(claim));
  if (known != reserved_.end()) {
    const Reserved& reserved = known->second;
    const bool it = now != nullptr && now->metadata.uid == reserved.claim->metadata.uid;
    // Older news than what was written says nothing of it.
    const bool old = it && !now->status.allocation &&
                     (!reserved.written || version_of(*now) < version_of(*reserved.claim));
    if (old) return;
    // Of the devices the API server may never have told.
    lost = (!it || !now->status.allocation) && (before == nullptr || !before->status.allocation);
    reserved_.erase(known);
  }
  if (now != nullptr)
    ledger_.put(*now);
  else
    ledger_.remove(claim.metadata.namespace_.view(), claim.metadata.name);
  if (lost) cycle_.happened(key_, "DevicesGivenBack");
}

}  // namespace koord::scheduling::dynamic_resources
