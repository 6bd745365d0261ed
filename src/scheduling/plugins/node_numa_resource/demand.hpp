// Demand: what a pod asks for of CPUs and memory nodes, read off it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/plugins/node_numa_resource/ledger.hpp"

namespace koord::scheduling::node_numa_resource {

/// All that the plugin reads of a pod.
struct Demand {
  std::int64_t cpu = 0;                                  // milli
  std::vector<std::pair<Symbol, std::int64_t>> amounts;  // none is zero, cpu among them; by name
  bool binds = false;                                    // to CPUs, whatever the node says
  BindPolicy required = BindPolicy::none;
  BindPolicy preferred = BindPolicy::none;  // the required one, if any
  Exclusive exclusive = Exclusive::none;
  Exclusive written = Exclusive::none;  // what others see of it, also where the node binds it
  NumaPolicy policy = NumaPolicy::none;
  bool zones_apart = false;  // NumaQuestion::exclusive
  /// Set: this, and nothing else (a hint that is replayed).
  std::optional<Given> designated;

  /// Set: no node will do, and this is why.
  std::string rejected;
  StatusCode code = StatusCode::unresolvable;

  /// No machine has more than fit here.
  int cpus() const {
    return static_cast<int>(std::min<std::int64_t>(cpu / 1000, std::numeric_limits<int>::max()));
  }
  /// It asks for nothing at all.
  bool none() const { return amounts.empty(); }
  bool is_rejected() const { return !rejected.empty(); }
};

/// `default_policy`: of pods that want CPUs of their own and say no policy.
Demand read_demand(const PodInfo& pod, const ResourceNames& names, BindPolicy default_policy);
/// What read_demand() follows from.
void sign_demand(const PodInfo& pod, Signature& signature);

}  // namespace koord::scheduling::node_numa_resource
