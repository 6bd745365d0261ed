// What a tick knows of the node's disks and of what is mounted from them.
#pragma once

#include <cstdint>
#include <vector>

#include "koord/host/block_devices.hpp"
#include "koord/host/volume_mounts.hpp"

namespace koord::koordlet {

/// Not shown: nothing could be read yet. What cannot be read later stays as it was.
struct LocalStorage {
  host::BlockDevices devices;
  std::vector<host::VolumeMount> volumes;
  std::uint64_t version = 0;  // grows with every change
};

}  // namespace koord::koordlet
