// What a block's configuration means for the kernel's files, without any file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plan/strategy.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/host/block_devices.hpp"

namespace koord::koordlet::blkio {

inline constexpr std::string_view kDevice = "device", kVolumeGroup = "volumegroup", kPodVolume = "podvolume";

/// Takes out what no kernel takes; ".readIOPS: -1: expected at least 0" of each.
std::vector<std::string> drop_nonsense(api::IoConfig& io);

/// Takes out latencies, which no group is given, and says so of each: ".readLatency: not done: ...". The
/// kernel's io.latency keeps a group's latency by holding back all its neighbours that have none.
std::vector<std::string> drop_latencies(api::IoConfig& io);

/// What `over` says goes over what is there.
void merge(api::IoConfig& io, const api::IoConfig& over);
/// Of the throttles, and of these alone, the lower ones count; 0 is none.
void tighten(api::IoConfig& io, const api::IoConfig& by);

struct Setting {
  host::Knob knob{};
  std::string key;
  KnobValue value;
};
/// Of a group and a disk: throttles and the weight. What is not said is not set.
std::vector<Setting> group_settings(const api::IoConfig& io, host::DeviceNumber disk,
                                    host::CgroupVersion version);
/// The throttles alone.
std::vector<Setting> throttles(const api::IoConfig& io, host::DeviceNumber disk, host::CgroupVersion version);
/// Of the machine and a disk: what io.cost holds, with the original's defaults (3000 us, 95%). Where the
/// model is the user's but lacks a figure, `lacking` names that and the model is left alone.
std::vector<Setting> machine_settings(const api::IoConfig& io, host::DeviceNumber disk, std::string& lacking);

}  // namespace koord::koordlet::blkio
