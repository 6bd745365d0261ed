// SloConfig: the ConfigMap slo-controller-config, read and kept: what every node's strategies follow from.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "framework/config/layered.hpp"
#include "framework/config/strategies.hpp"
#include "koord/api/types/core_v1/config_map.hpp"
#include "koord/api/types/core_v1/node.hpp"

namespace koord::manager {

/// A key that cannot be used, for an event on the ConfigMap (a warning, with upstream's reason) and the log.
struct ConfigProblem {
  std::string_view reason;  // static text
  std::string message;
  /// The key as a whole: what it said before is in effect. Empty: a part of it is left out.
  std::string_view unread_key = {};
};

class SloConfig {
 public:
  /// The defaults; nothing is available yet.
  SloConfig();

  struct Update {
    bool changed = false;  // in anything that a node's objects follow from
    std::vector<ConfigProblem> problems;
  };
  /// The ConfigMap as it is now. A key that cannot be read keeps what it said before, of a key that is absent
  /// the defaults are in effect. Of colocation-config the empty text is the defaults too, and a group of
  /// nodes that makes no sense gets the cluster's strategy.
  Update set(const api::ConfigMap& map);
  /// What good() was of an earlier process, before the first set(): it is in effect where set() cannot read a
  /// key, or set_absent() finds none. What cannot be read of it is not taken.
  void restore(const api::ConfigMap& last_good);
  /// The texts of the keys as they are in effect; of a key that is not there its defaults are.
  const api::StringMap& good() const { return good_; }
  /// There is no ConfigMap. At the start that means the defaults; later, what it said last stays in effect.
  Update set_absent();

  /// Whether anything may be derived from colocation(): false until a valid colocation-config, or none, was
  /// seen.
  bool colocation_available() const { return colocation_available_; }
  /// Whether colocation-config cannot be read now (or there is no ConfigMap at all): what is written stays.
  bool colocation_in_error() const { return colocation_in_error_; }
  /// Whether anything may be derived from the rest.
  bool available() const { return available_; }

  const Layered<ColocationStrategy>& colocation() const { return colocation_; }
  const Layered<api::ResourceThresholdStrategy>& threshold() const { return threshold_; }
  const Layered<api::ResourceQosStrategy>& qos() const { return qos_; }
  const Layered<api::CpuBurstStrategy>& burst() const { return burst_; }
  const Layered<api::SystemStrategy>& system() const { return system_; }
  const Layered<HostApplications>& host_applications() const { return host_applications_; }
  const Layered<NodeSloExtensions>& extensions() const { return extensions_; }
  const Layered<CpuNormalizationStrategy>& normalization() const { return normalization_; }
  const Layered<ResourceAmplificationStrategy>& amplification() const { return amplification_; }

 private:
  void set_colocation(const api::ConfigMap& map, Update& update);

  Layered<ColocationStrategy> colocation_;
  Layered<api::ResourceThresholdStrategy> threshold_;
  Layered<api::ResourceQosStrategy> qos_;
  Layered<api::CpuBurstStrategy> burst_;
  Layered<api::SystemStrategy> system_;
  Layered<HostApplications> host_applications_;
  Layered<NodeSloExtensions> extensions_;
  Layered<CpuNormalizationStrategy> normalization_;
  Layered<ResourceAmplificationStrategy> amplification_;
  api::StringMap good_;
  bool available_ = false, colocation_available_ = false, colocation_in_error_ = false;
};

/// The layouts of all keys, for docs and tests.
std::span<const KeyLayout> config_keys();

/// The node's colocation strategy: the first group's that selects it or the cluster's; over that the
/// annotation node.koordinator.sh/colocation-strategy (unless it cannot be read); over that the labels
/// node.koordinator.sh/{cpu,memory}-reclaim-ratio and mid-static-{cpu,memory}-reserved-ratio, a share from 0
/// as "0.65". Other labels are as absent.
ColocationStrategy colocation_of(const Layered<ColocationStrategy>& config, const api::Node& node);

}  // namespace koord::manager
