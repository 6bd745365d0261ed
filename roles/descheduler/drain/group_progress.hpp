// What a DrainNodeGroup needs next: the state machine, pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drain/drain_rules.hpp"
#include "koord/api/types/core_v1/node.hpp"

namespace koord::descheduler::drain {

/// A DrainNode that has been stuck for so long while it is planned is given up.
inline constexpr std::chrono::minutes kStuckFor{1};

/// A node that the group's selector chooses.
struct GroupNode {
  const api::Node* node = nullptr;
  const api::DrainNode* drain = nullptr;  // the group's own; nullptr: none yet
  api::ResourceList free;                 // of cpu and memory: what its pods do not ask for
  /// How much of it is free, 0 to 100: the emptiest goes first.
  std::int64_t score = 0;
};

/// What there is in the cluster of what a group is about. Only what has been read for certain.
struct GroupScene {
  std::string first;                           // the group whose turn it is
  std::string bad_selector;                    // why spec.nodeSelector cannot be read; empty: it can
  std::vector<GroupNode> nodes;                // by name
  std::vector<const api::Node*> other_marked;  // others with the group's label
  /// Of the DrainNodes of this group: those of which something is left in the cluster.
  std::vector<std::string> not_undone;
  /// The group's DrainNodes, those of nodes that it does not choose any more included.
  std::vector<const api::DrainNode*> drains;
  bool has_elsewhere = false;  // there is a node, ready and open, that it does not choose
  /// Why the pods of a node would have nowhere to go, for people; empty: they have. Asked once a step.
  std::function<std::string(const api::Node&)> why_stuck;
};

struct GroupWrite {
  enum class Act {
    kMarkNode,     // with the group's label, where it has none
    kUnmarkNode,   // without it
    kCreateDrain,  // see drain_for()
    kConfirm,      // the DrainNode: its pods may go
    kReject,       // the DrainNode, with `why` as its annotation
    kAbort,        // the DrainNode
    kDeleteGroup,  // the group itself
  };
  Act act = Act::kMarkNode;
  std::string name;  // of the node or the DrainNode
  std::string why;   // kCreateDrain, kReject: why it is unavailable; empty: it is not
};

/// As NodeStep.
struct GroupStep {
  std::vector<GroupWrite> writes;
  std::optional<api::DrainNodeGroupStatus> status;
  std::vector<DrainEvent> events;
  std::optional<WallTime> wake_at;
};

GroupStep next_step(const api::DrainNodeGroup& group, const GroupScene& scene, WallTime now);

/// The group whose turn it is: one that has begun, else the oldest that waits. Empty: none.
std::string first_of(const std::vector<const api::DrainNodeGroup*>& groups);

/// A group's DrainNode; with `why` one that is refused from the start.
api::DrainNode drain_for(const api::DrainNodeGroup& group, std::string_view node, const std::string& why);

}  // namespace koord::descheduler::drain
