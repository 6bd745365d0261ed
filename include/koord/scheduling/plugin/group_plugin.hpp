// GroupPlugin: pods that are placed together, all of them or none (gangs).
#pragma once

#include <cstddef>

#include "koord/scheduling/cluster/resource_cells.hpp"
#include "koord/scheduling/plugin/status.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::scheduling {

struct PodInfo;

/// A trial of many pods over many rows. On the engine's thread, within place_group().
class Placements {
 public:
  /// So many pods have a place.
  using Mark = std::size_t;
  struct Placed {
    Row row = kNoRow;    // kNoRow: it has none, and nothing has changed
    Status status = {};  // why
  };

  virtual ~Placements() = default;
  /// Finds a node for a pod of the queue as if its turn had come after those that have a place: it counts on
  /// the row from now on, and what plugins keep account of is reserved. Where it stands in the queue is left
  /// as it is. Nobody makes room for it. skip: extenders have a say about the pod, which has no place here.
  virtual Placed place(const api::Pod& pod) = 0;
  virtual Mark mark() const = 0;
  /// As if the pods after so many had not been placed: what they took is free again.
  virtual void roll_back(Mark to) = 0;
};

class GroupPlugin {
 public:
  virtual ~GroupPlugin() = default;
  /// Whether the pod, whose turn it is, is placed with others: place_group() is then asked in place of the
  /// choice of a node. It costs little; it is asked of each pod of the profile.
  virtual bool leads_group(const PodInfo& pod) const = 0;
  /// Places the pod and whom else it likes. success, with a place for the pod: those that have one are bound,
  /// each as far as its permit lets it, as one batch of decisions. skip: the pod is tried by itself.
  /// Otherwise nothing has happened, and the pod has failed for this reason; the first for which there was no
  /// node has failed for that, and waits for what could undo it; the others are where they were. Pods that
  /// the plugin alone keeps out of the queue (PreEnqueuePlugin) may be placed, too.
  virtual Status place_group(const PodInfo& pod, Placements& places) = 0;
};

}  // namespace koord::scheduling
