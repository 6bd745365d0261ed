// Plugins: the extension points of the scheduling cycle, as small abstract classes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/cluster_event.hpp"
#include "framework/host_ports.hpp"
#include "framework/node_table.hpp"
#include "framework/verdict.hpp"

namespace koord::api {
class RequiredNodeAffinity;
struct Pod;
}  // namespace koord::api

namespace koord::scheduler {

/// A pod with what is read off it once: how much it asks for, and where it must not meet others.
struct PodInfo {
  std::shared_ptr<const api::Pod> pod;
  Requests requests;
  std::vector<HostPort> ports;
  /// Of the plugin that asks first; the engine's thread only.
  mutable std::shared_ptr<const api::RequiredNodeAffinity> node_affinity = nullptr;
};

/// Collects what a plugin reads of a pod. Pods with equal signatures are one class: verdicts and scores
/// are computed for the class. Texts are length-prefixed, so that no two pods collide.
class Signature {
 public:
  void add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    bytes_.append(text);
  }
  void add(std::int64_t number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  const std::string& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  std::string bytes_;
};

class Plugin {
 public:
  virtual ~Plugin() = default;
  /// Adds all that the plugin's filters, scores and hints read of the pod. False: they read more than a
  /// signature can hold, and the pod is then computed on its own.
  virtual bool sign(const PodInfo& pod, Signature& signature) const = 0;
};

/// What a plugin derives once per class, or once for all that it signs alike; it may cache in it.
struct PodState {
  virtual ~PodState() = default;
};

/// What a verdict or score follows from, besides what the plugin signs of the pod.
enum class Depends : std::uint8_t {
  node,  // the node's object alone: prepared once and computed for all classes that the plugin signs alike
  pods,  // also the pods on the node
};

/// The order of the active queue.
struct QueuedPod;
class QueueSortPlugin {
 public:
  virtual ~QueueSortPlugin() = default;
  virtual bool less(const QueuedPod& a, const QueuedPod& b) const = 0;
};

/// May keep a pod out of the queue until an event that the plugin registered for.
class PreEnqueuePlugin {
 public:
  virtual ~PreEnqueuePlugin() = default;
  virtual bool may_enqueue(const PodInfo& pod) const = 0;
};

/// The preparation and the verdicts of a filter.
class FilterPlugin {
 public:
  struct Prepared {
    std::unique_ptr<PodState> state;
    bool skip = false;  // every node passes
    /// Set: only these nodes are looked at; the others count as "didn't satisfy plugin(s) [NAME]".
    std::optional<std::vector<std::string>> only_nodes;
    std::string rejected;  // set: no node can do, and this is why
  };

  virtual ~FilterPlugin() = default;
  virtual Depends filter_depends() const = 0;
  virtual Prepared prepare_filter(const PodInfo& pod) = 0;
  /// out[i] = verdict on rows[i], kPass if the pod may go there. Every row holds a node. Where all nodes are
  /// looked at, the rows come in blocks, in order.
  virtual void filter(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
                      std::span<VerdictId> out) const = 0;
};

/// Marks a filter whose preparation is kube-scheduler's PreFilter: for a configuration that does not name it
/// there the preparation neither rejects, nor narrows down, nor skips.
class PreFilterPlugin {
 public:
  virtual ~PreFilterPlugin() = default;
};

/// Raw scores, and how they become 0..100.
class ScorePlugin {
 public:
  enum class Normalize : std::uint8_t {
    none,      // raw scores are 0..100 already
    to_best,   // 100 * raw / (the best raw among the feasible nodes)
    to_worst,  // 100 - the same; 100 for all if there is none
  };
  struct Prepared {
    std::unique_ptr<PodState> state;
    bool skip = false;  // the plugin has no say about this class
  };

  virtual ~ScorePlugin() = default;
  virtual Depends score_depends() const = 0;
  virtual Normalize normalize() const { return Normalize::none; }
  virtual Prepared prepare_score(const PodInfo& pod) = 0;
  virtual void score(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
                     std::span<std::int32_t> out) const = 0;
};

/// Marks a score whose preparation is kube-scheduler's PreScore: without it there it does not skip.
class PreScorePlugin {
 public:
  virtual ~PreScorePlugin() = default;
};

/// Which events could undo a rejection by this plugin.
class EventPlugin {
 public:
  virtual ~EventPlugin() = default;
  virtual EventMask events() const = 0;
  /// Called for events in events() and pods that this plugin rejected.
  virtual bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const = 0;
};

/// Marks the plugin that writes the binding; the writing itself is the binder's.
class BindPlugin {
 public:
  virtual ~BindPlugin() = default;
};

/// What a plugin is made with. The references outlive it.
struct PluginContext {
  NodeTable& nodes;
  VerdictTable& verdicts;
  PluginIndex index;  // the plugin's own
};

/// A filter that judges node by node.
class NodeFilterPlugin : public FilterPlugin {
 public:
  void filter(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
              std::span<VerdictId> out) const final {
    for (std::size_t i = 0; i < rows.size(); ++i) out[i] = filter_node(state, nodes, rows[i]);
  }
  virtual VerdictId filter_node(PodState* state, const NodeTable& nodes, Row row) const = 0;
};

}  // namespace koord::scheduler
