// A pod's own group identity, as the node agent reads it; by itself, since all its hooks include it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "koord/api/schema/schema.hpp"
#include "koord/base/result.hpp"

namespace koord::api {

/// A pod's own group identity.
struct PodCpuQos {
  static constexpr std::string_view kAnnotation = "koordinator.sh/cpuQOS";

  std::optional<bool> enable;  // absent: false
  std::optional<std::int64_t> group_identity;
  KOORD_STRUCT(PodCpuQos);
};
/// Refuses identities that the kernel has not.
Result<> decode_annotation(std::string_view text, PodCpuQos& to);

}  // namespace koord::api
