// What the kubelet has mounted for volumes of pods, from a mount table (/proc/1/mountinfo): no findmnt, no
// fork.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"
#include "koord/host/block_devices.hpp"

namespace koord::host {

struct VolumeMount {
  std::string pod;     // its uid
  std::string volume;  // of a claim the PersistentVolume's name, else the volume's in the pod
  DeviceNumber number;
  std::string source;  // as it was mounted: "/dev/vdb1"
  friend bool operator==(const VolumeMount&, const VolumeMount&) = default;
};

/// Those at .../pods/UID/volumes/kubernetes.io~PLUGIN/VOLUME, with or without "/mount" at the end, wherever
/// the kubelet's folder is; ascending by pod and volume. Of two at one place the later one counts, which
/// hides the other. Lines that are none of a mount table are passed over.
std::vector<VolumeMount> volume_mounts(std::string_view mountinfo);

/// Null: the pod has no such volume that is mounted.
const VolumeMount* find_volume(const std::vector<VolumeMount>& mounts, std::string_view pod,
                               std::string_view volume);

/// The disk that the volume is on. Some file systems (btrfs) have a number of their own: then the source
/// says. Code::not_found: it is on none (a network's, a memory's).
Result<DeviceNumber> disk_of(const VolumeMount& mount, const BlockDevices& devices);

}  // namespace koord::host
