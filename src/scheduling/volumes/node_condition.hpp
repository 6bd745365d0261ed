// NodeCondition: on which nodes something can be used (a volume, a pool of storage, a class), by their
// labels.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "koord/api/rules/node_selector.hpp"
#include "koord/api/types/storage_v1/storage_class.hpp"
#include "koord/scheduling/cluster/topology.hpp"

namespace koord::scheduling::volumes {

/// Alternatives of label values that must all be there. What lists values of labels (zones, hostnames), as
/// nearly all that is written does, costs a comparison of numbers on a row. What is malformed holds nowhere.
/// Belongs to the engine's thread.
class NodeCondition {
 public:
  NodeCondition() = default;  // everywhere
  NodeCondition(const api::NodeSelector& selector, TopologyTable& topology);
  /// The alternatives of a storage class; none: everywhere.
  NodeCondition(const api::List<api::TopologySelectorTerm>& terms, TopologyTable& topology);
  /// The nodes with these labels.
  NodeCondition(const api::LabelSelector& selector, TopologyTable& topology);

  bool everywhere() const { return !restricted_; }
  bool holds(const NodeTable& nodes, Row row) const;

  /// One of a label's values.
  struct In {
    TopologyRef key;
    std::vector<Symbol> values;  // sorted
    bool holds(Row row) const;
  };
  /// Where there is one alternative: what it holds on has one of these values. nullptr: nothing so simple can
  /// be said.
  const In* narrowed() const;
  /// That is all there is to it.
  bool only_narrowed() const { return terms_.front().in.size() == 1 && !terms_.front().other; }

 private:
  struct Term {
    std::vector<In> in;
    std::shared_ptr<const api::CompiledNodeTerm> other;  // what is no list of values
  };
  void add(const api::NodeSelectorTerm& term, TopologyTable& topology);

  std::vector<Term> terms_;
  bool restricted_ = false;
};

/// Things with conditions, in the order in which they are preferred: finds those that can be used on a row
/// without looking at those that cannot. The conditions, and the nodes' labels, stay as they are meanwhile.
class Choices {
 public:
  /// The next one.
  void add(const NodeCondition& condition);
  std::size_t size() const { return conditions_.size(); }
  /// Calls visit(number) for those whose condition holds, in order, until it says true; whether it did.
  template <class Visit>
  bool first(const NodeTable& nodes, Row row, Visit&& visit) const {
    begin(row);
    for (std::int32_t at = next(); at >= 0; at = next())
      if ((sure_[static_cast<std::size_t>(at)] ||
           conditions_[static_cast<std::size_t>(at)]->holds(nodes, row)) &&
          visit(static_cast<std::size_t>(at)))
        return true;
    return false;
  }

 private:
  struct Link {
    std::int32_t number, next;
  };
  /// Those of one label, by their value.
  struct Chain {
    const TopologyKey* key;
    std::vector<std::int32_t> heads, tails;  // into links_, by domain; -1: none
    std::int32_t at = -1;
  };
  void begin(Row row) const;
  std::int32_t next() const;

  std::vector<const NodeCondition*> conditions_;
  std::vector<bool> sure_;  // holds on all rows that it is found by
  std::vector<Link> links_;
  std::vector<std::int32_t> rest_;
  mutable std::vector<Chain> chains_;
  mutable std::size_t rest_at_ = 0;
};

}  // namespace koord::scheduling::volumes
