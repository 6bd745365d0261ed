// What the ConfigMap webhook checks of slo-controller-config: five of its keys, one by one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/config/layered.hpp"
#include "koord/api/types/core_v1/config_map.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/base/result.hpp"
#include "koord/json/value.hpp"

namespace koord::manager {

struct CheckedKeyRow;

/// One key, read with Go's rules. Texts are those that a user sees: upstream's, which tools read.
class CheckedKey {
 public:
  CheckedKey(const CheckedKeyRow& row, const api::ConfigMap& map);

  std::string_view key() const;
  /// Why it cannot be read; empty if it can. One that cannot be read has no groups of nodes.
  const std::string& defect() const { return defect_; }
  std::size_t groups() const { return groups_.size(); }
  bool has_several_groups() const { return groups_.size() > 1; }

  /// What is wrong with what it says, or empty: values, names (where `names` says that they matter), and
  /// groups that would share a node by what their selectors list.
  std::string check(bool names) const;
  /// The groups that the node would be in, where these are more than one; else empty.
  std::string check_node(const api::SymbolMap& labels, std::string_view node) const;

 private:
  struct Group {
    std::string name;
    api::LabelSelector selector;
    api::Selector nodes;
    json::Value strategy;
  };

  Result<> read(const api::ConfigMap& map);
  /// What is wrong with its selector; errors are those of its text.
  Result<std::string> read_group(const json::Value& in, const std::string& path);
  std::string check_values_of_all() const;
  std::string check_names() const;
  std::string check_overlap() const;

  const CheckedKeyRow* row_;
  json::Document document_;
  json::Value cluster_;  // null where nothing is said
  std::vector<Group> groups_;
  std::optional<json::Document> system_;  // of resource-qos-config: system-config, where it is there
  std::string defect_;
};

/// All five, in upstream's order; those alone that say something other than in `before` (nullptr: all that
/// say something). `all`: those that are empty, too, which then have a defect.
std::vector<CheckedKey> checked_keys(const api::ConfigMap& map, const api::ConfigMap* before,
                                     bool all = false);

/// How a node's labels reach the check: called for each node until it says that it is enough.
using VisitNodes = std::function<void(const std::function<bool(const api::Node&)>&)>;

/// The whole check of a ConfigMap; empty if it may be stored.
std::string check_config(const api::ConfigMap& map, const api::ConfigMap* before, bool names,
                         const VisitNodes& nodes);

}  // namespace koord::manager
