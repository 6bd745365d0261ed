// Transforms: what Koordinator makes of nodes and pods before anything is decided with them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

namespace koord::api {
struct Node;
struct ObjectMeta;
struct Pod;
}  // namespace koord::api

namespace koord::scheduling {

/// Gates of the same names.
struct TransformGates {
  bool priority = false, preemption_policy = false, replace_resources = false;
};

/// Objects as the API server has them go in; what the engine is to see of them comes out: the object itself
/// where there is nothing to change, as in most, else a copy. To be applied to each object once; what is made
/// of it is given back for names that pods and nodes had before Koordinator 1.0 and for pods made anew alike.
///
/// A node: what it has less what its annotation node.koordinator.sh/reservation keeps back, old names of
/// resources as the present ones. A pod: old names the same; then what gates allow: resources under other
/// names (pod.koordinator.sh/replace-resources), a priority and a preemption policy by its class; and the
/// scheduler that its label scheduling.koordinator.sh/scheduler-name says.
///
/// Annotations are not to be trusted: one that cannot be read changes nothing and is complained about once
/// for each object. Belongs to the engine's thread.
class Transforms {
 public:
  /// Called on the engine's thread.
  using Complain =
      std::function<void(std::string_view kind, const api::ObjectMeta& object, std::string_view what)>;

  explicit Transforms(TransformGates gates = {}, Complain complain = {})
      : gates_(gates), complain_(std::move(complain)) {}

  std::shared_ptr<const api::Node> node(std::shared_ptr<const api::Node> node);
  std::shared_ptr<const api::Pod> pod(std::shared_ptr<const api::Pod> pod);
  /// Its complaints are forgotten.
  void gone(const api::ObjectMeta& object);

 private:
  void complain(std::string_view kind, const api::ObjectMeta& object, std::string_view what);

  TransformGates gates_;
  Complain complain_;
  std::unordered_set<std::string> complained_;  // uids; those of too many objects are not named any more
};

/// The scheduler that a pod is meant for: by its label, else as its spec says.
std::string_view meant_for(const api::Pod& pod);

}  // namespace koord::scheduling
