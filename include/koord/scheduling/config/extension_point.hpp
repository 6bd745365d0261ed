// The extension points: one table, from which come the defaults and the validation of a configuration's
// plugin sets, the profiles, the reference and the labels of the metrics.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "koord/scheduling/config/profile.hpp"

namespace koord::scheduling {

struct Plugins;
struct PluginSet;

struct ExtensionPoint {
  PluginSet Plugins::*configured;
  /// The profile asks the plugin there from now on; false: the plugin does not implement it. nullptr, as in
  /// the row below: koord has nothing to ask there, and what a configuration enables there is only made.
  bool (*use)(Profile& profile, Plugin& plugin, Profile::Registration registered) = nullptr;
  bool (*implemented_by)(const Plugin& plugin) = nullptr;

  /// In a configuration: "filter".
  std::string_view name() const;
  /// In metrics: "Filter".
  std::string label() const;
  /// In messages: "FilterPlugin".
  std::string interface() const;
};

/// In the order in which a pod meets them; multiPoint, which stands for all of them, is none.
std::span<const ExtensionPoint> extension_points();

/// A pod's whole way: those points and Koordinator's own, each with a name and a place. A configuration does
/// not name the latter: a plugin is asked there if it implements them.
struct CyclePoint {
  std::string_view name;  // as ExtensionPoint::label()
  bool koordinators = false;
  bool (*implemented_by)(const Plugin& plugin) = nullptr;  // of Koordinator's
};
std::span<const CyclePoint> cycle_points();

/// A filter that only prepares gets its place among the profile's filters; what is no filter gets none.
void register_preparation(Profile& profile, Plugin& plugin, Profile::Registration registered);
/// The row of a member.
const ExtensionPoint& extension_point(PluginSet Plugins::*configured);

}  // namespace koord::scheduling
