// ClaimWork: see claim_work.hpp.
#include "scheduling/plugins/dynamic_resources/write/claim_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/async/timer.hpp"
#include "koord/kube/client.hpp"
#include "scheduling/plugins/dynamic_resources/claims/pod_claims.hpp"
#include "scheduling/plugins/dynamic_resources/claims/readiness.hpp"
#include "scheduling/plugins/dynamic_resources/extended/special_claim.hpp"

namespace koord::scheduling::dynamic_resources {

namespace {

std::string place_of(const api::ResourceClaim& claim) {
  return fmt::format("{}/{}", claim.metadata.namespace_.view(), claim.metadata.name);
}

kube::ObjectKey key_of(const api::ResourceClaim& claim) {
  return {claim.metadata.namespace_.str(), claim.metadata.name};
}

/// Whether it may have been done all the same.
bool unknown_outcome(Code code) {
  return code == Code::timeout || code == Code::unavailable || code == Code::server_error;
}

template <class... Args>
Error refused(fmt::format_string<Args...> text, Args&&... args) {
  return Error(Code::invalid, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace

void WrittenClaims::put(std::size_t index, Claim claim) {
  const std::scoped_lock lock(mutex_);
  if (index >= claims_.size()) claims_.resize(index + 1);
  claims_[index] = std::move(claim);
}

WrittenClaims::Claim WrittenClaims::find(std::size_t index) const {
  const std::scoped_lock lock(mutex_);
  return index < claims_.size() ? claims_[index] : nullptr;
}

Task<Status> ClaimWork::run(const Context& context) {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].kept) continue;
    Result<> bound;
    if (items_[i].is_new) {
      Task<Result<>> creating = create(context, i);
      bound = co_await std::move(creating);
    }
    if (bound) {
      Task<Result<>> binding = bind(context, i);
      bound = co_await std::move(binding);
    }
    if (bound && items_[i].is_new) {
      Task<Result<>> mapping = map(context, i);
      bound = co_await std::move(mapping);
    }
    if (!bound) co_return Status{StatusCode::error, bound.error().message()};
  }
  if (!rules_.binding_conditions || !waits()) co_return Status{};
  Task<Status> waiting = wait_until_ready(context);
  co_return co_await std::move(waiting);
}

/// Once: nobody knows whether a claim without a name was created whose answer was lost. The next attempt
/// finds it then, and has it deleted.
Task<Result<>> ClaimWork::create(const Context& context, std::size_t index) {
  Item& item = items_[index];
  if (!context.may_write()) co_return Error(Code::unavailable, "another scheduler may hold the lease");
  auto created = co_await context.client.create(to_create(*item.claim));
  if (!created)
    co_return Error(created.error().code(),
                    fmt::format("create claim for extended resources {}/: {}",
                                item.claim->metadata.namespace_.view(), created.error().message()));
  item.claim = std::make_shared<const api::ResourceClaim>(std::move(*created));
  // From here on who fails deletes it.
  written_->put(index, item.claim);
  co_return Result<>();
}

Task<Result<>> ClaimWork::map(const Context& context, std::size_t index) const {
  const Item& item = items_[index];
  const api::ObjectMeta& pod = context.pod->metadata;
  const auto patched = co_await context.client.patch_raw(
      api::kind<api::Pod>(), {pod.namespace_.str(), pod.name},
      mapping_patch(item.claim->metadata.name, item.mappings),
      {.type = api::PatchType::strategic, .subresource = "status", .may_go = context.may_write});
  if (patched) co_return Result<>();
  co_return Error(patched.error().code(),
                  fmt::format("update pod {}/{} ExtendedResourceClaimStatus: {}", pod.namespace_.view(),
                              pod.name, patched.error().message()));
}

Task<Result<>> ClaimWork::bind(const Context& context, std::size_t index) {
  const Item& item = items_[index];
  api::ResourceClaim claim = *item.claim;
  bool fresh = !item.doubtful;
  if (item.doubtful) {
    Task<Result<>> released = wait_until_released(context, claim);
    KOORD_CO_CHECK(co_await std::move(released));
  }
  for (int n = 1;; ++n) {
    if (!std::exchange(fresh, false)) {
      Task<Result<>> refreshing = refresh(context, claim);
      KOORD_CO_CHECK(co_await std::move(refreshing));
    }
    // It was done: only the answer was lost.
    const bool done =
        is_reserved_for(*context.pod, claim) && claim.status.allocation &&
        (item.allocation == nullptr || claim.status.allocation->devices == item.allocation->devices);
    Result<> written;
    if (!done) {
      Task<Result<>> writing = write(context, item, claim);
      written = co_await std::move(writing);
    }
    if (written) {
      written_->put(index, std::make_shared<const api::ResourceClaim>(std::move(claim)));
      co_return Result<>();
    }
    const Code code = written.error().code();
    if (n == kTries || (code != Code::conflict && !unknown_outcome(code))) co_return written;
    KOORD_CO_CHECK(co_await sleep(context.clock, kPause));
  }
}

/// In this version of the claim; it becomes what the API server answers.
Task<Result<>> ClaimWork::write(const Context& context, const Item& item, api::ResourceClaim& claim) const {
  const std::string place = place_of(claim);
  if (claim.metadata.deletion_timestamp || claim.metadata.uid != item.claim->metadata.uid)
    co_return refused("claim {} got deleted in the meantime", place);
  if (item.allocation != nullptr) {
    if (claim.status.allocation) co_return refused("claim {} got allocated elsewhere in the meantime", place);
    auto& finalizers = claim.metadata.finalizers;
    // Only a plain update writes it; who was interrupted after that goes on from there.
    if (std::ranges::find(finalizers, Symbol(kDeleteProtection)) == finalizers.end()) {
      finalizers.push_back(kDeleteProtection);
      Task<Result<>> adding = put(context, claim, {});
      const Result<> added = co_await std::move(adding);
      if (!added)
        co_return Error(added.error().code(),
                        fmt::format("add finalizer to claim {}: {}", place, added.error().message()));
    }
    claim.status.allocation.ensure() = *item.allocation;
  }
  if (!claim.status.allocation) co_return refused("claim {} lost its allocation in the meantime", place);
  api::ResourceClaimConsumerReference& pod = claim.status.reserved_for.emplace_back();
  pod.resource = "pods";
  pod.name = context.pod->metadata.name;
  pod.uid = context.pod->metadata.uid;
  if (rules_.binding_conditions && !claim.status.allocation->allocation_timestamp)
    claim.status.allocation->allocation_timestamp = api::Time(context.clock.now());
  Task<Result<>> adding = put(context, claim, "status");
  const Result<> added = co_await std::move(adding);
  if (added) co_return added;
  co_return Error(added.error().code(), fmt::format("add {}reservation to claim {}: {}",
                                                    item.allocation != nullptr ? "allocation and " : "",
                                                    place, added.error().message()));
}

Task<Result<>> ClaimWork::put(const Context& context, api::ResourceClaim& claim,
                              std::string_view subresource) const {
  if (!context.may_write()) co_return Error(Code::unavailable, "another scheduler may hold the lease");
  KOORD_CO_TRY(answer, co_await context.client.update_raw(api::kind<api::ResourceClaim>(), key_of(claim),
                                                          api::encode(claim), subresource));
  KOORD_CO_TRY(now, api::decode<api::ResourceClaim>(answer));
  claim = std::move(now);
  co_return Result<>();
}

Task<Result<>> ClaimWork::refresh(const Context& context, api::ResourceClaim& claim) const {
  auto now = co_await context.client.get<api::ResourceClaim>(key_of(claim));
  if (!now)
    co_return Error(now.error().code(), fmt::format("get updated claim {} after conflict: {}",
                                                    place_of(claim), now.error().message()));
  claim = std::move(*now);
  co_return Result<>();
}

/// An attempt before this one failed, and the pod is still being taken out of the claim.
Task<Result<>> ClaimWork::wait_until_released(const Context& context, const api::ResourceClaim& claim) const {
  const MonoTime end = context.clock.mono() + kLongestRelease;
  while (board_->is_busy(claim)) {
    if (context.clock.mono() >= end)
      co_return refused("claim {} is still being released by the attempt before", place_of(claim));
    KOORD_CO_CHECK(co_await sleep(context.clock, kPause));
  }
  co_return Result<>();
}

bool ClaimWork::waits() const {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const WrittenClaims::Claim written = written_->find(i);
    if (has_binding_conditions(written != nullptr ? *written : *items_[i].claim)) return true;
  }
  return false;
}

Task<Status> ClaimWork::wait_until_ready(const Context& context) const {
  const MonoTime end = context.clock.mono() + rules_.binding_timeout;
  for (;;) {
    const Result<bool> ready = look(context);
    if (!ready) co_return Status{StatusCode::error, ready.error().message()};
    if (*ready) co_return Status{};
    if (context.clock.mono() >= end) co_return Status{StatusCode::error, "device binding timeout"};
    if (const Result<> slept = co_await sleep(context.clock, kLook); !slept)
      co_return Status{StatusCode::error, slept.error().message()};
  }
}

Result<bool> ClaimWork::look(const Context& context) const {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const api::ObjectMeta& meta = items_[i].claim->metadata;
    const auto claim = std::static_pointer_cast<const api::ResourceClaim>(
        context.find(kube::kObjectType<api::ResourceClaim>, meta.namespace_.view(), meta.name));
    if (claim == nullptr || claim->metadata.uid != meta.uid)
      return refused("could not find ResourceClaim \"{}\"", place_of(*items_[i].claim));
    // What was written is on its way.
    if (!claim->status.allocation) return false;
    KOORD_TRY(ready, is_ready(*claim));
    if (ready) continue;
    if (is_overdue(*claim, rules_.binding_timeout, context.clock.now()))
      return refused("claim {} binding timeout", meta.name);
    return false;
  }
  return true;
}

}  // namespace koord::scheduling::dynamic_resources
