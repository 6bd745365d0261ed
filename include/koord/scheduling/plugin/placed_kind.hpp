// PlacedKind: a kind of objects that get a place on a node: pods, and what plugins have placed as pods are.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "koord/api/schema/codec.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/symbol.hpp"
#include "koord/kube/store.hpp"
#include "koord/scheduling/plugin/pod_changes.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::scheduling {

/// What is written into an object.
struct ObjectPatch {
  api::Patch patch;
  std::string_view subresource = {};  // "status"; empty: the object itself
};

/// What an object is told of an attempt that failed.
struct AttemptFailure {
  std::string_view reason;  // Unschedulable, SchedulerError or SchedulingGated
  std::string_view message;
  /// What the nominated node becomes, empty: none; absent: it stays as it is.
  std::optional<Symbol> nominate;
  WallTime now;
};

/// For whom a victim has to go.
struct Preemptor {
  std::string_view profile;
  std::string_view word;  // what it is: "pod", ...
  WallTime now;
  std::string_view job = {};  // see Preemption::job
  std::string trigger = {};   // the job's pod that was tried, "namespace/name"
};

/// How a victim goes: told first, then deleted with its own grace period. Neither: it has gone already.
struct Eviction {
  std::optional<ObjectPatch> told = {};
  bool removed = true;
};

/// Constant: it is asked on the engine's thread and on the event loop's at the same time. It does not throw:
/// a malformed object wants no place. `now` is an object of its type as it is known.
class PlacedKind {
 public:
  virtual ~PlacedKind() = default;
  virtual const kube::ObjectType& type() const = 0;
  /// What messages call one, and what the names of its placeholders begin with: lower-case letters. "pod" is
  /// the pods'.
  virtual std::string_view word() const = 0;
  /// What the engine places and counts for it; on a node if it has one. nullptr: it wants no place and has
  /// none (it has failed, or is at its end).
  virtual std::shared_ptr<const api::Pod> as_pod(const kube::Object& object) const = 0;

  // What is written into it; absent: nothing, it says so already.

  virtual std::optional<ObjectPatch> failed(const void* now, const AttemptFailure& failure) const = 0;
  /// The nominated node alone, empty: none.
  virtual std::optional<ObjectPatch> nominated(const void* now, const Symbol& node) const = 0;
  /// What plugins change of it before it is bound. PodPatch::spec is of pods alone.
  virtual std::optional<ObjectPatch> changed(const void* now, const PodPatch& patch) const = 0;
  virtual Eviction evicted(const void* now, const Preemptor& by) const = 0;
};

/// The kinds beside pods that plugins have placed. Filled by plugins' constructors (place() of
/// placed_objects.hpp), constant from then on.
class PlacedKinds {
 public:
  /// Of several for one type, of a plugin in several profiles, the first stays. A word that another type has:
  /// std::logic_error.
  void add(std::shared_ptr<const PlacedKind> kind);
  /// nullptr: such objects are not placed.
  const PlacedKind* of(const kube::ObjectType& type) const;
  /// Whose placeholder it is. nullptr: it is a pod.
  const PlacedKind* of(const api::Pod& pod) const;

 private:
  std::vector<std::shared_ptr<const PlacedKind>> kinds_;
};

}  // namespace koord::scheduling
