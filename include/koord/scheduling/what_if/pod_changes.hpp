// PodChanges: what a pod could do without, one thing at a time, and the pod as it would be then.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/scheduling/cluster/node_table.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::scheduling::explain {

struct PodChange {
  enum class Kind : std::uint8_t {
    request,            // of a resource: less of it
    taint,              // tolerates it
    cordon,             // goes to nodes that are unschedulable
    selector,           // an entry of nodeSelector
    expression,         // of the required node affinity
    pod_affinity,       // a required term
    pod_anti_affinity,  // a required term
    spread,             // a DoNotSchedule constraint
    host_port,
    volume,  // a claim, or a disk of its own
  };
  Kind kind;
  /// What it is about: "cpu", "dedicated=gpu:NoSchedule", "disk=ssd", "data".
  std::string subject;
  std::size_t index = 0, term = 0;  // where it stands in the pod's list
  bool field = false;               // an expression of matchFields
  std::int64_t asked = 0;           // of a request, in the resource's unit; see resources.hpp
};

/// As in JSON: "request", "podAntiAffinity".
std::string_view name(PodChange::Kind kind);

/// A set of changes, by their places.
using Changes = std::uint64_t;
constexpr Changes change(std::size_t place) { return Changes{1} << place; }

class PodChanges {
 public:
  /// With more than these the rarest taints are left out, then what comes last.
  static constexpr std::size_t kMost = 48;
  /// Less of a request than all of it: the place of its change, and how much is still asked for.
  using Amounts = std::vector<std::pair<std::size_t, std::int64_t>>;

  /// Of the taints those that some node has and the pod does not tolerate.
  PodChanges(std::shared_ptr<const api::Pod> pod, const NodeTable& nodes);

  std::size_t size() const { return changes_.size(); }
  const PodChange& operator[](std::size_t place) const { return changes_[place]; }
  Changes all() const { return size() == 0 ? 0 : ~Changes{0} >> (64 - size()); }
  /// Some were left out.
  bool cut() const { return cut_; }
  /// The pod with these changes; requests among them ask for nothing, or for what `amounts` says.
  std::shared_ptr<const api::Pod> with(Changes changes, const Amounts& amounts = {}) const;

 private:
  void add_taints(const NodeTable& nodes);
  void add_node_affinity();
  void add_other_pods();
  void add(PodChange change);

  std::shared_ptr<const api::Pod> pod_;
  std::vector<PodChange> changes_;
  bool cut_ = false;
};

/// In the resource's own unit, as Kubernetes writes it: "1500m", "2Gi", "4".
std::string amount_text(std::string_view resource, std::int64_t amount);

}  // namespace koord::scheduling::explain
