// Volumes that moved to CSI drivers: see migration.hpp.
#include "plugins/volume_binding/migration.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "plugins/volumes/csi_migration.hpp"

namespace koord::scheduler::volume_binding {

namespace {

constexpr std::string_view kZone = "topology.kubernetes.io/zone",
                           kOldZone = "failure-domain.beta.kubernetes.io/zone",
                           kRegion = "topology.kubernetes.io/region",
                           kOldRegion = "failure-domain.beta.kubernetes.io/region";
/// Between the zones of a volume's label.
constexpr std::string_view kZonesApart = "__";

struct Row {
  unsigned plugin;
  std::string_view name, topology_key;
};
constexpr Row kPlugins[] = {
    {kAwsEbs, "kubernetes.io/aws-ebs", "topology.ebs.csi.aws.com/zone"},
    {kGcePd, "kubernetes.io/gce-pd", "topology.gke.io/zone"},
    {kCinder, "kubernetes.io/cinder", "topology.cinder.csi.openstack.org/zone"},
};

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
  if (volume.spec.aws_elastic_block_store) return kAwsEbs;
  if (volume.spec.gce_persistent_disk) return kGcePd;
  return volume.spec.cinder ? unsigned{kCinder} : 0;
}

unsigned migrated_plugins(const api::CsiNode& node) {
  const Symbol* listed = node.metadata.annotations.find(volumes::kMigratedPlugins);
  if (listed == nullptr) return 0;
  unsigned plugins = 0;
  std::string_view left = listed->view();
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(','), left.size());
    for (const Row& row : kPlugins)
      if (left.substr(0, end) == row.name) plugins |= row.plugin;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return plugins;
}

api::Box<api::NodeSelector> required_nodes(const api::PersistentVolume& volume, unsigned plugin) {
  api::Box<api::NodeSelector> required;
  if (volume.spec.node_affinity) required = volume.spec.node_affinity->required;
  const auto* row = std::find_if(std::begin(kPlugins), std::end(kPlugins),
                                 [&](const Row& r) { return r.plugin == plugin; });
  if (row == std::end(kPlugins)) return required;
  const auto& labels = volume.metadata.labels;
  const bool affine = required.has_value();
  const bool old =
      !(affine && names(*required, kZone)) &&
      ((affine && names(*required, kOldZone)) || (!labels.contains(kZone) && labels.contains(kOldZone)));
  const std::string_view zone_key = old ? kOldZone : kZone;
  if (affine && has_values(*required, zone_key)) {
    rename(*required, zone_key, row->topology_key);
  } else if (const Symbol* label = labels.find(zone_key)) {
    const std::set<std::string_view> zones = zones_of(label->view());
    if (!zones.empty()) {
      auto& terms = required.ensure().node_selector_terms;
      if (terms.empty()) terms.emplace_back();
      for (auto& term : terms) {
        auto& in = term.match_expressions.emplace_back();
        in.key = Symbol(row->topology_key);
        in.operator_ = "In";
        for (const std::string_view zone : zones) in.values.push_back(Symbol(zone));
      }
    }
  }
  if (old && required && has_values(*required, kOldRegion)) rename(*required, kOldRegion, kRegion);
  return required;
}

}  // namespace koord::scheduler::volume_binding
