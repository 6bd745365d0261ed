// The table of extension points: see extension_point.hpp.
#include "framework/extension_point.hpp"

#include <algorithm>
#include <stdexcept>

#include "framework/config.hpp"
#include "koord/api/schema/table.hpp"

namespace koord::scheduler {

namespace {

template <class List>
struct InterfaceOf;
template <class Interface>
struct InterfaceOf<std::vector<Profile::At<Interface>> Profile::*> {
  using Type = Interface;
};

/// A point at which the plugins in `list` are asked, a member of Profile, if they are marked, too.
template <auto list, class Mark = typename InterfaceOf<decltype(list)>::Type>
constexpr ExtensionPoint point(PluginSet Plugins::*configured) {
  using Interface = typename InterfaceOf<decltype(list)>::Type;
  return {configured,
          [](Profile& profile, Plugin& plugin, Profile::Seat seat) {
            auto* asked = dynamic_cast<Interface*>(&plugin);
            const bool does = asked != nullptr && dynamic_cast<Mark*>(&plugin) != nullptr;
            if (does) (profile.*list).push_back({seat, asked});
            return does;
          },
          [](const Plugin& plugin) {
            return dynamic_cast<const Interface*>(&plugin) != nullptr &&
                   dynamic_cast<const Mark*>(&plugin) != nullptr;
          }};
}

constexpr ExtensionPoint kPoints[] = {
    point<&Profile::pre_enqueue>(&Plugins::pre_enqueue),
    point<&Profile::queue_sort>(&Plugins::queue_sort),
    point<&Profile::pre_filters, PreFilterPlugin>(&Plugins::pre_filter),
    point<&Profile::filters>(&Plugins::filter),
    {&Plugins::post_filter},
    point<&Profile::pre_scores, PreScorePlugin>(&Plugins::pre_score),
    point<&Profile::scores>(&Plugins::score),
    {&Plugins::reserve},
    {&Plugins::permit},
    {&Plugins::pre_bind},
    point<&Profile::binds>(&Plugins::bind),
    {&Plugins::post_bind},
};

// multiPoint, too, is a PluginSet.
static_assert(sizeof(Plugins) == (std::size(kPoints) + 1) * sizeof(PluginSet), "a row for each member");

}  // namespace

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

}  // namespace koord::scheduler
