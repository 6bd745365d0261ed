// AttachedVolumes: which volumes of CSI drivers the pods on each node have, and how many its CSINode allows.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/api/types/core_v1/persistent_volume.hpp"
#include "koord/api/types/core_v1/persistent_volume_claim.hpp"
#include "koord/api/types/storage_v1/csi_node.hpp"
#include "koord/api/types/storage_v1/storage_class.hpp"
#include "koord/api/types/storage_v1/volume_attachment.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/volumes/csi_migration.hpp"

namespace koord::scheduling::node_volume_limits {

/// A volume that counts: driver and handle, or what stands for the handle while a claim has no volume.
struct CountedVolume {
  Symbol driver;
  Symbol name;  // with the driver's in front
  /// Set: it counts only where this plugin's volumes are the driver's.
  const volumes::InTreePlugin* was = nullptr;

  bool counts_on(const api::CsiNode* node) const { return was == nullptr || is_migrated(*was, node); }
};

/// Those of a pod, each once.
struct PodVolumes {
  std::vector<CountedVolume> counted;
  // The first thing that is wrong with its claims.
  std::string missing;  // one that is not there, and this says so
  std::string error;
  /// A volume that the driver could not tell, where it would be the driver's.
  const volumes::InTreePlugin* broken = nullptr;
  std::string broken_error;
};

/// What is known of one node.
struct NodeVolumes {
  struct Driver {
    Symbol name;
    std::int64_t limit;
    std::int64_t attached = 0;
  };
  struct OfPod {
    const PodInfo* pod;
    std::vector<CountedVolume> counted = {};
    std::vector<Symbol> read = {};  // PersistentVolumes that this follows from, there or not
    bool fresh = false;
  };

  std::vector<OfPod> pods;                  // those with volumes
  std::shared_ptr<const api::CsiNode> csi;  // nullptr: there is none
  std::vector<Driver> drivers;              // those with a limit
  /// The volumes of the pods whose driver has a limit, each once: name, and place of the driver.
  std::vector<std::pair<Symbol, std::size_t>> volumes;
  std::vector<Symbol> read;  // PersistentVolumes of VolumeAttachments
  bool fresh = false;        // all of this but the pods
  bool stale = false;        // it was once, and changed since

  const Driver* driver(const Symbol& name) const {
    for (const Driver& d : drivers)
      if (d.name == name) return &d;
    return nullptr;
  }
  bool has(const Symbol& volume) const;
};

/// One for all profiles. A node is reckoned anew when it is asked about after something of it changed: its
/// pods with volumes, their claims and volumes, its CSINode or its VolumeAttachments.
class AttachedVolumes final : public ClusterObserver {
 public:
  explicit AttachedVolumes(const PluginContext& context);
  AttachedVolumes(const AttachedVolumes&) = delete;
  AttachedVolumes& operator=(const AttachedVolumes&) = delete;

  /// False: no volume of the pod can count.
  static bool concerns(const api::Pod& pod);
  PodVolumes of(const api::Pod& pod) const;
  /// Valid until the next change.
  const NodeVolumes& on(Row row) {
    return row < rows_.size() && rows_[row].fresh ? rows_[row] : reckoned(row);
  }
  /// As it would be with the view's pods.
  NodeVolumes as_in(const NodeView& view);

  /// What the last change of a claim, volume, storage class, CSINode or attachment made easier on any node.
  struct Eased {
    std::vector<Symbol> drivers;    // more new volumes of theirs may come
    std::vector<Symbol> volumes;    // are there now, and need no room
    std::vector<Symbol> installed;  // drivers that are there now
  };
  const Eased& eased();

  void pod_added(Row row, const PodInfo& pod) override;
  void pod_removed(Row row, const PodInfo& pod) override;
  void node_changed(Row row, const api::Node* before, const api::Node* now) override;

 private:
  struct Attachment {
    Symbol attacher, volume;
  };

  PodVolumes find(const api::Pod& pod, std::vector<Symbol>* read) const;
  void count_claim(const api::PersistentVolumeClaim& claim, std::vector<Symbol>* read, PodVolumes& out) const;
  void count_unbound(const api::PersistentVolumeClaim& claim, PodVolumes& out) const;
  const NodeVolumes& reckoned(Row row);
  void read_pods(NodeVolumes& node, Row row);
  void reckon(NodeVolumes& node, Row row) const;
  void compare(const NodeVolumes& before, const NodeVolumes& now);
  void attach(const api::VolumeAttachment* attachment, bool gone);
  void changed(Row row);
  void claims_changed(Row row);
  void claim_changed(const api::ObjectMeta& claim);
  void volume_changed(const Symbol& name);
  /// The row follows from these PersistentVolumes instead of those.
  void reads(Row row, std::vector<Symbol>& before, std::vector<Symbol> now);

  const NodeTable& nodes_;
  ObjectStore<api::PersistentVolumeClaim>& claims_;
  ObjectStore<api::PersistentVolume>& volumes_;
  ObjectStore<api::StorageClass>& classes_;
  ObjectStore<api::CsiNode>& csi_nodes_;

  std::vector<NodeVolumes> rows_;
  /// Where pods name a claim: a row for each of their volumes. By namespace/name.
  std::unordered_map<std::string, std::multiset<Row>> claim_rows_;
  /// What was read for which rows.
  std::unordered_map<Symbol, std::multiset<Row>> volume_rows_;
  std::unordered_map<Symbol, std::unordered_map<std::string, Attachment>> attachments_;  // by node, by name

  std::vector<Row> stale_;
  bool compared_ = false;  // eased_ is of the last change
  Eased eased_;
};

}  // namespace koord::scheduling::node_volume_limits
