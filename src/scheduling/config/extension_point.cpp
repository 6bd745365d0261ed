// The table of extension points: see extension_point.hpp.
#include "koord/scheduling/config/extension_point.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "koord/api/schema/table.hpp"
#include "koord/scheduling/config/config.hpp"

namespace koord::scheduling {

namespace {

template <class... Interfaces>
bool is_any(const Plugin& plugin) {
  return ((dynamic_cast<const Interfaces*>(&plugin) != nullptr) || ...);
}

/// How a list of a profile takes in the plugins that have something to say there.
template <class Registered>
struct Registering;
template <class Interface>
struct Registering<Profile::At<Interface>> {
  static bool does(const Plugin& plugin) { return is_any<Interface>(plugin); }
  static Profile::At<Interface> made(Plugin& plugin, Profile::Registration registered) {
    return {registered, dynamic_cast<Interface*>(&plugin)};
  }
};
template <>
struct Registering<Profile::At<ReservePlugin>> {
  static bool does(const Plugin& plugin) { return is_any<ReservePlugin, ReservedByRowPlugin>(plugin); }
  static Profile::At<ReservePlugin> made(Plugin& plugin, Profile::Registration registered) {
    return {registered, dynamic_cast<ReservePlugin*>(&plugin)};
  }
};
template <>
struct Registering<Profile::Filter> {
  static bool does(const Plugin& plugin) {
    return is_any<FilterPlugin, CrossNodeFilterPlugin, PerPodFilterPlugin>(plugin) &&
           !is_any<PreFilterAlonePlugin>(plugin);
  }
  static Profile::Filter made(Plugin& plugin, Profile::Registration registered) {
    return {registered, dynamic_cast<FilterPlugin*>(&plugin), dynamic_cast<CrossNodeFilterPlugin*>(&plugin),
            dynamic_cast<PerPodFilterPlugin*>(&plugin)};
  }
};
template <>
struct Registering<Profile::Score> {
  static bool does(const Plugin& plugin) { return is_any<ScorePlugin, CrossNodeScorePlugin>(plugin); }
  static Profile::Score made(Plugin& plugin, Profile::Registration registered) {
    return {registered, dynamic_cast<ScorePlugin*>(&plugin), dynamic_cast<CrossNodeScorePlugin*>(&plugin)};
  }
};

template <auto list, auto does, auto made>
constexpr ExtensionPoint asked(PluginSet Plugins::*configured) {
  return {configured,
          [](Profile& profile, Plugin& plugin, Profile::Registration registered) {
            if (!does(plugin)) return false;
            const auto entry = made(plugin, registered);
            if constexpr (requires { entry.plugin; })
              if (entry.plugin == nullptr) return true;
            (profile.*list).push_back(entry);
            return true;
          },
          does};
}

/// A point at which the plugins in `list`, a member of Profile, are asked.
template <auto list>
constexpr ExtensionPoint point(PluginSet Plugins::*configured) {
  using How =
      Registering<typename std::remove_reference_t<decltype(std::declval<Profile&>().*list)>::value_type>;
  return asked<list, &How::does, &How::made>(configured);
}

/// The same where a plugin prepares: those that `does` says have a preparation of their own.
template <auto list, auto does>
constexpr ExtensionPoint preparing(PluginSet Plugins::*configured) {
  return asked<list, does, [](Plugin&, Profile::Registration registered) { return registered; }>(configured);
}

/// Who only writes what the others change has nothing to say for itself.
constexpr ExtensionPoint kPreBind{
    &Plugins::pre_bind,
    [](Profile& profile, Plugin& plugin, Profile::Registration registered) {
      if (auto* asked = dynamic_cast<PreBindPlugin*>(&plugin))
        profile.pre_binds.push_back({registered, asked});
      if (auto* asked = dynamic_cast<PreBindReservationPlugin*>(&plugin))
        profile.pre_bind_reservations.push_back({registered, asked});
      if (auto* writes = dynamic_cast<PodPatchPlugin*>(&plugin))
        profile.pod_patches.push_back({registered, writes});
      return is_any<PreBindPlugin, PreBindReservationPlugin, PodPatchPlugin>(plugin);
    },
    &is_any<PreBindPlugin, PreBindReservationPlugin, PodPatchPlugin>};

bool pre_filters(const Plugin& plugin) {
  return is_any<AdmitPlugin, CrossNodeFilterPlugin, PerPodFilterPlugin, PreFilterTransformer>(plugin) ||
         (is_any<FilterPlugin>(plugin) && is_any<PreFilterPlugin>(plugin));
}
bool pre_scores(const Plugin& plugin) {
  const auto* const reaching = dynamic_cast<const CrossNodeScorePlugin*>(&plugin);
  return (reaching != nullptr && reaching->is_named_at_pre_score()) ||
         (is_any<ScorePlugin>(plugin) && is_any<PreScorePlugin>(plugin));
}

constexpr ExtensionPoint kPoints[] = {
    point<&Profile::pre_enqueue>(&Plugins::pre_enqueue),
    point<&Profile::queue_sort>(&Plugins::queue_sort),
    preparing<&Profile::pre_filters, &pre_filters>(&Plugins::pre_filter),
    point<&Profile::filters>(&Plugins::filter),
    point<&Profile::post_filters>(&Plugins::post_filter),
    preparing<&Profile::pre_scores, &pre_scores>(&Plugins::pre_score),
    point<&Profile::scores>(&Plugins::score),
    point<&Profile::reserves>(&Plugins::reserve),
    point<&Profile::permits>(&Plugins::permit),
    kPreBind,
    point<&Profile::binds>(&Plugins::bind),
    point<&Profile::post_binds>(&Plugins::post_bind),
};

// multiPoint, too, is a PluginSet.
static_assert(sizeof(Plugins) == (std::size(kPoints) + 1) * sizeof(PluginSet), "a row for each member");

constexpr CyclePoint kCyclePoints[] = {
    {"PreEnqueue"},
    {"QueueSort"},
    {"NextPod", true, &is_any<NextPodPlugin>},                 // in place of the queue's next pod
    {"BeforePreFilter", true, &is_any<PreFilterTransformer>},  // may put another pod in place
    {"PreFilter"},
    {"AfterPreFilter", true, &is_any<PreFilterTransformer>},  // may name the only nodes
    {"FindOneNodePlugin", true,
     &is_any<FindOneNodePlugin>},  // one node; GroupPlugin: a plan for several pods
    {"PreferNodesPlugin", true, &is_any<PreferNodesPlugin>},  // nodes to try before the others
    {"BeforeFilter", true, &is_any<RowDeltaPlugin>},          // the node as the pod sees it
    {"Filter"},
    {"PostFilter"},
    {"AfterPostFilter", true, &is_any<PostFilterTransformer>},
    {"PreScore"},
    {"BeforeScore", true, &is_any<ScoreTransformer>},
    {"Score"},
    {"ResizePod", true, &is_any<ResizePodPlugin>},  // before it, what ReservationNominatorPlugin says
    {"Reserve"},
    {"Permit"},
    {"PreBind"},
    {"PreBindReservation", true, &is_any<PreBindReservationPlugin>},  // in place of it, for what is no pod
    {"ApplyPatch", true, &is_any<PodPatchPlugin>},  // one write of what all of PreBind changed
    {"Bind"},
    {"PostBind"},
};

}  // namespace

std::span<const CyclePoint> cycle_points() { return kCyclePoints; }

void register_preparation(Profile& profile, Plugin& plugin, Profile::Registration registered) {
  const Profile::Filter filter = Registering<Profile::Filter>::made(plugin, registered);
  if (filter.local == nullptr && filter.cross_node == nullptr && filter.per_pod == nullptr) return;
  profile.filters.push_back(filter);
  profile.filters.back().answers = false;
}

std::string_view ExtensionPoint::name() const {
  const Plugins sample;
  const auto at =
      reinterpret_cast<const char*>(&(sample.*configured)) - reinterpret_cast<const char*>(&sample);
  const std::span<const api::Field> fields = api::schema<Plugins>().fields();
  return std::find_if(fields.begin(), fields.end(), [&](const api::Field& f) { return f.offset == at; })
      ->name;
}

std::string ExtensionPoint::label() const {
  std::string text(name());
  text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

std::string ExtensionPoint::interface() const { return label().append("Plugin"); }

std::span<const ExtensionPoint> extension_points() { return kPoints; }

const ExtensionPoint& extension_point(PluginSet Plugins::*configured) {
  const auto* row = std::find_if(std::begin(kPoints), std::end(kPoints),
                                 [&](const ExtensionPoint& p) { return p.configured == configured; });
  if (row == std::end(kPoints)) throw std::logic_error("no extension point");
  return *row;
}

}  // namespace koord::scheduling
