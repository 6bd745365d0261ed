// Plugins and configuration kinds as markdown, from their tables.
#include "docs.hpp"

#include <fmt/format.h>

#include <iterator>

#include "explain/command.hpp"
#include "koord/api/schema/docs.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/base/manual_clock.hpp"
#include "koord/scheduling/config/config.hpp"
#include "koord/scheduling/config/extension_point.hpp"
#include "koord/scheduling/engine/engine.hpp"
#include "koord/scheduling/plugins.hpp"
#include "koord/scheduling/what_if/explanation.hpp"

namespace koord::scheduler {

namespace {

std::string points_of(const scheduling::Plugin& plugin) {
  std::vector<std::string_view> points;
  for (const scheduling::ExtensionPoint& point : scheduling::extension_points())
    if (point.implemented_by != nullptr && point.implemented_by(plugin)) points.push_back(point.name());
  for (const scheduling::CyclePoint& w : scheduling::cycle_points())
    if (w.implemented_by != nullptr && w.implemented_by(plugin)) points.push_back(w.name);
  return fmt::format("{}", fmt::join(points, ", "));
}

void append_plugins(std::string& out) {
  ManualClock clock;
  scheduling::Engine engine(clock, {});
  scheduling::PluginContext context = engine.context();
  out.append("| plugin | extension points | arguments |\n|---|---|---|\n");
  for (const scheduling::PluginEntry* row : scheduling::plugin_table()) {
    if (row->make == nullptr) continue;
    const scheduling::Args args = row->args != nullptr ? row->args->make_default() : nullptr;
    const auto plugin = row->make(args, context);
    ++context.index;
    fmt::format_to(std::back_inserter(out), "| {} | {} | {} |\n", row->name,
                   plugin ? points_of(**plugin) : "", row->args != nullptr ? row->args->kind() : "none");
  }
}

/// The points that a pod meets; Koordinator's own in italics.
std::string way() {
  std::vector<std::string> names;
  for (const scheduling::CyclePoint& w : scheduling::cycle_points())
    names.push_back(w.koordinators ? fmt::format("*{}*", w.name) : std::string(w.name));
  return fmt::format("{}", fmt::join(names, ", "));
}

void append_fields(std::string& out, std::string_view title, const api::Schema& schema) {
  fmt::format_to(std::back_inserter(out), "\n### {}\n\n{}", title, api::fields_markdown(schema));
}

}  // namespace

std::string docs() {
  std::string out = "### Plugins\n\n";
  append_plugins(out);
  fmt::format_to(
      std::back_inserter(out),
      "\nA pod meets the extension points in this order: {}. Those in italics are Koordinator's own; a "
      "plugin is asked there that implements them.\n",
      way());
  const api::Schema& config = api::schema<scheduling::KubeSchedulerConfiguration>();
  const api::Kind& kind = api::kind_of(config);
  append_fields(out, fmt::format("{} ({})", kind.kind, kind.api_version()), config);
  for (const scheduling::PluginEntry* row : scheduling::plugin_table())
    if (row->args != nullptr) append_fields(out, row->args->kind(), row->args->schema());
  out +=
      "\n### koord explain\n\n`koord explain pod NAMESPACE/NAME`, `koord explain reservation NAME` or `koord "
      "explain --filename=pod.yaml`: why a pod or a reservation is where it is, or nowhere, and what would "
      "have to change; it reads the cluster once and writes nothing.\n\n";
  out += runtime::flags_markdown(explain::flags());
  append_fields(out, "Its JSON", api::schema<scheduling::explain::ExplanationView>());
  return out;
}

}  // namespace koord::scheduler
