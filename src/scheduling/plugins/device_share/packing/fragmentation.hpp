// Fragmentation: how much of a machine's free GPUs the pods that come could not use.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "scheduling/plugins/device_share/packing/request_mix.hpp"

namespace koord::scheduling::device_share {

/// What is free of a machine.
struct PackedRow {
  static constexpr std::size_t kMostGpus = 16;

  std::int64_t cpu = 0, memory = 0;               // as in PackedRequest
  std::int32_t gpus = 0;                          // at most kMostGpus
  std::array<std::int32_t, kMostGpus> free = {};  // per mille of each

  std::int64_t free_gpus() const;
};

/// Whether so many GPUs have as much free, and CPU and memory suffice.
bool fits(const PackedRow& row, const PackedRequest& request);
/// On `gpu`, if it shares one and this is not absent, else on the first GPUs that have room. Of what fits.
PackedRow placed(const PackedRow& row, const PackedRequest& request, std::optional<std::int32_t> gpu = {});

/// The per mille of free GPUs that are of no use to the pods of the mix, the mean over its requests: what is
/// left of each GPU, CPU and memory if such pods alone come, as far as they last; all if not one fits. Who
/// wants no GPU does not count. 0 for an empty mix.
double unusable(const PackedRow& row, std::span<const RequestMix::Entry> mix);

/// The same as Weng et al., "Beware of Fragmentation" (USENIX ATC '23), have it: a GPU that is big enough for
/// one pod is of use as a whole, CPU and memory count only so far as one pod has room, and who wants no GPU
/// can use none of them.
double unusable_as_published(const PackedRow& row, std::span<const RequestMix::Entry> mix);

/// Three parts of what the next pod can use, as published, and one of what is left in the end, over the
/// requests that want GPUs: that packs better than either, and than the mean (packing_bench).
double unusable_soon_and_late(const PackedRow& row, std::span<const RequestMix::Entry> mix);

/// How much more is unusable when the request is placed here, and on which GPU that is least (absent where it
/// does not share one); absent: it does not fit. `unusable` is one of these three, `now` what it says of
/// the row.
struct Gradient {
  double more = 0;
  std::optional<std::int32_t> gpu;
};
using Unusable = double (*)(const PackedRow& row, std::span<const RequestMix::Entry> mix);
std::optional<Gradient> gradient(const PackedRow& row, const PackedRequest& request,
                                 std::span<const RequestMix::Entry> mix, double now, Unusable unusable);

}  // namespace koord::scheduling::device_share
