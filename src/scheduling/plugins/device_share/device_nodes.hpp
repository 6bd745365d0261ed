// DeviceNodes: the machines' devices and who has them, by row.
#pragma once

#include <memory>

#include "koord/api/types/scheduling_v1alpha1/device.hpp"
#include "koord/base/metrics.hpp"
#include "koord/scheduling/cluster/cluster_observer.hpp"
#include "koord/scheduling/cluster/node_table.hpp"
#include "koord/scheduling/cluster/object_store.hpp"
#include "koord/scheduling/cluster/row_slots.hpp"
#include "koord/scheduling/plugin/complaints.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/common_devices/common_devices.hpp"
#include "scheduling/plugins/device_share/common_gpus.hpp"
#include "scheduling/plugins/device_share/devices/device_ledger.hpp"

namespace koord::scheduling::device_share {

/// One for all profiles: whoever decides, nobody is given what another has. What a pod has goes with it: it
/// is counted while the pod counts on a row, whether the node's Device is known before it or after. A Device
/// that is deleted takes nothing away from those who have something of it, and nothing more of it is given,
/// until it is there again. Of who has devices and does not say which (an annotation that nobody can read,
/// after a restart) nothing more of these types is given on its node until it says so or goes. Of GPUs that
/// resource claims have nothing is given, and claims are told which GPUs somebody has. Belongs to the
/// engine's thread.
class DeviceNodes final : public ClusterObserver, public CommonDevices::Side {
 public:
  struct OfRow {
    std::shared_ptr<const api::Device> device;  // nullptr: there is none (any more)
    std::shared_ptr<const api::Device> last;    // that there was; what it listed is not healthy without it
    DeviceLedger ledger;
    /// There was a Device, or somebody who was given devices. No: they are the kubelet's alone.
    bool known = false;
  };

  explicit DeviceNodes(const PluginContext& context);

  ObjectStore<api::Device>& objects() { return objects_; }
  /// An unknown one where nothing was told.
  const OfRow& of(Row row) const;

  /// The pod, which counts on the row, has it from now on; nullptr: nothing.
  void give(Row row, const PodInfo& pod, std::shared_ptr<const Given> given);
  /// From now on (MeasuredPlugin).
  void measure(metrics::Registry& registry);

  // ClusterObserver
  void pod_added(Row row, const PodInfo& pod) override;
  void pod_removed(Row row, const PodInfo& pod) override;
  void pod_changed(Row row, const PodInfo& pod) override;
  void node_changed(Row row, const api::Node* before, const api::Node* now) override;

  // CommonDevices::Side
  void others_changed(std::string_view node) override;

  /// What pods that were refused are told when claims have given GPUs back (CycleControl::happened()).
  static constexpr std::string_view kTold = "GpusOfClaims";

 private:
  /// Its Device or its node is another now.
  void renew(Row row, const api::Node* node, std::shared_ptr<const api::Device> device);
  void count(Row row, const PodInfo& pod, std::shared_ptr<const Given> given);
  /// What its annotation says. Of one that cannot be read: that it has devices of the types that it asks for.
  std::shared_ptr<const Given> read(const PodInfo& pod);
  void tell_planned(const api::Device& device) const;
  void tell_shared(Row row);

  NodeTable& nodes_;
  ObjectStore<api::Device>& objects_;
  Complaints& complaints_;
  CycleControl& cycle_;
  RejectorKey key_;
  CommonDevices& common_;
  GpuDoubts doubts_;
  KnownShapes shapes_;
  RowSlots<OfRow> rows_;
  metrics::Family<metrics::Gauge> badly_planned_;
  bool measured_ = false;
};

}  // namespace koord::scheduling::device_share
