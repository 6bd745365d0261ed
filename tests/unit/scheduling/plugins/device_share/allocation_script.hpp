// Scripts of machines, pods and what these get: the lines of tests/golden/scheduler/device_allocations.txt.
//
//   scorer NAME LeastAllocated|MostAllocated RESOURCE=WEIGHT,...
//   machine [model=M] [vendor=V] [node-honor] [device-honor] [planned] [table=PARTITIONS]
//   TYPE MINOR NUMA PCIE ok|sick LABEL GROUPS [AMOUNTS]   a device of it; "-": it has none of that. GROUPS of
//                                                         virtual functions: KEY=VALUE:MINOR@BUS,...|...
//   reset                                                 the same machine, nothing on it
//   held TYPE MINOR AMOUNTS [BUS,...]                     somebody has that
//   back, within, prefer TYPE MINOR AMOUNTS               of what the next pod sees otherwise
//   named TYPE MINOR AMOUNTS BUS,...                      of that device it gets one of these functions
//   place|try RESOURCE=AMOUNT... scorer=NAME [hint=JSON] [joint=JSON] [partition=JSON] [numa=MASK]
//   [reserving]
//     [only] [templates=MODEL:NAME+...] [back=N|near=N|in=N] => NODE'S SCORE => WHAT IT GETS
//                                                         `place`: and has it. N: the N-th that was placed is
//                                                         out of the way; its devices come first; no others
//   remove N                                              the N-th that was placed goes
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/koordinator/devices.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "scheduling/plugins/device_share/allocate/allocate.hpp"
#include "scheduling/plugins/device_share/devices/device_ledger.hpp"

namespace koord::scheduling::test {

class AllocationScript {
 public:
  struct Answer {
    std::string score;  // "-": nobody scores
    std::string given;  // "gpu:0,1(template) rdma:1/BUS", or "unschedulable REASON", "unresolvable REASON"
  };

  /// Anything but place and try; false: it is one of these, to be asked.
  bool read(std::string_view line);
  /// `line` without "=> ...".
  Answer ask(std::string_view line);

 private:
  using Words = std::vector<std::string>;

  void begin(const Words& words);
  void add_device(const Words& words);
  void report();
  device_share::Given::Device part(const Words& words) const;
  void look_otherwise(std::string_view mode, std::size_t pod);

  std::map<std::string, device_share::DeviceScorer, std::less<>> scorers_;
  device_share::KnownShapes shapes_;
  api::Device device_;
  api::Node node_;
  bool reported_ = false;
  std::unique_ptr<device_share::DeviceLedger> ledger_;
  std::deque<PodInfo> pods_;
  std::vector<const PodInfo*> placed_;
  std::vector<device_share::Given::Device> back_, within_, prefer_;
  device_share::Given named_;
  bool only_ = false;
};

}  // namespace koord::scheduling::test
