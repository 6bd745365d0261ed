// What Terway's agent on the host is told of the node's network and of its pods, as the original writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {
struct Inventory;
}

namespace koord::koordlet::terway_qos {

/// Of the node, in bytes a second.
struct NodeRates {
  struct Class {
    std::uint64_t tx_min = 0, tx_max = 0, rx_min = 0, rx_max = 0;
    friend bool operator==(const Class&, const Class&) = default;
  };
  std::uint64_t tx = 0, rx = 0;
  Class ls, be;  // its L1 and L2
  friend bool operator==(const NodeRates&, const NodeRates&) = default;
};

/// A part of the node's bandwidth, in bytes a second: a text is bits a second, a number percent of `total`,
/// which is bits a second. Code::invalid: more than the total, or no part of it.
Result<std::uint64_t> rate_of(const std::optional<api::IntOrString>& part, std::uint64_t total);
Result<NodeRates> node_rates(const api::NodeSloSpec& slo);
/// A line for each, "hw_tx_bps_max 12500000".
std::string to_text(const NodeRates& rates);

/// 0 for the system's pods, 1 for latency-sensitive ones, 2 for best-effort ones.
int priority(const api::Pod& pod);

struct Texts {
  /// Whether it shall be told at all; if not, there shall be no files.
  bool wanted = false;
  std::string node, pods;
  /// What cannot be read, of a pod or of the NodeSLO.
  std::vector<std::string> warnings;
  friend bool operator==(const Texts&, const Texts&) = default;
};
/// Nothing: nobody has said yet, or what the NodeSLO says makes no sense (then `error` says why): what is
/// told stays.
std::optional<Texts> texts_of(const Inventory& inventory, std::string& error);

}  // namespace koord::koordlet::terway_qos
