// VolumeBinding alone in a small world: volumes, claims and storage in a line each.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "koord/api/types/storage_v1/csi_driver.hpp"
#include "koord/api/types/storage_v1/csi_storage_capacity.hpp"
#include "plugins/volume_world.hpp"

namespace koord::scheduling::test {

using Volume = api::PersistentVolume;
using Texts = std::vector<std::string>;

inline constexpr const char *kConflict = "node(s) didn't match PersistentVolume's node affinity",
                            *kNone = "node(s) didn't find available persistent volumes to bind",
                            *kSpace = "node(s) did not have enough free storage",
                            *kMissing =
                                "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

template <class T>
void then(const Edit<T>& edit, T& object) {
  if (edit) edit(object);
}

using In = std::map<std::string, Texts>;
inline Edit<Volume> on(In labels, Edit<Volume> more = {}) {
  return [=](Volume& v) {
    auto& term = v.spec.node_affinity.ensure().required.ensure().node_selector_terms.emplace_back();
    for (const auto& [key, values] : labels) {
      auto& in = term.match_expressions.emplace_back();
      in.key = Symbol(key);
      in.operator_ = "In";
      for (const std::string& value : values) in.values.push_back(Symbol(value));
    }
    then(more, v);
  };
}
inline Edit<Volume> at(const char* node, Edit<Volume> more = {}) {
  return on({{"kubernetes.io/hostname", {node}}}, std::move(more));
}
/// Available, of 5 GiB.
inline std::shared_ptr<const Volume> volume(const std::string& name, const char* storage_class,
                                            const char* size = "5Gi", const Edit<Volume>& edit = {}) {
  return make_object<Volume>(name, [&](Volume& v) {
    v.metadata.resource_version = "1";
    v.spec.storage_class_name = storage_class;
    v.spec.capacity["storage"] = api::Quantity::must(size);
    v.status.phase = "Available";
    then(edit, v);
  });
}
inline Edit<Volume> for_claim(const char* name, const char* uid) {
  return [=](Volume& v) {
    auto& ref = v.spec.claim_ref.ensure();
    ref.namespace_ = "default";
    ref.name = name;
    ref.uid = uid;
  };
}

inline std::shared_ptr<const Claim> asking(const std::string& name, const char* storage_class,
                                           const char* size = "1Gi", const Edit<Claim>& edit = {}) {
  return make_claim(name, "", storage_class, [&](Claim& c) {
    c.metadata.resource_version = "1";
    c.spec.resources.requests["storage"] = api::Quantity::must(size);
    then(edit, c);
  });
}
inline std::shared_ptr<const Claim> having(const std::string& name, const char* volume,
                                           const Edit<Claim>& edit = {}) {
  return asking(name, "wait", "1Gi", [&](Claim& c) {
    c.spec.volume_name = volume;
    c.metadata.annotations["pv.kubernetes.io/bind-completed"] = "yes";
    then(edit, c);
  });
}
inline Edit<Claim> selected(const char* node) {
  return [=](Claim& c) { c.metadata.annotations["volume.kubernetes.io/selected-node"] = node; };
}

inline std::shared_ptr<const api::CsiDriver> driver(const char* name, bool counts) {
  return make_object<api::CsiDriver>(name, [&](api::CsiDriver& d) { d.spec.storage_capacity = counts; });
}
/// Empty texts: not said. `node` empty: everywhere.
inline std::shared_ptr<const api::CsiStorageCapacity> pool(const char* name, const char* storage_class,
                                                           const char* node, const char* capacity,
                                                           const char* largest = "") {
  return make_object<api::CsiStorageCapacity>(name, [&](api::CsiStorageCapacity& c) {
    c.storage_class_name = storage_class;
    auto& topology = c.node_topology.ensure();
    if (*node != '\0') topology.match_labels["kubernetes.io/hostname"] = node;
    if (*capacity != '\0') c.capacity = api::Quantity::must(capacity);
    if (*largest != '\0') c.maximum_volume_size = api::Quantity::must(largest);
  });
}

inline PodEdit claims(const Texts& names) {
  std::vector<VolumeEdit> all;
  for (const std::string& name : names) all.push_back(claim(name));
  return volumes(all);
}

/// With it, nodes are scored by how much of their storage is taken.
inline FeatureGates scoring_gate() {
  static constexpr FeatureGate kGates[] = {gate_off("StorageCapacityScoring")};
  FeatureGates gates{kGates};
  REQUIRE(gates.set("StorageCapacityScoring=true").has_value());
  return gates;
}

/// Null: nothing is said of a shape.
inline KubeSchedulerConfiguration with_shape(const char* shape) {
  KubeSchedulerConfiguration config = volume_plugin("VolumeBinding");
  if (shape == nullptr) return config;
  config.profiles[0].plugin_config.push_back(
      {"VolumeBinding", {fmt::format(R"({{"shape":{}}})", shape)}, {}});
  return config;
}

inline constexpr const char* kFuller = R"([{"utilization":0,"score":0},{"utilization":100,"score":10}])";

/// VolumeBinding alone, with the classes of upstream's tests, and nodes "a", "b" and "c".
struct Scene {
  explicit Scene(KubeSchedulerConfiguration config = volume_plugin("VolumeBinding"),
                 const FeatureGates& gates = {})
      : world(std::move(config), {}, plugin_table(), gates) {
    put(make_class("wait", "kubernetes.io/no-provisioner"));
    put(make_class("hdd", "kubernetes.io/no-provisioner"));
    put(make_class("made", "driver"));
    put(make_class("counted", "counting-driver"));
    put(make_class("now", "driver", "Immediate"));
    put(make_object<api::StorageClass>("elsewhere", [](api::StorageClass& c) {
      c.provisioner = "driver";
      c.volume_binding_mode = "WaitForFirstConsumer";
      auto& in = c.allowed_topologies.emplace_back().match_label_expressions.emplace_back();
      in.key = "kubernetes.io/hostname";
      in.values.push_back("b");
    }));
    put(driver("counting-driver", true));
    for (const char* name : {"a", "b", "c"}) world.engine.put_node(make_node(name));
  }
  template <class T>
  void put(std::shared_ptr<const T> object) {
    world.engine.put_object(std::move(object));
  }
  template <class T>
  void put_all(const std::vector<std::shared_ptr<const T>>& objects) {
    for (const auto& object : objects) put(object);
  }
  /// What is said of each node, or of all before they are looked at.
  Texts verdicts(std::shared_ptr<const api::Pod> pod) {
    ClassState& state = world.engine.evaluate(world.engine.profiles().front(), std::move(pod));
    const Diagnosis d = state.diagnose();
    if (!d.error.empty()) return {d.error};
    if (!d.prefilter_message.empty()) return {d.prefilter_message};
    Texts all;
    const NodeTable& nodes = world.engine.nodes();
    for (Row row = 0; row < nodes.rows(); ++row)
      if (nodes.node(row))
        all.push_back(fmt::format(
            "{}", fmt::join(world.engine.context().verdicts[state.explain(row).verdict].reasons, " + ")));
    return all;
  }
  /// Of the nodes that will do.
  std::map<std::string, std::int64_t> scores(std::shared_ptr<const api::Pod> pod) {
    Engine& engine = world.engine;
    const Profile& profile = engine.profiles().front();
    ClassState& state = engine.evaluate(profile, std::move(pod));
    std::map<std::string, std::int64_t> all;
    for (Row row = 0; row < engine.nodes().rows(); ++row)
      for (const ScoreDetail& s : state.explain(row).scores)
        if (profile.plugin_name(s.plugin) == "VolumeBinding")
          all[std::string(engine.nodes().name(row).view())] = s.normalized;
    return all;
  }
  World world;
};

}  // namespace koord::scheduling::test
