// NodeTable: the nodes as rows of integer columns, with a log of which rows changed.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "koord/base/symbol.hpp"
#include "koord/scheduling/cluster/cluster_observer.hpp"
#include "koord/scheduling/cluster/host_ports.hpp"
#include "koord/scheduling/cluster/resource_cells.hpp"
#include "koord/scheduling/cluster/resources.hpp"

namespace koord::api {
struct Node;
}

namespace koord::scheduling {

/// Belongs to the engine's thread. Rows keep their number while they hold a node or pods, and are used
/// again afterwards.
class NodeTable {
 public:
  /// The row of a node of this name; made, without a node, if there is none (pods may come first).
  Row row_of(Symbol name);
  Row find(std::string_view name) const;
  /// Sets the object; nullptr takes the node out (its pods stay until they are removed).
  /// True if anything that scheduling looks at has changed.
  bool set_node(Row row, std::shared_ptr<const api::Node> node);
  /// From now on the pod counts on the row. It stays where it is and as it is, but for its place, until it is
  /// removed.
  void add_pod(Row row, const PodInfo& pod);
  void remove_pod(Row row, const PodInfo& pod);
  /// As remove_pod(), `change` and add_pod(), but the row stays the same one, with what is kept with it, even
  /// if it has nothing but the pod.
  template <class Change>
  void replace_pod(Row row, const PodInfo& pod, Change&& change) {
    take_out(row, pod);
    change();
    add_pod(row, pod);
  }
  /// From now on so much more of a resource is used on the row, or less, than its pods ask for: where a pod
  /// lives in the room that another one holds, it counts once. Whoever says so takes it back.
  void correct(Row row, ResourceId resource, std::int64_t amount);
  /// The object of a pod on the row is another now, in nothing that the table counts.
  void change_pod(Row row, const PodInfo& pod);
  /// What a plugin keeps of the row beside the table is another now: its verdicts and scores may be.
  void mark(Row row) { log(row, false); }
  /// Told from now on; outlives the table's last change.
  void observe(ClusterObserver& observer) { observers_.push_back(&observer); }

  std::size_t rows() const { return nodes_.size(); }
  /// The rows that hold a node.
  std::uint32_t nodes() const { return live_; }

  /// nullptr: the row holds no node.
  const std::shared_ptr<const api::Node>& node(Row row) const { return nodes_[row]; }
  Symbol name(Row row) const { return names_[row]; }
  /// The pods that count on it, in no order.
  std::span<const PodInfo* const> pods(Row row) const { return pods_[row]; }
  std::span<const HostPort> ports(Row row) const { return ports_[row]; }
  /// Zero for resources that the node does not have.
  std::int64_t allocatable(ResourceId resource, Row row) const { return cells_.allocatable(resource, row); }
  std::int64_t used(ResourceId resource, Row row) const { return cells_.used(resource, row); }
  const ResourceCells& cells() const { return cells_; }
  /// Whole columns, of rows() entries; nullptr for a resource that none or few of the nodes have.
  const std::int64_t* allocatable_column(ResourceId resource) const {
    return cells_.allocatable_column(resource);
  }
  const std::int64_t* used_column(ResourceId resource) const { return cells_.used_column(resource); }
  /// A resource that a configuration names: it has columns at all times.
  ResourceId keep_resource(std::string_view name) {
    const ResourceId id = resources_.id(name);
    cells_.keep(id);
    return id;
  }

  ResourceNames& resources() { return resources_; }
  /// Gives back the numbers that neither nodes and the pods on them nor `used` (of resources().size()) have.
  void forget_resources(std::vector<bool> used, std::size_t apart) {
    cells_.mark_used(used);
    resources_.keep(used, apart);
  }
  const ResourceNames& resources() const { return resources_; }

  /// The change log. Entries are numbered from 0 for ever; a reader keeps the number up to which it has
  /// read. Of several entries for a row only the last one need be looked at: latest() tells.
  std::uint64_t log_end() const { return log_begin_ + log_.size(); }
  std::uint64_t log_begin() const { return log_begin_; }
  Row change(std::uint64_t number) const { return log_[number - log_begin_]; }
  /// False: a later entry tells of the same row.
  bool latest(std::uint64_t number) const { return last_change_[change(number)] == number; }
  /// Another one whenever the row has been given up: what was kept with it is nobody's.
  std::uint32_t generation(Row row) const { return generations_[row]; }
  /// The number of the last entry that told of a new object for the row, not only of pods.
  std::uint64_t node_change(Row row) const { return last_node_change_[row]; }
  /// How often anything of the row has changed: what follows from it holds while the number is the same.
  std::uint64_t changes(Row row) const { return changes_[row]; }
  /// A pod on the row is told of anew, in something that counts for no one but preemption: when it started.
  void touch(Row row) { ++changes_[row]; }
  /// The same of all rows.
  std::uint64_t newest_node_change() const { return newest_node_change_; }
  /// The log keeps at least so many entries, and one a row.
  void keep_log(std::size_t entries) { min_log_ = entries; }

 private:
  void set_allocatable(Row row, const api::Node* before, const api::Node* now);
  void account(Row row, const Requests& requests, bool take_back);
  void log(Row row, bool node);
  void take_out(Row row, const PodInfo& pod);
  void release_if_unused(Row row);

  ResourceNames resources_;
  std::unordered_map<Symbol, Row> index_;
  std::vector<Row> free_;
  std::uint32_t live_ = 0;

  std::vector<Symbol> names_;
  std::vector<std::shared_ptr<const api::Node>> nodes_;
  std::vector<std::vector<const PodInfo*>> pods_;
  std::vector<std::vector<HostPort>> ports_;
  std::vector<ClusterObserver*> observers_;
  ResourceCells cells_;

  std::deque<Row> log_;
  std::uint64_t log_begin_ = 0;
  std::uint64_t newest_node_change_ = 0;
  std::size_t min_log_ = 1024;
  std::vector<std::uint64_t> last_change_, last_node_change_, changes_;
  std::vector<std::uint32_t> generations_;
};

}  // namespace koord::scheduling
