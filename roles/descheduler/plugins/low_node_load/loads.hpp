// Loads: what nodes and pods use, and the limits of it, as integers by resource.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/snapshot.hpp"
#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/base/symbol.hpp"

namespace koord::descheduler::low_node_load {

/// By number of the resource: CPU in millicores, pods by their number, others in their own units.
using Amounts = std::vector<std::int64_t>;
using Percentages = api::FlatMap<double>;

/// A pool's thresholds, in percent of what a node has, or of the average's (deviation). Of each resource that
/// one of them names, and of memory.
struct Thresholds {
  std::vector<Symbol> resources;
  std::vector<double> low, high, prod_low, prod_high;  // by number of the resource
  bool deviation = false;

  friend bool operator==(const Thresholds&, const Thresholds&) = default;
};
/// A resource that `low` does not name is never too much nor too little, and so is for prod pods one that
/// `prod_low` does not name. Resources in the order of their names.
Thresholds complete_thresholds(const Percentages& low, const Percentages& high, const Percentages& prod_low,
                               const Percentages& prod_high, bool deviation);

struct PodLoad {
  PodPtr pod;
  std::optional<Amounts> usage;  // absent: nobody knows. Nothing of the resource pods, of which it is one
  bool prod = false;
};

/// Of a node of which a report is known that is not too old.
struct NodeLoad {
  std::string name;
  const NodeView* view = nullptr;  // of the pass
  bool schedulable = true;
  Amounts capacity;           // raw, where Koordinator has amplified it
  Amounts usage, prod_usage;  // the system's and all pods', and of prod pods alone
  std::vector<PodLoad> pods;
};

/// What a node may use before it is too much, and below which it has room.
struct Limits {
  Amounts low, high, prod_low, prod_high;
};
/// By node. With deviation they lie around the average of these nodes, between 0 and all that a node has; a
/// deviation of 0 is no limit.
std::vector<Limits> limits_of(const Thresholds& thresholds, std::span<const NodeLoad> nodes);

/// Percent of the capacity; nothing of what the node has none of.
std::optional<double> percent_of(std::int64_t usage, std::int64_t capacity);

/// At least one is above.
bool exceeds(const Amounts& usage, const Amounts& limit);

enum class Kind : std::uint8_t {
  fine,       // neither
  low,        // room, but not for further prod pods
  both_low,   // room for all
  prod_low,   // room for prod pods, and no need to go below that
  high,       // too much
  prod_high,  // too much of prod pods
};
Kind kind_of(const NodeLoad& node, const Limits& limits);

/// 0 to 1000: the weighted mean of what is used of each resource. Weights by number of the resource.
std::int64_t node_score(const Amounts& usage, const Amounts& capacity, std::span<const std::int64_t> weights);
/// The better the closer the pod's usage is to what is too much, best just above it: weighted mean of r below
/// 1, of 1 + 1/r from there on, r = usage/excess. Resources without excess do not count.
double pod_score(const Amounts& usage, const Amounts& excess, std::span<const std::int64_t> weights);

}  // namespace koord::descheduler::low_node_load
