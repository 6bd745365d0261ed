// Tree: the domains of a network topology, with the nodes as their leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace koord::scheduling::coscheduling::topology {

/// All leaves are equally deep. A domain is there as long as a node lies in it. Two of the same name and
/// layer in different domains are two.
class Tree {
 public:
  using Id = std::uint32_t;
  static constexpr Id kRoot = 0;  // the cluster
  static constexpr Id kNone = static_cast<Id>(-1);

  struct Domain {
    std::string name;
    Id parent = kNone;
    std::uint32_t layer = 0;  // as Layers has it
    std::uint32_t nodes = 0;
    std::vector<Id> children = {};  // in no order
    std::uint32_t place = 0;        // among its parent's children
  };

  Tree() { clear(); }
  /// Of a node that is not there: its names from the highest domain to its own, at least one. Returns its
  /// leaf.
  Id put(std::span<const std::string> path);
  /// With what is empty then.
  void remove(Id leaf);
  void clear();

  /// Of an id that is not there any more: without nodes.
  const Domain& operator[](Id id) const { return domains_[id]; }
  /// Every id is below it.
  std::size_t size() const { return domains_.size(); }
  /// Another one with each change.
  std::uint64_t version() const { return version_; }
  /// The domains of a layer, by name.
  std::vector<Id> of_layer(std::size_t layer) const;
  /// Its children by name, into `out`.
  void children_by_name(Id id, std::vector<Id>& out) const;

 private:
  static std::string key(Id parent, const std::string& name);

  std::vector<Domain> domains_;
  std::vector<Id> free_;
  std::unordered_map<std::string, Id> index_;  // by parent and name
  std::uint64_t version_ = 0;
};

}  // namespace koord::scheduling::coscheduling::topology
