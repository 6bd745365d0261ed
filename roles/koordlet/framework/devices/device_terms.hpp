// DeviceTerms: the devices that the scheduler gave to a pod, as its annotation says: the word of whoever
// wrote it, until somebody checks it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/model/pod_terms.hpp"

namespace koord::koordlet {

struct GivenDevice {
  std::int32_t minor = 0;
  std::string id;                      // may be empty
  std::vector<std::string> functions;  // bus ids of the virtual functions that were given in its place
  /// Of a GPU: percent of its cores, bytes, percent of its memory. -1: not said.
  std::int64_t core = -1, memory = -1, memory_ratio = -1;
  std::int64_t rdma = -1;  // percent of an RDMA card. -1: not said
  friend bool operator==(const GivenDevice&, const GivenDevice&) = default;
};

struct DeviceTerms {
  /// More of a type in an annotation is nonsense.
  static constexpr std::size_t kMost = 128;

  std::vector<GivenDevice> gpus, rdma;  // as they stand in the annotation
  bool isolated_by_hami = false;        // koordinator.sh/gpu-isolation-provider=HAMi-core
  friend bool operator==(const DeviceTerms&, const DeviceTerms&) = default;
};

/// A PodTermsReader: of hooks' rows.
void read_device_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& warnings);

}  // namespace koord::koordlet
