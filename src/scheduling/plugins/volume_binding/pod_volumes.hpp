// PodVolumes: which volumes a pod's claims have or could have on each node.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "koord/api/rules/selector.hpp"
#include "koord/api/types/storage_v1/csi_driver.hpp"
#include "koord/api/types/storage_v1/storage_class.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/plugins/volume_binding/volumes.hpp"

namespace koord::scheduling::volume_binding {

/// What the answers follow from. The references outlive what is made of them.
struct Sources {
  const NodeTable& nodes;
  KnownStorage& storage;
  ObjectStore<api::StorageClass>& classes;
  ObjectStore<api::CsiDriver>& drivers;
  TopologyTable& topology;
  bool volume_attributes_classes;  // the gate VolumeAttributesClass
};

/// Why a node will not do; bits, in the order in which they are told.
enum Conflict : unsigned { kNodeConflict = 1, kBindConflict = 2, kNotEnoughSpace = 4, kNoSuchVolume = 8 };
constexpr std::array<std::string_view, 4> kConflictTexts = {
    "node(s) didn't match PersistentVolume's node affinity",
    "node(s) didn't find available persistent volumes to bind",
    "node(s) did not have enough free storage",
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
};

/// What becomes of a claim without a volume, on one node.
struct Placement {
  struct Binding {
    std::shared_ptr<const api::PersistentVolume> volume;
    std::shared_ptr<const api::PersistentVolumeClaim> claim;
  };
  struct Provision {
    std::shared_ptr<const api::PersistentVolumeClaim> claim;
    std::shared_ptr<const api::CsiStorageCapacity> pool;  // nullptr: nobody counts how much there is
  };
  std::vector<Binding> bindings;      // to volumes that there are
  std::vector<Provision> provisions;  // volumes that will be made
};

/// Of one attempt of one pod: nothing that it reads may change while it is asked.
class PodVolumes {
 public:
  enum class Made : std::uint8_t { ready, no_claims, rejected, error };
  explicit PodVolumes(const Sources& sources) : sources_(sources) {}
  PodVolumes(const PodVolumes&) = delete;
  PodVolumes& operator=(const PodVolumes&) = delete;

  /// Reads the pod's claims. Rejected: no node will do; an error is none of the pod's making. `why` says it.
  Made read(const api::Pod& pod, std::string& why);
  /// All claims have volumes that can be used on all nodes.
  bool usable_everywhere() const;
  /// There are claims without a volume.
  bool waits() const { return !claims_.empty(); }

  /// Bits of Conflict; kFailed: `error()` says what went wrong. If there are none, `placement` is what is to
  /// become of the claims there.
  static constexpr unsigned kFailed = 1U << 31;
  unsigned conflicts(Row row, Placement* placement = nullptr);
  const std::string& error() const { return error_; }

 private:
  struct Bound {
    const KnownVolume* volume;  // nullptr: there is none
  };
  /// A claim that waits for its first consumer.
  struct Claim {
    std::shared_ptr<const api::PersistentVolumeClaim> object;
    api::Quantity size;
    Row selected = kNoRow;  // the node that it is being provisioned for
    bool is_selected = false;
    // Volumes that there are.
    const KnownVolume* named = nullptr;      // names the claim
    const FreeVolumes* available = nullptr;  // of its class
    api::Selector selector;
    std::vector<std::int8_t> suits;  // by shape, where it was looked at: 1 or -1
    /// What suits of the long ones of its lists.
    std::unordered_map<const FreeVolumes::List*, std::vector<FreeVolumes::Entry>> suiting;
    // A volume that will be made, as soon as it is asked for.
    bool prepared = false, possible = false, counted = false;
    std::string error;
    volumes::NodeCondition topology;
    std::vector<const StoragePool*> pools;
    volumes::Choices pool_choices;
  };

  bool add_unbound(std::shared_ptr<const api::PersistentVolumeClaim> claim, bool& immediate,
                   std::string& why);
  bool find_candidates(Claim& claim, std::string& why);
  void prepare_provision(Claim& claim);
  unsigned bound_conflicts(Row row) const;
  unsigned claim_conflicts(Row row, Placement* placement);
  unsigned provision(Claim& claim, Row row, Placement* placement);
  const KnownVolume* match(Claim& claim, Row row);
  bool suits(Claim& claim, const FreeVolumes::Entry& volume) const;
  const std::vector<FreeVolumes::Entry>& suiting(Claim& claim, const FreeVolumes::List& all) const;

  const Sources& sources_;
  std::vector<Bound> bound_;
  std::vector<Claim> claims_;    // selected ones first, then the others, smallest first
  bool selected_apart_ = false;  // two claims are being provisioned for different nodes
  Row selected_ = kNoRow;
  bool any_selected_ = false;
  std::set<const KnownVolume*> chosen_;          // of one row
  std::vector<Claim*> unmatched_;                // of one row
  std::vector<const FreeVolumes::List*> lists_;  // of one row and claim
  std::string error_;
};

}  // namespace koord::scheduling::volume_binding
