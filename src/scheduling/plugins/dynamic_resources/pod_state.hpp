// What DynamicResources knows of one attempt to place a pod with claims.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "koord/api/rules/node_selector.hpp"
#include "koord/scheduling/plugin/plugin_base.hpp"
#include "koord/scheduling/plugin/verdict.hpp"
#include "scheduling/plugin/held_verdicts.hpp"
#include "scheduling/plugin/numa_place.hpp"
#include "scheduling/plugins/dynamic_resources/extended_pods.hpp"
#include "scheduling/plugins/dynamic_resources/nodes/ask_classes.hpp"
#include "scheduling/plugins/dynamic_resources/write/claim_work.hpp"

namespace koord::scheduling::dynamic_resources {

struct ClaimState final : PodState {
  using Claim = std::shared_ptr<const api::ResourceClaim>;
  /// The state of the present cycle: the plugin asks for it where it is not given it.
  using Tried = std::shared_ptr<ClaimState*>;

  /// A claim that has devices: where these can be used.
  struct Placed {
    std::size_t index;                                 // of `claims`
    std::optional<api::CompiledNodeSelector> on = {};  // absent: everywhere
    bool useless = false;  // its devices failed, or have taken too long: they are no good anywhere
  };

  ClaimState(std::string uid, VerdictTable& verdict_table, Tried tried_now)
      : pod_uid(std::move(uid)), verdicts(verdict_table), tried(std::move(tried_now)) {
    *tried = this;
  }
  ClaimState(const ClaimState&) = delete;
  ClaimState& operator=(const ClaimState&) = delete;
  ~ClaimState() override {
    if (failed != kPass) verdicts.release(failed);
    if (*tried == this) *tried = nullptr;
  }

  const std::string pod_uid;
  VerdictTable& verdicts;
  const Tried tried;
  std::vector<Claim> claims;  // in the pod's order
  std::vector<Placed> placed;
  std::vector<std::size_t> wanting;        // those that have nothing, as indexes of `claims`
  Asking asking;                           // the same
  std::unique_ptr<ExtendedAsks> extended;  // nullptr: it asks for no devices by extended resources
  std::shared_ptr<const api::Pod> pod;     // of `extended`
  std::optional<MonoTime> began = {};      // the first search for devices
  nanoseconds may_take{}, searched{};      // for all of them, from then on; and what they took
  std::set<std::size_t> unavailable = {};  // claims that kept it from a node
  std::string failed_with = {};
  VerdictId failed = kPass;  // the same, as a verdict

  /// Who binds it to memory nodes, and may refuse it for where its devices are; nullptr: nobody.
  NumaDecider* decider = nullptr;
  std::unique_ptr<PodState> for_decider = {};  // of it
  std::unique_ptr<HeldVerdicts> unaligned = {};

  // From Reserve on.
  std::vector<std::shared_ptr<const api::AllocationResult>> allocations =
      {};  // of `wanting`, then `special`'s
  /// For extended resources, as it is to be created, and as it counts; nullptr: none is needed. It is written
  /// by the index after those of `claims`.
  const SpecialClaim* special = nullptr;
  Claim special_reserved = {};
  std::shared_ptr<WrittenClaims> written = std::make_shared<WrittenClaims>();
};

}  // namespace koord::scheduling::dynamic_resources
