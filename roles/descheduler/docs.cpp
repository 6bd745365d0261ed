// Plugins and the configuration as markdown, from their tables.
#include "docs.hpp"

#include <fmt/format.h>

#include <iterator>

#include "command.hpp"
#include "config/config.hpp"
#include "koord/api/schema/docs.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/runtime/audit.hpp"
#include "passes/report.hpp"

namespace koord::descheduler {

namespace {

std::string points_of(const PluginEntry& row) {
  std::string points;
  for (const ExtensionPoint& point : extension_points())
    if (point.implemented_by(row)) points += fmt::format("{}{}", points.empty() ? "" : ", ", point.name);
  return points;
}

void append_fields(std::string& out, std::string_view title, const api::Schema& schema) {
  fmt::format_to(std::back_inserter(out), "\n### {}\n\n{}", title, api::fields_markdown(schema));
}

}  // namespace

std::string docs() {
  std::string out = "### Plugins\n\n| plugin | extension points | arguments |\n|---|---|---|\n";
  for (const PluginEntry* row : plugin_table())
    fmt::format_to(std::back_inserter(out), "| {} | {} | {} |\n", row->name, points_of(*row),
                   row->args != nullptr && !row->args->kind().empty() ? row->args->kind() : "none");
  out +=
      "\nWithout other words a profile evicts and filters by MigrationController, and nobody else is asked. "
      "A "
      "pass asks deschedule of every profile, then balance, in the order of the configuration.\n";
  const api::Schema& config = api::schema<DeschedulerConfiguration>();
  const api::Kind& kind = api::kind_of(config);
  append_fields(out, fmt::format("{} ({})", kind.kind, kind.api_version()), config);
  for (const PluginEntry* row : plugin_table())
    if (row->args != nullptr) append_fields(out, row->args->kind(), row->args->schema());
  append_fields(out, "/passes", api::schema<PassReports>());
  append_fields(out, "/audit", api::schema<runtime::AuditPage>());
  out +=
      "\n### koord deschedule\n\n`koord deschedule --dry-run`: what the descheduler would move now, why, and "
      "where to, and what the cluster would look like after it. It reads the cluster once and writes "
      "nothing.\n\n";
  out += runtime::flags_markdown(command_flags());
  return out;
}

}  // namespace koord::descheduler
