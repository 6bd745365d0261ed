// GroupPlugin: pods that are placed together, all of them or none (gangs).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "koord/scheduling/cluster/resource_cells.hpp"
#include "koord/scheduling/plugin/status.hpp"
#include "koord/scheduling/plugin/verdict.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::scheduling {

struct PodAttempt;
struct PodInfo;
struct PostFilterResult;

/// A trial of many pods over many rows. On the engine's thread, within place_group().
class Placements {
 public:
  /// So many pods have a place.
  using Mark = std::size_t;
  struct Placed {
    Row row = kNoRow;    // kNoRow: it has none, and nothing has changed
    Status status = {};  // why
    /// Of place_on(): it is the row that refuses the pod; another one may take it.
    bool elsewhere = false;
  };
  /// What a row has room for.
  struct Room {
    std::uint32_t pods = 0;
    /// Why not for the next one; kPass: there is no next one. kAbsent: the row holds no node.
    VerdictId refusal = kAbsent;
  };
  /// Anything but a success: this pod can be nowhere, and has been refused, or extenders have a say about it
  /// (skip).
  struct NoRoom {
    Status status = {};
    const api::Pod* pod = nullptr;
  };

  virtual ~Placements() = default;
  /// Finds a node for a pod of the queue as if its turn had come after those that have a place: it counts on
  /// the row from now on, and what plugins keep account of is reserved. Where it stands in the queue is left
  /// as it is. Nobody makes room for it here. skip: extenders have a say about the pod, which has no place
  /// here.
  virtual Placed place(const api::Pod& pod) = 0;
  /// The same on this row, or nowhere.
  virtual Placed place_on(const api::Pod& pod, Row row) = 0;
  /// For how many of these pods, one after the other in this order, each row has room, by row, if none of
  /// them is elsewhere. They wait and have no place. It is a guess where it says more than one: what
  /// place_on() says counts. Of pods that are alike it is kept for rows that have not changed since; of
  /// others all rows are looked at anew.
  virtual NoRoom room(std::span<const api::Pod* const> pods, std::vector<Room>& by_row) = 0;
  /// The pod has failed for this, and waits for its rejectors and for those by whom place_on() was refused.
  /// In place of whoever failed before.
  virtual void refuse(const api::Pod& pod, Diagnosis why) = 0;
  virtual Mark mark() const = 0;
  /// Those that have a place, in the order in which they got it.
  struct At {
    const PodInfo* pod;
    Row row;
  };
  virtual std::vector<At> places() const = 0;
  /// What is known of a pod of the group's profile; nullptr: it is none.
  virtual const PodInfo* find(const api::Pod& pod) const = 0;
  /// Pods with the same one, which is not nullptr, are asked alike while the trial lasts. It may end what
  /// ask() gave of a pod without one.
  virtual const void* kind_of(const api::Pod& pod) = 0;
  /// As PostFilterPlugin is asked: what the nodes say of the pod now, until the next call of any of these.
  /// Also of one that has a place, which counts on its row then. nullptr: nobody asks the nodes about it (a
  /// plugin does not admit it).
  virtual const PodAttempt* ask(const api::Pod& pod) = 0;
  /// The same whether it is admitted or not.
  virtual const PodAttempt* ask_of_nodes(const api::Pod& pod) = 0;
  /// From now on the pod, which is none of the group, does not count on the row, until it is brought back,
  /// which it is with the end of the trial. While any is set aside nothing can come of the trial.
  virtual void set_aside(Row row, const PodInfo& pod) = 0;
  virtual void bring_back(Row row, const PodInfo& pod) = 0;
  /// What is done about it that the first pod for which there was no node has none (PostFilter): it is told
  /// and nominated so, and others with it, once the trial is over and the group was not placed. `others`:
  /// what the leader is told of that, if it is not the same pod.
  virtual void answer(PostFilterResult result, std::string others) = 0;
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
