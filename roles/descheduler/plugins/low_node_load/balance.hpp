// balance: which pods leave overloaded nodes of one pool, by what they really use.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "plugins/low_node_load/detector.hpp"
#include "plugins/low_node_load/loads.hpp"

namespace koord::descheduler::low_node_load {

/// What is remembered of nodes from pass to pass; forgotten when nobody has asked for it for a while.
class Detectors {
 public:
  explicit Detectors(nanoseconds kept) : kept_(kept) {}
  /// Marks the node as too much used: whether it has been for long enough. A condition of one pass, or none,
  /// remembers nothing.
  bool is_overloaded(const std::string& node, const AnomalyCondition& condition, MonoTime now);
  /// It is in order again.
  void reset(const std::string& node, MonoTime now);
  /// It was relieved in this pass.
  void relieved(const std::string& node, MonoTime now);
  std::size_t size() const { return known_.size(); }

 private:
  struct Known {
    Detector detector;
    MonoTime until;
  };
  Known* find(const std::string& node, MonoTime now);
  nanoseconds kept_;
  std::unordered_map<std::string, Known> known_;
};

struct PoolRules {
  Thresholds thresholds;
  std::vector<std::int64_t> weights;  // by number of the resource
  AnomalyCondition anomaly;
  std::int64_t number_of_nodes = 0;  // with no more nodes with room than that nothing is done
  bool node_fit = true;              // a pod goes only where there is a node for it
};

/// Asked by balance(), in its order.
class Mover {
 public:
  virtual ~Mover() = default;
  /// Whether the pod may be evicted at all.
  virtual bool may_go(const api::Pod& pod) = 0;
  /// Whether it could run on that node, by what it asks for.
  virtual bool fits(const api::Pod& pod, const NodeLoad& node) = 0;
  /// False: it stays, and the next one is looked at.
  virtual Task<bool> evict(PodPtr pod, std::string reason) = 0;
};

/// What came of a pool, for who tells of it.
struct Balanced {
  enum class Why : std::uint8_t {
    done,
    no_nodes,         // none of the pool, or of none anything is known
    none_overloaded,  // no node uses too much
    not_long_enough,  // not for long enough yet
    none_with_room,
    few_with_room,  // no more than numberOfNodes
    all_with_room,
  };
  Why why = Why::done;
  std::map<Kind, std::size_t> kinds;
  std::vector<std::string> overloaded;  // nodes that use too much, relieved or not
  std::size_t evicted = 0;
};

/// One pool in one pass. `nodes` change as pods leave them. Sources by their weighted usage, the highest
/// first, then by name; targets by name; pods by PodRank, of pods alike the one whose going is closest to
/// enough. All that it is given outlives it.
Task<Balanced> balance(const PoolRules& rules, std::vector<NodeLoad>& nodes, Detectors& detectors,
                       Detectors& prod_detectors, MonoTime now, Mover& mover);

/// Koordinator's words: "node is overutilized, node cpu usage(92.00%)>threshold(80.00%), ..."; with deviation
/// the configured one is the threshold that is named.
std::string why_evicted(const Thresholds& thresholds, const NodeLoad& node, const Limits& limits, bool prod);

}  // namespace koord::descheduler::low_node_load
