// Plugins and configuration kinds as markdown, from their tables.
#include "docs.hpp"

#include <algorithm>

#include "framework/config.hpp"
#include "framework/engine.hpp"
#include "koord/api/schema/docs.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/base/manual_clock.hpp"
#include "plugins.hpp"

namespace koord::scheduler {

namespace {

std::string points_of(const Plugin& plugin) {
  std::string points;
  auto add = [&](const void* implements, const char* name) {
    if (implements != nullptr) points += (points.empty() ? "" : ", ") + std::string(name);
  };
  add(dynamic_cast<const PreEnqueuePlugin*>(&plugin), "preEnqueue");
  add(dynamic_cast<const QueueSortPlugin*>(&plugin), "queueSort");
  add(dynamic_cast<const FilterPlugin*>(&plugin), "filter");
  add(dynamic_cast<const ScorePlugin*>(&plugin), "score");
  add(dynamic_cast<const BindPlugin*>(&plugin), "bind");
  return points;
}

std::string plugins() {
  ManualClock clock;
  Engine engine(clock, {});
  std::string out = "| plugin | extension points | arguments |\n|---|---|---|\n";
  PluginIndex index = 0;
  for (const PluginEntry& entry : plugin_table()) {
    std::shared_ptr<void> args;
    if (entry.args != nullptr) {
      args = entry.args->create();
      entry.args->set_defaults(args.get());
    }
    const auto plugin = entry.make(args, engine.context(index++));
    out += "| " + std::string(entry.name) + " | " + (plugin ? points_of(**plugin) : "") + " | " +
           (entry.args != nullptr ? std::string(entry.args->kind) : "") + " |\n";
  }
  return out;
}

std::string missing() {
  std::string out;
  auto add = [&](std::string_view name) {
    const auto table = plugin_table();
    if (std::any_of(table.begin(), table.end(), [&](const PluginEntry& e) { return e.name == name; })) return;
    out += (out.empty() ? "" : ", ") + std::string(name);
  };
  for (const UpstreamPlugin& plugin : upstream_plugins()) add(plugin.name);
  for (const std::string_view name : koordinator_plugins()) add(name);
  return out;
}

}  // namespace

std::string docs() {
  std::string out = "### Plugins\n\n" + plugins();
  out +=
      "\nA configuration may name these, too; koord does not have them yet, leaves them out and says so in "
      "its "
      "log: " +
      missing() + ".\n";
  const api::Schema& config = api::schema<KubeSchedulerConfiguration>();
  out += "\n### " + std::string(api::kind_of(config).kind) + " (" + api::kind_of(config).api_version() +
         ")\n\n" + api::fields_markdown(config);
  for (const PluginEntry& entry : plugin_table())
    if (entry.args != nullptr)
      out += "\n### " + std::string(entry.args->kind) + "\n\n" + api::fields_markdown(entry.args->schema());
  return out;
}

}  // namespace koord::scheduler
