// From a profile's configuration to its plugins, in the order in which kube-scheduler expands them.
#include <algorithm>
#include <limits>
#include <set>

#include "framework/config.hpp"

namespace koord::scheduler {

namespace {

/// The plugins of one extension point by name: those that are named at the point and in MultiPoint, in the
/// point's order; then the rest of MultiPoint; then the rest of the point.
template <class Implements>
Result<std::vector<std::string>> expand(const PluginSet& point, const PluginSet& multi,
                                        std::string_view interface, Implements&& implements) {
  std::set<std::string> named, disabled;
  for (const PluginRef& p : point.enabled)
    if (!named.insert(p.name).second)
      return Error(Code::invalid,
                   "plugin \"" + p.name + "\" already registered as \"" + std::string(interface) + "\"");
  for (const PluginRef& p : point.disabled) disabled.insert(p.name);
  std::vector<std::string> first, rest, all;
  std::set<std::string> both;
  if (!disabled.contains("*")) {
    for (const PluginRef& p : multi.enabled) {
      if (!implements(p.name) || disabled.contains(p.name)) continue;
      if (named.contains(p.name)) {
        both.insert(p.name);
      } else if (std::find(rest.begin(), rest.end(), p.name) != rest.end()) {
        return Error(Code::invalid,
                     "plugin \"" + p.name + "\" already registered as \"" + std::string(interface) + "\"");
      } else {
        rest.push_back(p.name);
      }
    }
  }
  for (const PluginRef& p : point.enabled)
    if (both.contains(p.name)) all.push_back(p.name);
  all.insert(all.end(), rest.begin(), rest.end());
  for (const PluginRef& p : point.enabled)
    if (!both.contains(p.name)) all.push_back(p.name);
  return all;
}

bool known_upstream(std::string_view name) {
  auto kube = upstream_plugins();
  auto koordinator = koordinator_plugins();
  return std::any_of(kube.begin(), kube.end(), [&](const UpstreamPlugin& p) { return p.name == name; }) ||
         std::find(koordinator.begin(), koordinator.end(), name) != koordinator.end();
}

class Builder {
 public:
  Builder(const ProfileConfig& config, std::span<const PluginEntry> table, std::vector<std::string>& missing)
      : config_(config), plugins_(*config.plugins), table_(table), missing_(missing) {}

  Result<Profile> build(ContextFor context, void* owner) {
    profile_.scheduler_name = *config_.scheduler_name;
    KOORD_CHECK(make_plugins(context, owner));
    KOORD_CHECK(point<QueueSortPlugin>(plugins_.queue_sort, "QueueSortPlugin", [&](QueueSortPlugin* p, auto) {
      ++sorts_;
      profile_.queue_sort = p;
    }));
    KOORD_CHECK(point<PreEnqueuePlugin>(plugins_.pre_enqueue, "PreEnqueuePlugin",
                                        [&](PreEnqueuePlugin* p, PluginIndex i) {
                                          profile_.pre_enqueue.push_back({p, i});
                                        }));
    KOORD_CHECK(point<FilterPlugin>(plugins_.filter, "FilterPlugin", [&](FilterPlugin* p, PluginIndex i) {
      profile_.filters.push_back({p, i});
    }));
    KOORD_CHECK(point<ScorePlugin>(plugins_.score, "ScorePlugin", [&](ScorePlugin* p, PluginIndex i) {
      profile_.scores.push_back({p, i, weight(profile_.plugin_name(i))});
    }));
    KOORD_CHECK(point<BindPlugin>(plugins_.bind, "BindPlugin", [&](BindPlugin* p, auto) {
      if (profile_.bind == nullptr) profile_.bind = p;
    }));
    for (std::size_t i = 0; i < profile_.plugins.size(); ++i)
      if (auto* p = dynamic_cast<EventPlugin*>(profile_.plugins[i].get()))
        profile_.events.push_back({p, static_cast<PluginIndex>(i)});
    if (sorts_ != 1)
      return Error(Code::invalid, "only one queue sort plugin required for profile with scheduler name \"" +
                                      profile_.scheduler_name + "\", but got " + std::to_string(sorts_));
    if (profile_.bind == nullptr)
      return Error(Code::invalid, "at least one bind plugin is needed for profile with scheduler name \"" +
                                      profile_.scheduler_name + "\"");
    std::int64_t total = 0;
    for (const Profile::Score& s : profile_.scores) total += std::int64_t{s.weight} * 100;
    if (total > std::numeric_limits<std::int32_t>::max())
      return Error(Code::invalid, "total score of Score plugins could overflow");
    return std::move(profile_);
  }

 private:
  Result<> make_plugins(ContextFor context, void* owner) {
    std::set<std::string> wanted;
    const PluginSet* sets[] = {&plugins_.multi_point, &plugins_.pre_enqueue, &plugins_.queue_sort,
                               &plugins_.pre_filter,  &plugins_.filter,      &plugins_.post_filter,
                               &plugins_.pre_score,   &plugins_.score,       &plugins_.reserve,
                               &plugins_.permit,      &plugins_.pre_bind,    &plugins_.bind,
                               &plugins_.post_bind};
    for (const PluginSet* set : sets) {
      for (const PluginRef& p : set->enabled) {
        bool ours = std::any_of(table_.begin(), table_.end(), [&](auto& e) { return e.name == p.name; });
        if (!ours && !known_upstream(p.name))
          return Error(Code::invalid, "plugin \"" + p.name + "\" does not exist");
        if (!ours && wanted.insert(p.name).second) missing_.push_back(p.name);
        wanted.insert(p.name);
      }
    }
    for (const PluginEntry& e : table_) {
      if (!wanted.contains(std::string(e.name))) continue;
      Args args;
      for (const PluginConfig& c : config_.plugin_config)
        if (c.name == e.name) args = c.decoded;
      auto made = e.make(args, context(owner, static_cast<PluginIndex>(profile_.plugins.size())));
      if (!made)
        return std::move(made).error().context("initializing plugin \"" + std::string(e.name) + "\"");
      profile_.plugins.push_back(std::move(*made));
    }
    return {};
  }

  template <class Interface, class Add>
  Result<> point(const PluginSet& set, std::string_view interface, Add&& add) {
    auto find = [&](std::string_view name) -> std::pair<Interface*, PluginIndex> {
      for (std::size_t i = 0; i < profile_.plugins.size(); ++i)
        if (profile_.plugins[i]->name() == name)
          return {dynamic_cast<Interface*>(profile_.plugins[i].get()), static_cast<PluginIndex>(i)};
      return {nullptr, kNoPlugin};
    };
    auto names = expand(set, plugins_.multi_point, interface,
                        [&](std::string_view name) { return find(name).first != nullptr; });
    if (!names) return std::move(names).error();
    for (const std::string& name : *names) {
      auto [plugin, index] = find(name);
      if (index == kNoPlugin) continue;  // upstream has it, koord does not yet
      if (plugin == nullptr)
        return Error(Code::invalid,
                     "plugin \"" + name + "\" does not extend " + std::string(interface) + " plugin");
      add(plugin, index);
    }
    return {};
  }

  std::int32_t weight(std::string_view name) const {
    for (const PluginSet* set : {&plugins_.score, &plugins_.multi_point})
      for (const PluginRef& p : set->enabled)
        if (p.name == name) return p.weight.value_or(0) == 0 ? 1 : *p.weight;
    return 1;
  }

  const ProfileConfig& config_;
  const Plugins& plugins_;
  std::span<const PluginEntry> table_;
  std::vector<std::string>& missing_;
  Profile profile_;
  int sorts_ = 0;
};

}  // namespace

Result<Profile> build_profile(const ProfileConfig& config, std::optional<std::int32_t> percentage,
                              std::span<const PluginEntry> table, ContextFor context, void* owner,
                              std::vector<std::string>& missing) {
  auto profile = Builder(config, table, missing).build(context, owner);
  if (!profile) return profile;
  if (config.percentage_of_nodes_to_score) percentage = config.percentage_of_nodes_to_score;
  if (percentage && *percentage > 0) profile->percentage_of_nodes = percentage;
  return profile;
}

}  // namespace koord::scheduler
