// Random nodes, pods and profiles that touch every rule of the scheduler's plugins; the same ones for the
// same seed.
#pragma once

#include <memory>
#include <random>
#include <string>

#include "koord/scheduling/config/config.hpp"
#include "support/reference/evaluate.hpp"

namespace koord::scheduling::test {

/// A profile as the engine reads it and as the oracle does.
struct RandomProfile {
  ProfileConfig config;
  reference::Config oracle;
  std::string seats;  // see SeatRule
};

class RandomObjects {
 public:
  static constexpr const char* kNamespaces[] = {"default", "default", "team", "staging"};

  /// Clusters of up to `nodes` nodes n0, n1, ...
  RandomObjects(unsigned seed, int nodes) : random_(seed), nodes_(nodes) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T, std::size_t n>
  const T& one_of(const T (&all)[n]) {
    return all[below(static_cast<int>(n))];
  }

  RandomProfile profile(std::string_view scheduler_name);
  /// Other plugins and weights than by default.
  void vary(RandomProfile& profile);
  std::shared_ptr<const api::Node> node(int index);
  std::shared_ptr<const api::Pod> pod(std::string name);
  api::SymbolMap pod_labels();
  Symbol namespace_();
  Symbol node_name();
  api::Time start_time();
  std::shared_ptr<const api::Namespace> namespace_object(std::string_view name);
  std::shared_ptr<const api::Service> service();
  std::shared_ptr<const api::ReplicationController> replication_controller();
  std::shared_ptr<const api::ReplicaSet> replica_set();
  std::shared_ptr<const api::StatefulSet> stateful_set();
  std::shared_ptr<const api::PodDisruptionBudget> budget();
  // Of what is known, as it may have changed; nullptr: a new one.
  std::shared_ptr<const api::PersistentVolumeClaim> claim(std::string_view ns, std::string name,
                                                          const api::PersistentVolumeClaim* known);
  std::shared_ptr<const api::PersistentVolume> volume(const api::PersistentVolume* known);
  std::shared_ptr<const api::StorageClass> storage_class(const api::StorageClass* known);
  std::shared_ptr<const api::CsiStorageCapacity> capacity(const api::CsiStorageCapacity* known);
  std::shared_ptr<const api::CsiDriver> driver();
  std::shared_ptr<const api::CsiNode> csi_node(std::string_view node);
  std::shared_ptr<const api::VolumeAttachment> attachment();
  std::string claim_name();
  static std::vector<std::string> claim_names();

 private:
  template <class T>
  std::shared_ptr<T> named(const char* prefix);
  api::ResourceRequirements requests();
  api::Container container();
  api::Toleration toleration();
  api::NodeSelectorRequirement requirement();
  api::NodeSelectorTerm node_term();
  api::LabelSelector selector();
  api::TopologySpreadConstraint constraint();
  api::PodAffinityTerm affinity_term();
  void node_affinity(api::Pod& pod);
  void pod_affinity(api::Pod& pod);
  void volumes(api::Pod& pod);
  std::string volume_name();
  void binding_of(api::PersistentVolume& volume);
  void node_topology(api::Node& node);
  std::string class_name();

  std::mt19937 random_;
  int nodes_;
};

}  // namespace koord::scheduling::test
