// The openb trace of a GPU cluster, and pods drawn from it.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "scheduling/plugins/device_share/packing/fragmentation.hpp"

namespace koord::scheduling::bench {

using device_share::PackedRequest;
using device_share::PackedRow;

struct PackedNode {
  PackedRow row;
  std::string model;
};
struct PackedPod {
  PackedRequest request;
  std::string model;  // that it must have; empty: any
};

/// Its nodes with GPUs, and what its pods ask for. Empty where the folder does not have it.
struct Trace {
  explicit Trace(const std::string& folder);

  std::vector<PackedNode> nodes;
  std::vector<PackedRequest> pods;
  std::int64_t gpus = 0;  // per mille
};

/// As the trace has its pods, or with more of some kind.
struct Variant {
  const char* name;
  double sharing = 1, multi = 1, constrained = 0, cpu = 1;
};
inline constexpr std::array<Variant, 5> kVariants{{
    {.name = "default"},
    {.name = "sharing", .sharing = 3},
    {.name = "multi", .multi = 20},
    {.name = "constrained", .constrained = 0.33},
    {.name = "less-cpu", .cpu = 0.5},
}};

/// One share of one GPU.
bool shares(const PackedRequest& pod);
/// Pods until they ask for 130% of the GPUs.
std::vector<PackedPod> arrivals(const Trace& trace, const Variant& variant, std::mt19937& random);

/// The percentage of the GPUs that stays unallocated where the engine places these pods, one by one: with the
/// scorer FragmentationGradient, or with DeviceShare's MostAllocated. `seconds`: what its decisions took.
double run_engine(const Trace& trace, const std::vector<PackedPod>& pods, bool gradient, double& seconds);

}  // namespace koord::scheduling::bench
