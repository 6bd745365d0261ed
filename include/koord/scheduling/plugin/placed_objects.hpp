// PlacedObjects<T>: what a plugin writes to have objects of a type queued, placed and counted as pods are.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/patch_placed.hpp"
#include "koord/scheduling/plugin/placed_kind.hpp"
#include "koord/scheduling/plugin/plugin.hpp"

namespace koord::scheduling {

/// `pod` as the object's placeholder: its name, uid, version, and whether it is being deleted are the
/// object's; its namespace, too, or "default", where the pod has none of its own.
std::shared_ptr<const api::Pod> as_placeholder(const PlacedKind& kind, const api::ObjectMeta& of,
                                               api::Pod pod);

/// See PlacedKind for what its methods answer, and for its threads.
template <class T>
class PlacedObjects : public PlacedKind {
 public:
  /// The pod that stands for it: what it asks for, who schedules it (spec.schedulerName), its priority,
  /// spec.nodeName if it has a place, status.nominatedNodeName if it says one. Absent: see as_pod().
  virtual std::optional<api::Pod> placeholder(const T& object) const = 0;
  virtual std::optional<ObjectPatch> failure(const T& now, const AttemptFailure& failure) const = 0;
  virtual std::optional<ObjectPatch> nomination(const T& /*now*/, const Symbol& /*node*/) const {
    return std::nullopt;
  }
  virtual Eviction eviction(const T& /*now*/, const Preemptor& /*by*/) const { return {}; }

  const kube::ObjectType& type() const final { return kube::kObjectType<T>; }
  std::shared_ptr<const api::Pod> as_pod(const kube::Object& object) const final {
    std::optional<api::Pod> pod = placeholder(of(object.get()));
    return pod ? as_placeholder(*this, of(object.get()).metadata, *std::move(pod)) : nullptr;
  }
  std::optional<ObjectPatch> failed(const void* now, const AttemptFailure& told) const final {
    return failure(of(now), told);
  }
  std::optional<ObjectPatch> nominated(const void* now, const Symbol& node) const final {
    return nomination(of(now), node);
  }
  std::optional<ObjectPatch> changed(const void* now, const PodPatch& patch) const final {
    return edited(of(now), {}, [&](T& after) { apply(patch, after.metadata); });
  }
  Eviction evicted(const void* now, const Preemptor& by) const final { return eviction(of(now), by); }

  /// What turns the object into what `edit` makes of it; absent: nothing has to change.
  template <class Edit>
  static std::optional<ObjectPatch> edited(const T& now, std::string_view subresource, const Edit& edit) {
    T after = now;
    edit(after);
    std::optional<api::Patch> patch = api::diff(now, after);
    if (!patch) return std::nullopt;
    return ObjectPatch{*std::move(patch), subresource};
  }

 private:
  static const T& of(const void* object) { return *static_cast<const T*>(object); }
};

/// In the constructor of the plugin that has the objects placed; they are watched from then on. A BindPlugin
/// of the profile has to bind them.
template <class T>
void place(const PluginContext& context, std::shared_ptr<const PlacedObjects<T>> kind) {
  context.objects.watch<T>();
  context.placed.add(std::move(kind));
}

/// The binding of a placed object by one patch: what `bind` makes of it once it is on the node. Tried again
/// after a conflict, overload, and when nobody knows what became of it, from what the API server has by then;
/// never for an object that is on a node already, is being deleted, or is another of its name.
template <class T>
std::shared_ptr<BindWork> bind_by_patch(
    std::shared_ptr<const PlacedObjects<T>> kind, std::string_view subresource,
    std::function<void(T& object, const Symbol& node, WallTime now)> bind) {
  return bind_by_patch(
      std::shared_ptr<const PlacedKind>(std::move(kind)),
      [subresource, bind = std::move(bind)](const void* now, const Symbol& node, WallTime at) {
        return PlacedObjects<T>::edited(*static_cast<const T*>(now), subresource,
                                        [&](T& after) { bind(after, node, at); });
      });
}

}  // namespace koord::scheduling
