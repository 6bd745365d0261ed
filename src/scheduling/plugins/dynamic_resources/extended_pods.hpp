// ExtendedPods: pods that ask for devices by extended resources, and the claims that are made for them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "scheduling/extended_resources/extended_resources.hpp"
#include "scheduling/plugins/dynamic_resources/claims/claim_book.hpp"
#include "scheduling/plugins/dynamic_resources/extended/special_claim.hpp"
#include "scheduling/plugins/dynamic_resources/nodes/ask_classes.hpp"
#include "scheduling/plugins/dynamic_resources/write/claim_board.hpp"

namespace koord::scheduling::dynamic_resources {

/// What is asked for on a row: claims that have nothing yet.
struct Asking {
  std::vector<const api::ResourceClaim*> claims;
  std::shared_ptr<AskClass> asks;  // of these; nullptr where there are none
};

/// The claim for the resources that are devices on some rows.
struct SpecialClaim {
  std::shared_ptr<const api::ResourceClaim> claim;  // not created
  std::vector<RequestMapping> mappings;
  Asking asking;  // the pod's own claims, and this one last
};

/// Of one attempt of a pod of whose extended resources a class backs at least one.
struct ExtendedAsks {
  /// A set of `resources`, a bit each.
  using Set = std::uint64_t;
  static constexpr std::size_t kMost = 64;
  struct Resource {
    ResourceId id;
    BackedResource backed;  // by no class: it is the device plugin's everywhere
  };

  /// A claim that an attempt before this one has left: until it is gone no node will do.
  std::shared_ptr<const api::ResourceClaim> left = {};
  bool keeps_room = false;  // it is no pod, and nobody keeps room in devices
  std::vector<Resource> resources = {};
  std::map<Set, SpecialClaim> by_set = {};
};

/// One for all profiles, with the gate DRAExtendedResource. Belongs to the engine's thread.
class ExtendedPods {
 public:
  using Claim = std::shared_ptr<const api::ResourceClaim>;

  ExtendedPods(const PluginContext& context, const ExtendedResources& resources, ClaimBook& book,
               std::shared_ptr<ClaimBoard> board);

  /// nullptr: no class backs anything that it asks for.
  std::unique_ptr<ExtendedAsks> read(const PodInfo& pod);
  /// Which of them are devices on the row. Absent: one is neither that, nor does the node list it.
  std::optional<ExtendedAsks::Set> on_row(const ExtendedAsks& asks, Row row) const;
  /// `own` are the pod's claims that have nothing.
  const SpecialClaim& claim_of(ExtendedAsks& asks, ExtendedAsks::Set set, const api::Pod& pod,
                               const std::vector<const api::ResourceClaim*>& own, AskClasses& classes) const;

  /// It failed after it was created: its devices stay taken while it is being deleted.
  void remove(const Claim& reserved, const Claim& created);
  /// It is bound: what was created counts from now on.
  void settle(const Claim& reserved, const Claim& created);

 private:
  struct Going {
    Claim reserved, created;
  };
  void told(const api::ResourceClaim& claim);
  /// Those that nobody deletes any more, and the one of that uid.
  void forget_gone(std::string_view uid = {});

  const NodeTable& nodes_;
  const ExtendedResources& resources_;
  ClaimBook& book_;
  CycleControl& cycle_;
  RejectorKey key_;
  std::shared_ptr<ClaimBoard> board_;
  SpecialClaims claims_;
  std::vector<Going> going_;
};

}  // namespace koord::scheduling::dynamic_resources
