// Layered<T>: what one key of slo-controller-config says: a strategy for the cluster, and others for groups
// of nodes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "koord/api/rules/selector.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/json/value.hpp"

namespace koord::manager {

/// How a key's JSON is laid out.
struct KeyLayout {
  std::string_view key;     // of the ConfigMap's data: "resource-threshold-config"
  std::string_view groups;  // the member with the groups of nodes: "nodeStrategies"
  bool inlined = false;     // the cluster's fields stand beside that member, not in "clusterStrategy"
  bool replaced =
      false;  // a group's strategy takes the place of the cluster's; otherwise it is merged over it
  std::string_view defaults;  // JSON of the strategy that is in effect without the key
};

/// What stands at the head of each group of nodes.
struct GroupProfile {
  std::string name;
  api::Box<api::LabelSelector> node_selector;
  KOORD_STRUCT(GroupProfile);
};

/// The same for every T: what a key came to, as documents that encode strategies.
struct LayerDocuments {
  struct Group {
    std::string name;
    api::Selector nodes;
    json::Document strategy;
  };
  json::Document cluster;
  std::vector<Group> groups;      // a group whose selector cannot be read is left out
  std::vector<std::string> left;  // "NAME: what is wrong with its selector"
};

/// Reads a key's text with Go's rules (go_json.hpp): the defaults, over them the cluster's strategy, over
/// that each group's. Errors of Code::parse say where.
Result<LayerDocuments> read_layers(std::string_view text, const KeyLayout& layout, const api::Schema& schema);

/// Strategies by groups of nodes; the first group that selects a node is its.
template <class T>
class Layered {
 public:
  struct Group {
    std::string name;
    api::Selector nodes;
    T strategy;
    friend bool operator==(const Group& a, const Group& b) {
      return a.name == b.name && a.nodes.is_nothing() == b.nodes.is_nothing() &&
             a.nodes.to_string() == b.nodes.to_string() && a.strategy == b.strategy;
    }
  };
  T cluster;
  std::vector<Group> groups;

  const T& of(const api::SymbolMap& labels) const {
    for (const Group& group : groups)
      if (group.nodes.matches(labels)) return group.strategy;
    return cluster;
  }
  friend bool operator==(const Layered&, const Layered&) = default;

  /// `left` gets a line for each group that is left out.
  static Result<Layered> read(std::string_view text, const KeyLayout& layout,
                              std::vector<std::string>& left) {
    KOORD_TRY(layers, read_layers(text, layout, api::schema<T>()));
    Layered all;
    KOORD_TRY(cluster, api::decode<T>(layers.cluster));
    all.cluster = std::move(cluster);
    for (LayerDocuments::Group& group : layers.groups) {
      KOORD_TRY(strategy, api::decode<T>(group.strategy));
      all.groups.push_back({std::move(group.name), std::move(group.nodes), std::move(strategy)});
    }
    left.insert(left.end(), layers.left.begin(), layers.left.end());
    return all;
  }
  /// What is in effect without the key.
  static Layered defaults(const KeyLayout& layout) {
    Layered all;
    all.cluster = api::decode<T>(layout.defaults).value();  // static text
    return all;
  }
};

}  // namespace koord::manager
