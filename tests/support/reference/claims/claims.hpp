// DynamicResources' say about a pod, for the scheduler's oracle.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/reference/claims/choice.hpp"
#include "support/reference/state.hpp"

namespace koord::reference {

/// Binding conditions, rules of taints, extended resources, the time that a search may take, and what is
/// given back where nothing fits it does not know.
class Claims {
 public:
  /// Nothing of the pod's is looked at where the profile leaves the plugin out.
  Claims(const Cluster& cluster, const Config& config, const api::Pod& pod);

  const std::string& rejected() const { return rejected_; }
  /// As if all nodes were asked: those that an earlier filter refuses are.
  const std::string& error() const { return error_; }
  Filtered filter(const api::Node& node) const;
  RawScores scores(const Feasible& nodes) const;
  /// In percent of the best.
  static void normalize(std::vector<std::int64_t>& scores);
  /// What its claims that have nothing get on a node that takes it, by key.
  ByKey<api::AllocationResult> gift(const api::Node& node) const;

 private:
  void read(const Cluster& cluster, const api::Pod& pod);
  std::string why_not(const Cluster& cluster, const api::ResourceClaim& claim) const;

  std::string rejected_, error_;
  std::vector<const api::ResourceClaim*> wanting_, placed_;
  std::map<std::string, ClaimChoice> choices_;  // by node; none if all claims have devices
};

/// "NAMESPACE/NAME".
std::string key_of(const api::ResourceClaim& claim);

}  // namespace koord::reference
