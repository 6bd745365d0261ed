// BasicNodeFit: whether a pod would find room on a node, by what a few of the scheduler's rules say.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "framework/plugin.hpp"
#include "koord/base/symbol.hpp"

namespace koord::descheduler {

/// What koord-descheduler and sigs' descheduler ask, together: the node is not cordoned, selectors and
/// required node affinity want it, its taints NoSchedule and NoExecute are tolerated, no pod on it is one
/// that the pod's required anti-affinity shuns, and what pods on it ask for leaves room for what the pod asks
/// for, and a place among them where the node says how many it takes. On its own node a pod has its room.
/// What goes in the pass still counts. Of one pass; its snapshot outlives it, and so do pods that it is asked
/// about, unchanged.
class BasicNodeFit final : public NodeFit {
 public:
  explicit BasicNodeFit(const Snapshot& snapshot);
  ~BasicNodeFit() override;

  bool fits(const api::Pod& pod, const NodeView& node) override;

 private:
  using Resource = std::uint32_t;
  struct Asked;  // a pod, read once
  struct Room {
    bool known = false;
    std::int64_t places = 0;         // for further pods
    std::vector<std::int64_t> free;  // by resource, in thousandths; of those behind the end nothing
  };

  Resource resource(const Symbol& name);
  const Room& room_of(const NodeView& node);
  const Asked& read(const api::Pod& pod);
  bool has_room(const Asked& asked, const NodeView& node);
  bool shuns(const Asked& asked, const NodeView& node) const;

  const Snapshot& snapshot_;
  std::vector<Symbol> resources_;
  std::vector<Room> rooms_;       // by node of the snapshot
  std::unique_ptr<Asked> asked_;  // the last one: of one pod many nodes are asked in a row
};

}  // namespace koord::descheduler
