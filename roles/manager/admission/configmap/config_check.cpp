// The check of slo-controller-config: see config_check.hpp.
#include "admission/configmap/config_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "admission/configmap/network_qos_check.hpp"
#include "admission/configmap/value_rules.hpp"
#include "framework/config/go_json.hpp"
#include "framework/config/slo_config.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/json/writer.hpp"

namespace koord::manager {

/// One of the five keys.
struct CheckedKeyRow {
  std::string_view key;
  std::string_view title;  // in the message that it cannot be read
  const api::Schema& (*schema)();
  std::span<const ValuePart> (*values)();
  std::string_view cluster_prefix;  // of the names of fields in messages
  std::string_view group_prefix;    // {} is the group's index
  std::string_view group_suffix;
};

namespace {

using json::Value;

constexpr std::string_view kQosKey = "resource-qos-config", kSystemKey = "system-config";

const CheckedKeyRow kRows[] = {
    {"colocation-config", "colocation", &api::schema<ColocationStrategy>, &colocation_values,
     "ColocationCfg.ColocationStrategy.", "ColocationCfg.NodeConfigs[", "].ColocationStrategy."},
    {"resource-threshold-config", "resourceThreshold", &api::schema<api::ResourceThresholdStrategy>,
     &threshold_values, "ResourceThresholdCfg.ClusterStrategy.", "ResourceThresholdCfg.NodeStrategies[",
     "].ResourceThresholdStrategy."},
    {kQosKey, "ResourceQOS", &api::schema<api::ResourceQosStrategy>, &qos_values,
     "ResourceQOSCfg.ClusterStrategy.", "ResourceQOSCfg.NodeStrategies[", "].ResourceQOSStrategy."},
    {kSystemKey, "System", &api::schema<api::SystemStrategy>, &system_values, "SystemCfg.ClusterStrategy.",
     "SystemCfg.NodeStrategies[", "].SystemStrategy."},
    {"cpu-burst-config", "CpuBurst", &api::schema<api::CpuBurstStrategy>, &burst_values,
     "CPUBurstCfg.ClusterStrategy.", "CPUBurstCfg.NodeStrategies[", "].CPUBurstStrategy."},
};

/// What one check may cost: nodes that a selector is tried with, and selectors that are tried altogether.
/// Beyond that it is not looked further; the nodes that there are, are checked besides.
constexpr std::size_t kMostMadeUpNodes = 1'000, kMostMatches = 2'000'000;

const KeyLayout& layout_of(std::string_view key) {
  return *std::ranges::find(config_keys(), key, &KeyLayout::key);
}

/// The form in which upstream answers; `message` is JSON.
std::string json_error(std::string_view reason, std::string_view message) {
  std::string text = fmt::format("___{{\"reason\":{},\"message\":{}}}___", json::quote(reason), message);
  // As Go's encoder writes what HTML would take for its own.
  for (const auto& [plain, escaped] : {std::pair{'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}})
    for (std::size_t at = 0; (at = text.find(plain, at)) != std::string::npos; at += 6)
      text.replace(at, 1, escaped);
  return text;
}

std::string invalid_parameter(std::string_view message) {
  return json_error("ConfigParamInvalid", json::quote(message));
}

std::string unreadable(const CheckedKeyRow& row, const api::ConfigMap& map, std::string_view why) {
  return json_error("ParseConfigFail", json::quote(fmt::format(
                                           "Failed to parse {} config in configmap {}/{}, err: {}", row.title,
                                           map.metadata.namespace_.view(), map.metadata.name, why)));
}

/// {"config":...,"strategies":[...],"exampleNodes":[...]}
std::string conflict(std::string_view reason, std::string_view key, std::span<const std::string_view> groups,
                     std::string_view node = {}) {
  std::string text;
  json::Writer json(text);
  json.begin_object().member("config", key).key("strategies").begin_array();
  for (const std::string_view name : groups) json.value(name);
  json.end_array();
  if (!node.empty()) json.key("exampleNodes").begin_array().value(node).end_array();
  json.end_object();
  return json_error(reason, text);
}

/// As upstream's protocol buffers print it.
std::string print(const api::LabelSelector& selector) {
  std::string out = "&LabelSelector{MatchLabels:map[string]string{";
  for (const auto& [key, value] : selector.match_labels)
    fmt::format_to(std::back_inserter(out), "{}: {},", key.view(), value.view());
  out += "},MatchExpressions:[]LabelSelectorRequirement{";
  for (const api::LabelSelectorRequirement& expression : selector.match_expressions) {
    fmt::format_to(std::back_inserter(out), "LabelSelectorRequirement{{Key:{},Operator:{},Values:[",
                   expression.key.view(), expression.operator_.view());
    for (std::size_t i = 0; i < expression.values.size(); ++i)
      fmt::format_to(std::back_inserter(out), "{}{}", i > 0 ? " " : "", expression.values[i].view());
    out += "],},";
  }
  return out += "},}";
}

using MadeUpNode = std::map<std::string_view, std::string_view>;

/// Nodes that a selector lists: its matchLabels with the values of its expressions, whatever their operators,
/// the i-th node with the value i modulo their number. As many as there are different ones, within the bound.
std::vector<MadeUpNode> made_up_nodes(const api::LabelSelector& selector) {
  std::size_t count = 1;
  for (const api::LabelSelectorRequirement& expression : selector.match_expressions)
    if (!expression.values.empty() && count < kMostMadeUpNodes)
      count = std::lcm(count, expression.values.size());
  std::vector<MadeUpNode> nodes(std::min(count, kMostMadeUpNodes));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const auto& [key, value] : selector.match_labels) nodes[i][key] = value;
    for (const api::LabelSelectorRequirement& expression : selector.match_expressions)
      if (!expression.values.empty())
        nodes[i][expression.key] = expression.values[i % expression.values.size()];
  }
  return nodes;
}

bool matches(const api::Selector& selector, const MadeUpNode& node) {
  return std::ranges::all_of(selector.requirements(), [&](const api::SelectorRequirement& requirement) {
    const auto label = node.find(requirement.key.view());
    return requirement.matches_value(label != node.end() ? std::optional(label->second) : std::nullopt);
  });
}

/// What a strategy says, over what it inherits.
Value in_effect(const Value& base, const Value& said, const api::Schema& schema, json::Arena& arena) {
  Value merged = json::clone(base, arena);
  if (!merged.is_object()) merged.set_object();
  if (said.is_object()) merge_like_go(merged, said, schema, arena);
  return merged;
}

/// Without the members that are null: they say nothing.
void drop_nulls(Value& value) {
  if (!value.is_object()) return;
  value.erase_if([](const json::Member& member) { return member.value.is_null(); });
  for (json::Member& member : value.members()) drop_nulls(member.value);
}

}  // namespace

CheckedKey::CheckedKey(const CheckedKeyRow& row, const api::ConfigMap& map) : row_(&row) {
  if (const auto done = read(map); !done && defect_.empty())
    defect_ = unreadable(row, map, done.error().message());
  if (!defect_.empty()) groups_.clear();
}

std::string_view CheckedKey::key() const { return row_->key; }

Result<> CheckedKey::read(const api::ConfigMap& map) {
  const KeyLayout& layout = layout_of(row_->key);
  KOORD_CHECK(document_.read(api::value_or(map.data, row_->key)));
  if (document_.is_null()) document_.set_object();
  if (!document_.is_object()) return Error(Code::parse, ".: an object is expected");
  const Value* const cluster = layout.inlined ? &document_ : find_like_go(document_, "clusterStrategy");
  if (cluster != nullptr && !cluster->is_null()) {
    KOORD_TRY(said, read_like_go(*cluster, row_->schema(), document_.arena()));
    drop_nulls(said);
    cluster_ = std::move(said);
  }
  const Value* const groups = find_like_go(document_, layout.groups);
  if (groups != nullptr && !groups->is_null() && !groups->is_array())
    return Error(Code::parse, fmt::format(".{}: an array is expected", layout.groups));
  std::string wrong_selector;
  for (std::size_t i = 0; groups != nullptr && i < groups->size(); ++i) {
    KOORD_TRY(wrong, read_group((*groups)[i], fmt::format(".{}[{}]", layout.groups, i)));
    if (wrong_selector.empty()) wrong_selector = std::move(wrong);
  }
  if (row_->key == kQosKey && !api::value_or(map.data, kSystemKey).empty()) {
    const auto system = json::parse(api::value_or(map.data, kSystemKey));
    if (!system) {
      defect_ = unreadable(*std::ranges::find(kRows, kSystemKey, &CheckedKeyRow::key), map,
                           system.error().message());
      return {};
    }
    system_ = json::clone(*system);
  }
  defect_ = std::move(wrong_selector);
  return {};
}

Result<std::string> CheckedKey::read_group(const Value& in, const std::string& path) {
  Group group;
  group.strategy.set_object();
  std::optional<api::LabelSelector> selector;
  if (!in.is_null()) {
    auto profile_text = read_like_go(in, api::schema<GroupProfile>(), document_.arena());
    if (!profile_text) return Error(Code::parse, fmt::format("{}{}", path, profile_text.error().message()));
    KOORD_TRY(profile, api::decode<GroupProfile>(*profile_text));
    auto said = read_like_go(in, row_->schema(), document_.arena());
    if (!said) return Error(Code::parse, fmt::format("{}{}", path, said.error().message()));
    group.name = std::move(profile.name);
    if (profile.node_selector) selector = std::move(*profile.node_selector);
    group.strategy = std::move(*said);
    drop_nulls(group.strategy);
  }
  std::string wrong;
  if (!selector || (selector->match_labels.empty() && selector->match_expressions.empty())) {
    wrong = invalid_parameter(
        fmt::format("nodeConfigs NodeSelector must not empty error! configType: {},nodeConfig name:{}",
                    row_->key, group.name));
  } else if (auto nodes = api::Selector::from(&*selector)) {
    group.nodes = std::move(*nodes);
    group.selector = std::move(*selector);
  } else {
    wrong = invalid_parameter(
        fmt::format("failed to parse node selector {},configType: {},nodeConfig name:{}, err: {}",
                    print(*selector), row_->key, group.name, nodes.error().message()));
  }
  groups_.push_back(std::move(group));
  return wrong;
}

std::string CheckedKey::check(bool names) const {
  if (!defect_.empty()) return defect_;
  if (std::string wrong = check_values_of_all(); !wrong.empty()) return wrong;
  if (names)
    if (std::string wrong = check_names(); !wrong.empty()) return wrong;
  return check_overlap();
}

std::string CheckedKey::check_values_of_all() const {
  ValueErrors errors;
  json::Document base;
  if (const auto read = base.read(layout_of(row_->key).defaults); !read)
    return read.error().message();  // static text
  const Value cluster = in_effect(base, cluster_, row_->schema(), base.arena());
  if (cluster_.is_object()) check_values(cluster_, cluster, row_->values(), row_->cluster_prefix, errors);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    json::Document scratch;
    const Value merged = in_effect(cluster, groups_[i].strategy, row_->schema(), scratch.arena());
    check_values(groups_[i].strategy, merged, row_->values(),
                 fmt::format("{}{}{}", row_->group_prefix, i, row_->group_suffix), errors);
  }
  if (!errors.empty()) {
    std::string text;
    json::Writer json(text);
    json.begin_object();
    for (const auto& [name, wrong] : errors) json.member(name, wrong);
    json.end_object();
    return json_error("ConfigParamInvalid", text);
  }
  if (row_->key != kQosKey) return {};
  std::vector<GroupStrategy> strategies;
  strategies.reserve(groups_.size());
  for (const Group& group : groups_) strategies.push_back({&group.selector, &group.strategy});
  return check_network_qos(cluster_, strategies, system_ ? &*system_ : nullptr);
}

std::string CheckedKey::check_names() const {
  std::set<std::string_view> seen;
  for (const Group& group : groups_) {
    if (group.name.empty())
      return invalid_parameter(fmt::format("nodeConfig Name need! configType:{}", row_->key));
    if (!seen.insert(group.name).second)
      return invalid_parameter(fmt::format("nodeConfig Name confilict, configType:{},nodeConfig Name:{}! ",
                                           row_->key, group.name));
  }
  return {};
}

std::string CheckedKey::check_overlap() const {
  std::size_t tried = 0;
  for (const Group& from : groups_) {
    for (const MadeUpNode& node : made_up_nodes(from.selector)) {
      std::vector<std::string_view> in;
      for (const Group& group : groups_)
        if (matches(group.nodes, node)) in.push_back(group.name);
      if (in.size() > 1) return conflict("NodeStrategiesOverlap", row_->key, in);
      if ((tried += groups_.size()) > kMostMatches) return {};
    }
  }
  return {};
}

std::string CheckedKey::check_node(const api::SymbolMap& labels, std::string_view node) const {
  if (!has_several_groups()) return {};
  std::vector<std::string_view> in;
  for (const Group& group : groups_)
    if (group.nodes.matches(labels)) in.push_back(group.name);
  return in.size() > 1 ? conflict("ExistNodeConfict", row_->key, in, node) : std::string();
}

std::vector<CheckedKey> checked_keys(const api::ConfigMap& map, const api::ConfigMap* before, bool all) {
  std::vector<CheckedKey> keys;
  for (const CheckedKeyRow& row : kRows) {
    const std::string_view now = api::value_or(map.data, row.key);
    const bool changed = !now.empty() && (before == nullptr || now != api::value_or(before->data, row.key));
    if (all || changed) keys.emplace_back(row, map);
  }
  return keys;
}

std::string check_config(const api::ConfigMap& map, const api::ConfigMap* before, bool names,
                         const VisitNodes& nodes) {
  const std::vector<CheckedKey> keys = checked_keys(map, before);
  for (const CheckedKey& key : keys)
    if (std::string wrong = key.check(names); !wrong.empty()) return wrong;
  if (std::ranges::none_of(keys, &CheckedKey::has_several_groups)) return {};
  std::string wrong;
  std::size_t tried = 0;
  nodes([&](const api::Node& node) {
    for (const CheckedKey& key : keys) {
      wrong = key.check_node(node.metadata.labels, node.metadata.name);
      if (!wrong.empty()) return false;
      tried += key.groups();
    }
    return tried <= kMostMatches;
  });
  return wrong;
}

}  // namespace koord::manager
