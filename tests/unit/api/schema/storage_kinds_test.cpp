// What schedulers read of volumes, claims and the kinds of storage.k8s.io, on objects as API servers write
// them.
#include <catch2/catch.hpp>

#include <string>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/persistent_volume.hpp"
#include "koord/api/types/core_v1/persistent_volume_claim.hpp"
#include "koord/api/types/storage_v1/csi_driver.hpp"
#include "koord/api/types/storage_v1/csi_node.hpp"
#include "koord/api/types/storage_v1/csi_storage_capacity.hpp"
#include "koord/api/types/storage_v1/storage_class.hpp"
#include "koord/api/types/storage_v1/volume_attachment.hpp"

using namespace koord::api;

namespace {

template <class T>
void survives(const std::string& text) {
  INFO(text);
  const auto object = decode<T>(text);
  REQUIRE(object.has_value());
  CHECK(encode(*object) == text);
}

}  // namespace

TEST_CASE("volumes, claims and what is said of storage survive a round trip") {
  survives<PersistentVolume>(
      R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"disk-1","resourceVersion":"7","annotations":{"pv.kubernetes.io/bound-by-controller":"yes"}},"spec":{"capacity":{"storage":"5Gi"},"accessModes":["ReadWriteOnce"],"claimRef":{"kind":"PersistentVolumeClaim","namespace":"shop","name":"data-db-0","uid":"5a1b","apiVersion":"v1","resourceVersion":"6"},"persistentVolumeReclaimPolicy":"Retain","storageClassName":"local","volumeMode":"Filesystem","nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["n1"]}]}]}},"local":{"path":"/mnt/1"}},"status":{"phase":"Bound"}})");
  survives<PersistentVolume>(
      R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"p"},"spec":{"csi":{"driver":"ebs.csi.aws.com","volumeHandle":"vol-1","readOnly":true}}})");
  survives<PersistentVolume>(
      R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"p"},"spec":{"azureDisk":{"diskName":"d","diskURI":"/d"}}})");
  survives<PersistentVolumeClaim>(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data-db-0","namespace":"shop"},"spec":{"accessModes":["ReadWriteOnce"],"selector":{"matchLabels":{"tier":"fast"}},"resources":{"requests":{"storage":"5Gi"}},"volumeName":"disk-1","storageClassName":"","volumeMode":"Block"},"status":{"phase":"Pending","conditions":[{"type":"Resizing","status":"True"}]}})");
  survives<StorageClass>(
      R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"fast"},"provisioner":"ebs.csi.aws.com","parameters":{"type":"gp3"},"reclaimPolicy":"Delete","allowVolumeExpansion":false,"volumeBindingMode":"WaitForFirstConsumer","allowedTopologies":[{"matchLabelExpressions":[{"key":"topology.kubernetes.io/zone","values":["a","b"]}]}]})");
  survives<CsiNode>(
      R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"n1"},"spec":{"drivers":[{"name":"ebs.csi.aws.com","nodeID":"i-1","topologyKeys":["zone"],"allocatable":{"count":0}},{"name":"nfs","nodeID":"n1"}]}})");
  survives<CsiDriver>(
      R"({"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"ebs.csi.aws.com"},"spec":{"attachRequired":false,"storageCapacity":true,"volumeLifecycleModes":["Persistent"]}})");
  survives<CsiStorageCapacity>(
      R"({"apiVersion":"storage.k8s.io/v1","kind":"CSIStorageCapacity","metadata":{"name":"c","namespace":"kube-system"},"nodeTopology":{},"storageClassName":"fast","capacity":"0","maximumVolumeSize":"10Gi"})");
  survives<VolumeAttachment>(
      R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{"name":"a"},"spec":{"attacher":"ebs.csi.aws.com","source":{"persistentVolumeName":"disk-1"},"nodeName":"n1"},"status":{"attached":true}})");
}

TEST_CASE("a class that is absent differs from none") {
  CHECK_FALSE(decode<PersistentVolumeClaim>(R"({"spec":{}})")->spec.storage_class_name);
  CHECK(decode<PersistentVolumeClaim>(R"({"spec":{"storageClassName":""}})")->spec.storage_class_name ==
        koord::Symbol());
}
