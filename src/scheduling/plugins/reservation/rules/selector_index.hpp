// SelectorIndex: the nodes that have reservations with certain labels, for pods that select by these.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/base/metrics.hpp"
#include "koord/base/symbol.hpp"

namespace koord::scheduling::reservation {

/// Of the labels whose keys, or beginnings of keys, its arguments name. It looks at a reservation's own
/// labels alone, never at those of its node: who asks it for a label that only nodes have finds none, as in
/// Koordinator. Belongs to the engine's thread.
class SelectorIndex {
 public:
  using Uids = std::set<std::string>;
  using Nodes = std::map<Symbol, Uids>;

  /// Blank keys count for nothing; without any it is off.
  SelectorIndex(bool enabled, const std::vector<std::string>& prefixes, const std::vector<std::string>& keys);

  bool enabled() const { return enabled_; }
  /// A reservation on a node as it is now, whatever it was before.
  void put(const std::string& uid, const Symbol& node, const api::SymbolMap& labels);
  void remove(const std::string& uid);
  /// The least of what the selector's labels are found under: what is not there matches it nowhere. nullptr:
  /// none of its keys is indexed.
  const Nodes* candidates(const api::SymbolMap& selector) const;
  /// Koordinator's page. `detail`: with the values of keys, and with the uids of each node.
  std::string describe(bool detail) const;

 private:
  struct Entry {
    Symbol node;
    std::vector<std::string> prefixes;
    std::vector<std::pair<std::string, Symbol>> labels;
  };
  /// nullptr: it begins with none of them.
  const std::string* prefix_of(std::string_view key) const;

  bool enabled_ = false;
  std::vector<std::string> prefixes_;  // in the order in which they are asked
  std::set<std::string, std::less<>> keys_;
  std::map<std::string, Nodes, std::less<>> by_prefix_;
  std::map<std::string, std::map<Symbol, Nodes>, std::less<>> by_label_;
  std::unordered_map<std::string, Entry> entries_;  // by uid
};

/// How the index was asked. Any thread may read, one counts.
class IndexQueries {
 public:
  /// Counts from now on.
  void measure(metrics::Registry& registry);
  /// nullptr: the index had no answer. How many nodes there are is not told where there are none.
  void count(const SelectorIndex::Nodes* answer) const;

 private:
  bool measured_ = false;
  metrics::Counter hits_, misses_;
  metrics::Histogram candidates_;
};

}  // namespace koord::scheduling::reservation
