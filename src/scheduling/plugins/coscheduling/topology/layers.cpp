// Layers: see layers.hpp.
#include "scheduling/plugins/coscheduling/topology/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace koord::scheduling::coscheduling::topology {

namespace {

Error invalid(std::string text) { return Error(Code::invalid, std::move(text)); }

}  // namespace

std::optional<std::size_t> Layers::find(std::string_view name) const {
  const auto it = std::ranges::find(all, name, &Layer::name);
  if (it == all.end()) return std::nullopt;
  return static_cast<std::size_t>(it - all.begin());
}

Result<Layers> read_layers(const api::ClusterNetworkTopologySpec& spec) {
  std::map<std::string_view, const api::NetworkTopologyLayer*> by_name;
  if (spec.network_topology_spec.size() >= Layers::kMost)
    return invalid(fmt::format("there are {} topology layers, more than {}",
                               spec.network_topology_spec.size(), Layers::kMost - 1));
  for (const api::NetworkTopologyLayer& layer : spec.network_topology_spec)
    if (!by_name.emplace(layer.topology_layer.view(), &layer).second)
      return invalid(fmt::format("topology layer \"{}\" is there twice", layer.topology_layer.view()));
  if (by_name.contains(api::kClusterTopologyLayer))
    return invalid(fmt::format("topology layer \"{}\" is the cluster itself, and cannot be one of its layers",
                               api::kClusterTopologyLayer));
  Layers layers;
  std::set<std::string_view> seen;
  std::string_view name = api::kNodeTopologyLayer;
  while (seen.size() < by_name.size() || seen.empty()) {
    const auto it = by_name.find(name);
    if (it == by_name.end() && !seen.empty() && (name.empty() || name == api::kClusterTopologyLayer)) break;
    if (it == by_name.end()) return invalid(fmt::format("topology layer \"{}\" not found in spec", name));
    if (!seen.insert(name).second)
      return invalid(fmt::format("topology layer \"{}\" hangs under itself", name));
    Layer& layer = layers.all.emplace_back();
    layer.name = name;
    for (const Symbol& key : it->second->label_key)
      if (name != api::kNodeTopologyLayer) layer.labels.push_back(key.str());
    name = it->second->parent_topology_layer.view();
  }
  for (const auto& [each, layer] : by_name)
    if (!seen.contains(each))
      return invalid(
          fmt::format("topology layer \"{}\" has no nodes below it: no layer between it and the "
                      "nodes names it as its parent",
                      each));
  if (seen.contains(name)) return invalid(fmt::format("topology layer \"{}\" hangs under itself", name));
  layers.all.push_back({std::string(api::kClusterTopologyLayer), {}});
  std::ranges::reverse(layers.all);
  return layers;
}

Path path_of(const Layers& layers, std::string_view node, const api::SymbolMap& labels) {
  Path path;
  path.names.reserve(layers.nodes());
  for (std::size_t at = 1; at < layers.all.size(); ++at) {
    const Layer& layer = layers.all[at];
    std::string_view name = at == layers.nodes() ? node : std::string_view();
    for (const std::string& key : layer.labels) {
      if (!name.empty()) break;
      if (const Symbol* value = labels.find(key)) name = value->view();
    }
    if (name.empty() && at + 1 == layers.nodes()) name = node;
    if (name.empty()) return {{}, &layer};
    path.names.emplace_back(name);
  }
  return path;
}

}  // namespace koord::scheduling::coscheduling::topology
