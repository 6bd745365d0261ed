// Volumes that moved to CSI drivers: see migration.hpp.
#include "scheduling/plugins/volume_binding/migration.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "scheduling/volumes/csi_migration.hpp"

namespace koord::scheduling::volume_binding {

namespace {

constexpr std::string_view kZone = "topology.kubernetes.io/zone",
                           kOldZone = "failure-domain.beta.kubernetes.io/zone",
                           kRegion = "topology.kubernetes.io/region",
                           kOldRegion = "failure-domain.beta.kubernetes.io/region";
/// Between the zones of a volume's label.
constexpr std::string_view kZonesApart = "__";

unsigned bit_of(const volumes::InTreePlugin* plugin) {
  if (plugin == nullptr || plugin->zone_key.empty()) return 0;
  return 1U << (plugin - volumes::in_tree_plugins().data());
}

bool names(const api::NodeSelector& selector, std::string_view key) {
  for (const auto& term : selector.node_selector_terms)
    for (const auto& r : term.match_expressions)
      if (r.key == key) return true;
  return false;
}

bool has_values(const api::NodeSelector& selector, std::string_view key) {
  for (const auto& term : selector.node_selector_terms)
    for (const auto& r : term.match_expressions)
      if (r.key == key && !r.values.empty()) return true;
  return false;
}

void rename(api::NodeSelector& selector, std::string_view from, std::string_view to) {
  for (auto& term : selector.node_selector_terms)
    for (auto& r : term.match_expressions)
      if (r.key == from) r.key = Symbol(to);
}

/// Of the volume's label; sorted, each once.
std::set<std::string_view> zones_of(std::string_view label) {
  std::set<std::string_view> zones;
  for (;;) {
    const std::size_t end = label.find(kZonesApart);
    if (const std::string_view zone = label.substr(0, end); !zone.empty()) zones.insert(zone);
    if (end == std::string_view::npos) return zones;
    label.remove_prefix(end + kZonesApart.size());
  }
}

}  // namespace

unsigned plugin_of(const api::PersistentVolume& volume) {
  const auto moved = volumes::in_tree_volume(volume);
  return moved ? bit_of(moved->plugin) : 0;
}

unsigned migrated_plugins(const api::CsiNode& node) {
  const Symbol* listed = node.metadata.annotations.find(volumes::kMigratedPlugins);
  if (listed == nullptr) return 0;
  unsigned plugins = 0;
  std::string_view left = listed->view();
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(','), left.size());
    plugins |= bit_of(volumes::in_tree_plugin(left.substr(0, end)));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return plugins;
}

api::Box<api::NodeSelector> required_nodes(const api::PersistentVolume& volume, unsigned plugin) {
  api::Box<api::NodeSelector> required;
  if (volume.spec.node_affinity) required = volume.spec.node_affinity->required;
  if (plugin == 0) return required;
  const auto all = volumes::in_tree_plugins();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](auto& each) { return bit_of(&each) == plugin; });
  if (found == all.end()) return required;
  const std::string_view zone_of_driver = found->zone_key;
  const auto& labels = volume.metadata.labels;
  const bool affine = required.has_value();
  const bool old =
      !(affine && names(*required, kZone)) &&
      ((affine && names(*required, kOldZone)) || (!labels.contains(kZone) && labels.contains(kOldZone)));
  const std::string_view zone_key = old ? kOldZone : kZone;
  if (affine && has_values(*required, zone_key)) {
    rename(*required, zone_key, zone_of_driver);
  } else if (const Symbol* label = labels.find(zone_key)) {
    const std::set<std::string_view> zones = zones_of(label->view());
    if (!zones.empty()) {
      auto& terms = required.ensure().node_selector_terms;
      if (terms.empty()) terms.emplace_back();
      for (auto& term : terms) {
        auto& in = term.match_expressions.emplace_back();
        in.key = Symbol(zone_of_driver);
        in.operator_ = "In";
        for (const std::string_view zone : zones) in.values.push_back(Symbol(zone));
      }
    }
  }
  if (old && required && has_values(*required, kOldRegion)) rename(*required, kOldRegion, kRegion);
  return required;
}

}  // namespace koord::scheduling::volume_binding
