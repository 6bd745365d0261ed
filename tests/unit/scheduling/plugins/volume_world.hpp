// Claims, volumes and drivers in a line each, and worlds in which one plugin about volumes judges alone.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "koord/api/types/core_v1/persistent_volume.hpp"
#include "koord/api/types/core_v1/persistent_volume_claim.hpp"
#include "koord/api/types/storage_v1/csi_node.hpp"
#include "koord/api/types/storage_v1/storage_class.hpp"
#include "koord/api/types/storage_v1/volume_attachment.hpp"
#include "world.hpp"

namespace koord::scheduling::test {

/// The default profile, of the plugins about volumes that one alone; with preemption if asked for.
inline KubeSchedulerConfiguration volume_plugin(std::string_view only, bool preempts = false) {
  KubeSchedulerConfiguration config;
  Plugins& plugins = config.profiles.emplace_back().plugins.ensure();
  for (const char* name : {"VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"})
    if (name != only) plugins.multi_point.disabled.push_back({name, {}});
  if (preempts) {
    plugins.post_filter.disabled.push_back({"*", {}});
    plugins.post_filter.enabled.push_back({"DefaultPreemption", {}});
  }
  return config;
}

template <class T>
using Edit = std::function<void(T&)>;
using VolumeEdit = Edit<api::Volume>;

template <class T>
std::shared_ptr<const T> make_object(const std::string& name, const Edit<T>& edit = {}) {
  auto object = std::make_shared<T>();
  object->metadata.name = name;
  if (api::kind<T>().namespaced) object->metadata.namespace_ = "default";
  if (edit) edit(*object);
  return object;
}

inline VolumeEdit claim(std::string name) {
  return [=](api::Volume& v) { v.persistent_volume_claim.ensure().claim_name = name; };
}
inline VolumeEdit ephemeral() {
  return [](api::Volume& v) { v.ephemeral.ensure(); };
}

/// The pod has these volumes, v0, v1, ...
inline PodEdit volumes(std::vector<VolumeEdit> all, PodEdit more = {}) {
  return [=](api::Pod& p) {
    for (const VolumeEdit& edit : all) {
      api::Volume& v = p.spec.volumes.emplace_back();
      v.name = fmt::format("v{}", p.spec.volumes.size() - 1);
      edit(v);
    }
    if (more) more(p);
  };
}
inline PodEdit on_node(const char* node, PodEdit more = {}) {
  return [=](api::Pod& p) {
    p.spec.node_name = node;
    if (more) more(p);
  };
}

using Claim = api::PersistentVolumeClaim;
inline std::shared_ptr<const Claim> make_claim(const std::string& name, const std::string& volume,
                                               const char* storage_class = nullptr,
                                               const Edit<Claim>& edit = {}) {
  return make_object<Claim>(name, [&](Claim& c) {
    c.metadata.uid = fmt::format("uid-{}", name);
    c.spec.volume_name = Symbol(volume);
    if (storage_class != nullptr) c.spec.storage_class_name = storage_class;
    if (edit) edit(c);
  });
}

inline std::shared_ptr<const api::PersistentVolume> csi_volume(const std::string& name, const char* driver,
                                                               const std::string& handle) {
  return make_object<api::PersistentVolume>(name, [&](api::PersistentVolume& v) {
    v.spec.csi.ensure().driver = driver;
    v.spec.csi->volume_handle = handle;
  });
}

inline std::shared_ptr<const api::StorageClass> make_class(const std::string& name, const char* provisioner,
                                                           const char* mode = "WaitForFirstConsumer") {
  return make_object<api::StorageClass>(name, [&](api::StorageClass& c) {
    c.provisioner = provisioner;
    if (mode != nullptr) c.volume_binding_mode = mode;
  });
}

/// A limit below 0: none.
inline std::shared_ptr<const api::CsiNode> make_csi_node(
    const std::string& name, const std::vector<std::pair<const char*, int>>& drivers,
    const char* migrated = nullptr) {
  return make_object<api::CsiNode>(name, [&](api::CsiNode& n) {
    for (const auto& [driver, limit] : drivers) {
      api::CsiNodeDriver& d = n.spec.drivers.emplace_back();
      d.name = driver;
      if (limit >= 0) d.allocatable.ensure().count = limit;
    }
    if (migrated != nullptr)
      n.metadata.annotations["storage.alpha.kubernetes.io/migrated-plugins"] = Symbol(migrated);
  });
}

inline std::shared_ptr<const api::VolumeAttachment> make_attachment(const std::string& name,
                                                                    const char* attacher,
                                                                    const std::string& volume,
                                                                    const char* node = "n") {
  return make_object<api::VolumeAttachment>(name, [&](api::VolumeAttachment& a) {
    a.spec.attacher = attacher;
    a.spec.node_name = node;
    a.spec.source.persistent_volume_name = volume;
  });
}

/// Whether the event has the waiting pod tried again.
inline bool tried_after(World& world, const std::function<void(Engine&)>& event) {
  world.clock.advance(std::chrono::seconds(20));
  REQUIRE(world.run().empty());
  event(world.engine);
  return !world.run().empty();
}

}  // namespace koord::scheduling::test
