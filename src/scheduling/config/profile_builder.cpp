// From a profile's configuration to its plugins, in the order in which kube-scheduler expands them.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "koord/scheduling/config/config.hpp"
#include "koord/scheduling/config/extension_point.hpp"
#include "koord/scheduling/plugin/group_plugin.hpp"
#include "scheduling/plugin/wide_score.hpp"

namespace koord::scheduling {

namespace {

template <class... Args>
Error invalid(fmt::format_string<Args...> text, Args&&... args) {
  return Error(Code::invalid, fmt::format(text, std::forward<Args>(args)...));
}

/// The plugins of one extension point by name: those that are named at the point and in MultiPoint, in the
/// point's order; then the rest of MultiPoint; then the rest of the point.
template <class Implements>
Result<std::vector<std::string>> expand(const PluginSet& set, const PluginSet& multi,
                                        const ExtensionPoint& point, Implements&& implements) {
  auto twice = [&](const std::string& name) {
    return invalid("plugin \"{}\" already registered as \"{}\"", name, point.interface());
  };
  std::set<std::string> named, disabled;
  for (const PluginRef& p : set.enabled)
    if (!named.insert(p.name).second) return twice(p.name);
  for (const PluginRef& p : set.disabled) disabled.insert(p.name);
  std::vector<std::string> rest, all;
  std::set<std::string> both;
  if (!disabled.contains("*")) {
    for (const PluginRef& p : multi.enabled) {
      if (!implements(p.name) || disabled.contains(p.name)) continue;
      if (named.contains(p.name)) {
        both.insert(p.name);
      } else if (std::find(rest.begin(), rest.end(), p.name) != rest.end()) {
        return twice(p.name);
      } else {
        rest.push_back(p.name);
      }
    }
  }
  for (const PluginRef& p : set.enabled)
    if (both.contains(p.name)) all.push_back(p.name);
  all.insert(all.end(), rest.begin(), rest.end());
  for (const PluginRef& p : set.enabled)
    if (!both.contains(p.name)) all.push_back(p.name);
  return all;
}

bool known_upstream(std::string_view name) {
  auto kube = upstream_plugins();
  return is_koordinators(name) ||
         std::any_of(kube.begin(), kube.end(), [&](const UpstreamPlugin& p) { return p.name == name; });
}

template <class Registrations>
bool is_registered(const Registrations& registrations, PluginIndex index) {
  return std::any_of(registrations.begin(), registrations.end(),
                     [&](const auto& registered) { return registered.index == index; });
}

/// Whom an extender refused is tried again after any event: nobody knows what it looks at.
class RefusedByExtender final : public Plugin, public EventPlugin {
 public:
  bool sign(const PodInfo&, Signature&) const override { return true; }
  EventMask events() const override { return EventMask::all(); }
  bool worth_retrying(const PodInfo&, const ClusterEvent&) const override { return true; }
};

class Builder {
 public:
  Builder(const ProfileConfig& config, PluginTable table, const FeatureGates& gates)
      : config_(config), plugins_(*config.plugins), gates_(gates) {
    for (const PluginEntry* row : table)
      if (row->gate.empty() || gate(row->gate)) table_.push_back(row);
  }

  Result<Profile> build(PluginContext context, bool extended) {
    profile_.scheduler_name = *config_.scheduler_name;
    context.numa_hints = profile_.numa_hints.get();
    KOORD_CHECK(make_plugins(context));
    if (extended) {
      profile_.extenders = static_cast<PluginIndex>(profile_.plugins.size());
      profile_.plugins.push_back({"Extender", std::make_unique<RefusedByExtender>()});
    }
    for (const ExtensionPoint& point : extension_points())
      if (point.use != nullptr) KOORD_CHECK(use(point));
    for (std::size_t i = 0; i < profile_.plugins.size(); ++i) {
      Plugin* const plugin = profile_.plugins[i].plugin.get();
      if (auto* p = dynamic_cast<EventPlugin*>(plugin))
        profile_.events.push_back({{static_cast<PluginIndex>(i), 0}, p});
      if (auto* p = dynamic_cast<TimedPlugin*>(plugin)) profile_.timed.push_back(p);
      if (auto* p = dynamic_cast<RowDeltaPlugin*>(plugin))
        profile_.row_deltas.push_back({{static_cast<PluginIndex>(i), 0}, p});
      if (auto* p = dynamic_cast<FewPodsPlugin*>(plugin))
        profile_.few_pods.push_back({{static_cast<PluginIndex>(i), 0}, p});
      if (auto* p = dynamic_cast<GroupPlugin*>(plugin))
        profile_.groups.push_back({{static_cast<PluginIndex>(i), 0}, p});
      if (auto* p = dynamic_cast<NumaHintPlugin*>(plugin)) profile_.numa_hints->add({p, plugin});
    }
    take_preparations_apart();
    ask_at_koordinators_points();
    if (profile_.queue_sort.size() != 1)
      return invalid("only one queue sort plugin required for profile with scheduler name \"{}\", but got {}",
                     profile_.scheduler_name, profile_.queue_sort.size());
    if (profile_.binds.empty())
      return invalid("at least one bind plugin is needed for profile with scheduler name \"{}\"",
                     profile_.scheduler_name);
    std::int64_t total = 0;
    for (const auto& s : profile_.scores) {
      const auto* const wide = dynamic_cast<const WideScorePlugin*>(profile_.plugins[s.index].plugin.get());
      total += std::int64_t{s.weight} * (wide != nullptr ? wide->most() : 100);
    }
    if (total > std::numeric_limits<std::int32_t>::max())
      return invalid("total score of Score plugins could overflow");
    return std::move(profile_);
  }

 private:
  Result<> make_plugins(PluginContext context) {
    std::set<std::string> wanted;
    // kube-scheduler goes through MultiPoint point by point, and this is its first.
    KOORD_CHECK(want(plugins_.multi_point, wanted, extension_point(&Plugins::pre_filter)));
    for (const ExtensionPoint& point : extension_points())
      KOORD_CHECK(want(plugins_.*point.configured, wanted, point));
    for (const PluginEntry* row : table_) {
      if (!wanted.contains(std::string(row->name))) continue;
      Args args;
      for (const PluginConfig& c : config_.plugin_config)
        if (c.name == row->name) args = c.decoded;
      KOORD_CHECK(check(*row, args));
      if (row->make == nullptr) continue;
      context.index = static_cast<PluginIndex>(profile_.plugins.size());
      context.name = row->name;
      auto made = row->make(args, context);
      if (!made) return std::move(made).error().context(fmt::format("initializing plugin \"{}\"", row->name));
      profile_.plugins.push_back({row->name, std::move(*made)});
    }
    return {};
  }

  /// Koordinator looks at the arguments of its plugins when it makes them, and at those alone that it makes.
  static Result<> check(const PluginEntry& row, const Args& args) {
    if (row.args == nullptr || !is_koordinators(row.name)) return {};
    FieldErrors errors;
    row.args->validate(args.get(), {}, errors);
    if (errors.empty()) return {};
    return invalid("initializing plugin \"{}\": {}", row.name, errors.text());
  }

  Result<> want(const PluginSet& set, std::set<std::string>& wanted, const ExtensionPoint& point) {
    for (const PluginRef& p : set.enabled) {
      const PluginEntry* row = find_plugin(table_, p.name);
      if (row == nullptr && !known_upstream(p.name))
        return invalid("{} \"{}\" does not exist", point.interface(), p.name);
      if (wanted.insert(p.name).second && (row == nullptr || row->make == nullptr))
        profile_.missing.push_back(p.name);
    }
    return {};
  }

  /// Registrations the plugins of a point.
  Result<> use(const ExtensionPoint& point) {
    auto names = expand(plugins_.*point.configured, plugins_.multi_point, point, [&](std::string_view name) {
      const PluginIndex index = find(name);
      return index != kNoPlugin && point.implemented_by(*profile_.plugins[index].plugin);
    });
    if (!names) return std::move(names).error();
    for (const std::string& name : *names) {
      const PluginIndex index = find(name);
      if (index == kNoPlugin) continue;  // upstream has it, koord does not yet
      if (!point.use(profile_, *profile_.plugins[index].plugin, {index, weight(name)}))
        return invalid("plugin \"{}\" does not extend {} plugin", name, point.interface());
    }
    if (point.configured == &Plugins::post_filter) {
      preempt_by_default(point);
      deallocate_by_default(point);
    }
    return {};
  }

  /// Koordinator's shipped profiles name all of their PostFilter plugins and leave DynamicResources out, so
  /// that a claim whose devices are no good keeps its pod waiting for ever. It is asked first, and of weight
  /// 0 says nothing.
  void deallocate_by_default(const ExtensionPoint& point) {
    const PluginIndex index = find("DynamicResources");
    auto& asked = profile_.post_filters;
    if (index == kNoPlugin || asked.empty() || is_registered(asked, index)) return;
    if (point.use(profile_, *profile_.plugins[index].plugin, {index, 0}))
      std::rotate(asked.begin(), asked.end() - 1, asked.end());
  }

  /// Whoever names plugins for the search of victims that koord lacks wants that somebody looks for them.
  void preempt_by_default(const ExtensionPoint& point) {
    const PluginIndex index = find("DefaultPreemption");
    if (index == kNoPlugin || is_registered(profile_.post_filters, index)) return;
    const auto lacks = [&](const PluginRef& p) { return find(p.name) == kNoPlugin; };
    if (std::ranges::any_of(plugins_.post_filter.enabled, lacks))
      point.use(profile_, *profile_.plugins[index].plugin, {index, 1});
  }

  /// Where a plugin is named at preFilter and not at filter, or the other way round.
  void take_preparations_apart() {
    for (auto& filter : profile_.filters)
      filter.prepares =
          !does(filter.index, &Plugins::pre_filter) || is_registered(profile_.pre_filters, filter.index);
    for (auto& score : profile_.scores)
      score.prepares =
          !does(score.index, &Plugins::pre_score) || is_registered(profile_.pre_scores, score.index);
    for (const auto& registered : profile_.pre_filters) {
      Plugin& plugin = *profile_.plugins[registered.index].plugin;
      if (auto* admits = dynamic_cast<AdmitPlugin*>(&plugin)) profile_.admits.push_back({registered, admits});
      if (!is_registered(profile_.filters, registered.index))
        register_preparation(profile_, plugin, registered);
    }
  }

  /// Those of `registrations` that implement it, in their order.
  template <class Interface, class Registrations>
  void ask(std::vector<Profile::At<Interface>>& list, const Registrations& registrations) {
    for (const auto& registered : registrations)
      if (auto* plugin = dynamic_cast<Interface*>(profile_.plugins[registered.index].plugin.get()))
        list.push_back({{registered.index, 0}, plugin});
  }
  /// The first of the profile.
  template <class Interface>
  void ask(std::optional<Profile::At<Interface>>& place) {
    std::vector<Profile::At<Interface>> all;
    ask(all, everybody());
    if (!all.empty()) place = all.front();
  }
  std::vector<Profile::Registration> everybody() const {
    std::vector<Profile::Registration> all;
    for (std::size_t i = 0; i < profile_.plugins.size(); ++i) all.push_back({static_cast<PluginIndex>(i), 0});
    return all;
  }
  bool gate(std::string_view name) const { return gates_.known(name) && gates_.enabled(name); }
  void ask_at_koordinators_points() {
    profile_.with_nominated_alone = gate("SkipFilterWithNominatedPods");
    ask(profile_.pre_filter_transformers, profile_.pre_filters);
    ask(profile_.post_filter_transformers, profile_.post_filters);
    ask(profile_.score_transformers, profile_.scores);
    ask(profile_.nominators, everybody());
    if (gate("ResizePod")) ask(profile_.resizes, everybody());
    ask(profile_.find_one_node);
    ask(profile_.prefer_nodes);
    ask(profile_.jobs, everybody());
  }

  bool does(PluginIndex index, PluginSet Plugins::*point) const {
    return extension_point(point).implemented_by(*profile_.plugins[index].plugin);
  }

  PluginIndex find(std::string_view name) const {
    for (std::size_t i = 0; i < profile_.plugins.size(); ++i)
      if (profile_.plugins[i].name == name) return static_cast<PluginIndex>(i);
    return kNoPlugin;
  }

  std::int32_t weight(std::string_view name) const {
    for (const PluginSet* set : {&plugins_.score, &plugins_.multi_point})
      for (const PluginRef& p : set->enabled)
        if (p.name == name) return p.weight.value_or(0) == 0 ? 1 : *p.weight;
    return 1;
  }

  const ProfileConfig& config_;
  const Plugins& plugins_;
  const FeatureGates& gates_;
  std::vector<const PluginEntry*> table_;  // those whose gate is on
  Profile profile_;
};

}  // namespace

Result<std::vector<Profile>> build_profiles(const KubeSchedulerConfiguration& config, PluginTable table,
                                            PluginContext context, const FeatureGates& gates) {
  std::vector<Profile> profiles;
  context.gates = &gates;
  for (const ProfileConfig& p : config.profiles) {
    auto profile = Builder(p, table, gates).build(context, !config.extenders.empty());
    if (!profile)
      return std::move(profile).error().context(
          fmt::format("creating profile for scheduler name {}", p.scheduler_name.value_or("")));
    auto percentage =
        p.percentage_of_nodes_to_score ? p.percentage_of_nodes_to_score : config.percentage_of_nodes_to_score;
    if (percentage && *percentage > 0) profile->percentage_of_nodes = percentage;
    profiles.push_back(std::move(*profile));
  }
  return profiles;
}

}  // namespace koord::scheduling
