// What pods say of their disks and networks.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/api/values/quantity.hpp"

namespace koord::api {

/// Limits of its disks: {"blocks":[{"name":"vol-a","type":"podvolume","ioCfg":{"readIOPS":2048}}]}. What is
/// out of range is read, too.
struct PodBlkioQos {
  static constexpr std::string_view kAnnotation = "koordinator.sh/blkioQOS";
  static constexpr std::size_t kMostBlocks = 64;

  std::vector<BlockConfig> blocks;
  KOORD_STRUCT(PodBlkioQos);
};
/// Names of members in upper or lower case, as Go takes them. Code::too_large: more than kMostBlocks.
Result<> decode_annotation(std::string_view text, PodBlkioQos& to);

/// What it may send and get, in bits per second: {"ingressLimit":"10M","egressLimit":"20M"}.
struct PodNetworkQos {
  static constexpr std::string_view kAnnotation = "koordinator.sh/networkQOS";

  std::optional<Quantity> ingress_limit, egress_limit;
  KOORD_STRUCT(PodNetworkQos);
};
/// As above. Code::parse of what is below zero, too.
Result<> decode_annotation(std::string_view text, PodNetworkQos& to);

}  // namespace koord::api
