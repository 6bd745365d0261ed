// Koordinator's own places of the cycle, as small abstract classes, in the order in which a pod meets them. A
// configuration does not name them: who is enabled at kube-scheduler's point beside a place is asked there.
// Up to the choice of a node they are asked about pods, too, of which somebody only wants to know where they
// would go.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "koord/scheduling/cluster/resource_cells.hpp"
#include "koord/scheduling/cluster/resources.hpp"
#include "koord/scheduling/plugin/status.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::scheduling {

struct Diagnosis;
struct PodAttempt;
struct PodInfo;

/// Says which pod is tried next, in place of the queue: the members of a gang one after the other. The first
/// instance of each plugin is asked, one plugin after the other, until one names a pod.
class NextPodPlugin {
 public:
  virtual ~NextPodPlugin() = default;
  /// One that waits, gated or not; nullptr: the queue's next. One that does not wait is passed over, and the
  /// queue's next is tried.
  virtual std::shared_ptr<const api::Pod> next_pod() = 0;
};

/// Around the preparations; of plugins that are enabled at preFilter, in that order. A status that is none of
/// success ends the attempt: a rejection as one of a preparation would, with its key, anything else as an
/// error.
class PreFilterTransformer {
 public:
  struct Before {
    Status status = {};
    /// Asked about in place of the pod until a node is chosen (its copy, with the same namespace, name and
    /// uid). nullptr: it stays. What is taken on the node, and bound, is the pod itself.
    std::shared_ptr<const api::Pod> in_place = {};
  };
  struct After {
    Status status = {};
    /// Set: of the nodes only these are looked at.
    std::optional<std::vector<std::string>> only_nodes = {};
  };
  virtual ~PreFilterTransformer() = default;
  /// First of all in an attempt; each is given what the one before it left. It costs little: what is read of
  /// the pod there is read for each pod, not for its class.
  virtual Before before_pre_filter(const PodInfo& /*pod*/) { return {}; }
  /// No preparation has rejected the pod.
  virtual After after_pre_filter(const PodInfo& /*pod*/) { return {}; }
};

/// Finds the pod's node by itself: no other is looked at. The first in the profile is asked, after the
/// preparations. A plan for several pods is a GroupPlugin's.
class FindOneNodePlugin {
 public:
  struct Found {
    Status status = {};  // success; skip: all nodes are looked at; anything else ends the attempt
    std::string node = {};
  };
  virtual ~FindOneNodePlugin() = default;
  virtual Found find_one_node(const PodInfo& pod) = 0;
};

/// Names nodes that a pod is to be tried on, after its nominated one and before all others: the first of them
/// that no filter rejects is its node, whatever others score. Of several such plugins in a profile the first
/// is asked.
class PreferNodesPlugin {
 public:
  virtual ~PreferNodesPlugin() = default;
  /// In this order; names of nodes that are not there are passed over.
  virtual std::vector<std::string> prefer_nodes(const PodInfo& pod) const = 0;
};

// BeforeFilter, the node as one pod sees it, is RowDeltaPlugin's.

/// Of plugins that are enabled at postFilter, in that order.
class PostFilterTransformer {
 public:
  virtual ~PostFilterTransformer() = default;
  /// After PostFilter, whatever was said there, of a pod for which no node will do.
  virtual void after_post_filter(const PodAttempt& attempt, const Diagnosis& diagnosis,
                                 const Status& said) = 0;
};

/// Of plugins that are enabled at score, in that order.
class ScoreTransformer {
 public:
  virtual ~ScoreTransformer() = default;
  /// More than one node will do: `feasible`, ascending. What is none of success is an error.
  virtual Status before_score(const PodInfo& pod, std::span<const Row> feasible) = 0;
};

/// Decides which of the things that are kept on the chosen node the pod gets (its reservation), before it
/// counts there, and before ResizePod and Reserve. What is none of success is an error.
class ReservationNominatorPlugin {
 public:
  virtual ~ReservationNominatorPlugin() = default;
  virtual Status nominate_reservation(PodAttempt& attempt) = 0;
};

/// Only with the gate ResizePod. All of a profile are asked; what is none of success is an error.
class ResizePodPlugin {
 public:
  virtual ~ResizePodPlugin() = default;
  /// `takes` is what the pod will take of the chosen node, until it is bound: then its object says it.
  virtual Status resize_pod(PodAttempt& attempt, Requests& takes) = 0;
};

/// Says which pods belong together, so that they do not keep room from one another: a pod does not yield to
/// nominated pods of its own job. The profile's are asked until one says so; each names jobs in its own way.
class JobPlugin {
 public:
  virtual ~JobPlugin() = default;
  /// The empty one: none. It costs next to nothing.
  virtual Symbol job_of(const PodInfo& pod) const = 0;
};

}  // namespace koord::scheduling
