// ClaimWork: what DynamicResources writes into claims before a pod is bound, and what it waits for.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "koord/scheduling/plugin/cycle_plugin.hpp"
#include "scheduling/plugins/dynamic_resources/extended/device_asks.hpp"
#include "scheduling/plugins/dynamic_resources/write/claim_board.hpp"

namespace koord::scheduling::dynamic_resources {

/// What was written of a pod's claims: filled on the event loop's thread, read on the engine's.
class WrittenClaims {
 public:
  using Claim = std::shared_ptr<const api::ResourceClaim>;
  void put(std::size_t index, Claim claim);
  /// nullptr: nothing was.
  Claim find(std::size_t index) const;

 private:
  mutable std::mutex mutex_;
  std::vector<Claim> claims_;
};

/// Of each claim in turn that is not kept for the pod yet: itself, if it is new, the finalizer, where devices
/// are given, then the allocation and the pod in status, tried again in its newest version after a conflict.
/// Then, with binding conditions, it waits until all devices may be used. What is written stays written when
/// it fails.
class ClaimWork final : public PreBindWork {
 public:
  struct Item {
    std::shared_ptr<const api::ResourceClaim> claim;
    std::shared_ptr<const api::AllocationResult> allocation = {};  // nullptr: it has one
    bool kept = false;                                             // for the pod, already: nothing is written
    bool doubtful = false;  // whether it is kept for the pod only the API server knows
    /// It is created before, and after that the pod's status names it, with these.
    bool is_new = false;
    std::vector<RequestMapping> mappings = {};
  };
  struct Rules {
    bool binding_conditions = false;
    nanoseconds binding_timeout{};
  };
  static constexpr int kTries = 5;
  static constexpr nanoseconds kPause = std::chrono::milliseconds(10), kLook = std::chrono::milliseconds(100),
                               kLongestRelease = std::chrono::seconds(10);

  ClaimWork(std::vector<Item> items, Rules rules, std::shared_ptr<ClaimBoard> board,
            std::shared_ptr<WrittenClaims> written)
      : items_(std::move(items)), rules_(rules), board_(std::move(board)), written_(std::move(written)) {}
  Task<Status> run(const Context& context) override;

 private:
  Task<Result<>> bind(const Context& context, std::size_t index);
  Task<Result<>> create(const Context& context, std::size_t index);
  Task<Result<>> map(const Context& context, std::size_t index) const;
  Task<Result<>> write(const Context& context, const Item& item, api::ResourceClaim& claim) const;
  Task<Result<>> refresh(const Context& context, api::ResourceClaim& claim) const;
  Task<Result<>> put(const Context& context, api::ResourceClaim& claim, std::string_view subresource) const;
  Task<Result<>> wait_until_released(const Context& context, const api::ResourceClaim& claim) const;
  Task<Status> wait_until_ready(const Context& context) const;
  Result<bool> look(const Context& context) const;
  bool waits() const;

  std::vector<Item> items_;
  Rules rules_;
  std::shared_ptr<ClaimBoard> board_;
  std::shared_ptr<WrittenClaims> written_;
};

}  // namespace koord::scheduling::dynamic_resources
