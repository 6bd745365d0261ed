// Topology: in which domain of a topology key a node lies, one column a key for all plugins that ask.
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/base/symbol.hpp"
#include "koord/scheduling/cluster/cluster_observer.hpp"
#include "koord/scheduling/cluster/node_table.hpp"

namespace koord::scheduling {

/// A domain of one topology key: the nodes whose label has one value. Small numbers, which are used again.
using DomainId = std::uint32_t;
constexpr DomainId kNoDomain = ~DomainId{0};

class TopologyTable;

/// The nodes' values of one label.
class TopologyKey {
 public:
  class Observer {
   public:
    virtual ~Observer() = default;
    /// The column says `to` already; `from`, even if no node is left in it, is nobody else's until the call
    /// returns. One of them may be kNoDomain. The row's node may have changed in other ways, and other keys
    /// may tell of the same change later.
    virtual void domain_changed(const TopologyKey& key, Row row, DomainId from, DomainId to) = 0;
  };

  Symbol name() const { return name_; }
  /// By row: the domain of the node there, kNoDomain for no node or one without the label. All rows that
  /// hold a node are in it; valid until the next change of a node.
  std::span<const DomainId> column() const;
  DomainId domain(Row row) const { return row < column_.size() ? column_[row] : kNoDomain; }

  /// Domains with a node, and the nodes in any of them.
  std::uint32_t domains() const { return static_cast<std::uint32_t>(ids_.size()); }
  std::uint32_t nodes() const { return nodes_; }
  /// All domains' numbers are below; some may be unused.
  DomainId id_limit() const { return static_cast<DomainId>(domains_.size()); }
  /// The label's value.
  const Symbol& value(DomainId id) const { return domains_[id].value; }
  /// 0: the number is unused.
  std::uint32_t nodes(DomainId id) const { return domains_[id].nodes; }
  /// kNoDomain: no node has this value.
  DomainId find(Symbol value) const;
  /// Each node is a domain of its own, with its row's number: so it is with a hostname, mostly.
  bool by_row() const { return out_of_place_ == 0; }

  /// Told of each change until it is taken out; not from within domain_changed().
  void observe(Observer& observer) { observers_.push_back(&observer); }
  void forget(Observer& observer) { std::erase(observers_, &observer); }

 private:
  friend TopologyTable;
  friend void intrusive_ptr_add_ref(TopologyKey* key);
  friend void intrusive_ptr_release(TopologyKey* key);
  struct Domain {
    Symbol value;
    std::uint32_t nodes = 0;
  };
  TopologyKey(TopologyTable& table, Symbol name) : table_(table), name_(std::move(name)) {}
  /// nullptr: the node lost the label, or the row the node.
  void set(Row row, const Symbol* value);
  DomainId take(const Symbol& value, Row row);

  TopologyTable& table_;
  Symbol name_;
  std::vector<DomainId> column_;  // empty while no node has the label
  std::vector<Domain> domains_;
  std::vector<DomainId> free_;  // among them numbers that were taken again since
  std::unordered_map<Symbol, DomainId> ids_;
  std::uint32_t nodes_ = 0;
  std::uint32_t out_of_place_ = 0;  // nodes whose domain has not their row's number
  std::vector<Observer*> observers_;

  std::uint32_t users_ = 0;
  std::list<TopologyKey*>::iterator idle_;
};

void intrusive_ptr_add_ref(TopologyKey* key);
void intrusive_ptr_release(TopologyKey* key);
/// Holds a key for as long as somebody reads it.
using TopologyRef = boost::intrusive_ptr<TopologyKey>;

/// The keys that plugins read. A few that nobody reads are remembered by age; what no node has takes no room
/// but its name. Belongs to the engine's thread and outlives the references.
class TopologyTable final : public ClusterObserver {
 public:
  explicit TopologyTable(const NodeTable& nodes);
  TopologyTable(const TopologyTable&) = delete;
  TopologyTable& operator=(const TopologyTable&) = delete;

  /// Looks at all nodes if it is not known and a node has it.
  TopologyRef key(const Symbol& name);
  /// After each NodeTable::set_node(), of the node that was there and the one that is; before others that
  /// are told of nodes.
  void node_changed(Row row, const api::Node* before, const api::Node* now) override;
  void pod_added(Row, const PodInfo&) override {}
  void pod_removed(Row, const PodInfo&) override {}

  std::size_t size() const { return keys_.size(); }

 private:
  friend TopologyKey;
  friend void intrusive_ptr_release(TopologyKey* key);
  static constexpr std::size_t kIdle = 64;
  void release(TopologyKey& key);

  const NodeTable& nodes_;
  std::unordered_map<Symbol, TopologyKey> keys_;
  std::list<TopologyKey*> idle_;                      // the longest unused first
  std::unordered_map<Symbol, std::uint32_t> labels_;  // of the nodes' labels, by name: how many have it
  std::vector<DomainId> none_;                        // the column of what no node has
};

}  // namespace koord::scheduling
