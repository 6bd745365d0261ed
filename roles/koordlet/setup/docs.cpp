// The agent's part of `koord docs`: see docs.hpp.
#include "setup/docs.hpp"

#include <fmt/format.h>

#include <iterator>

#include "framework/hooks/carriage.hpp"
#include "framework/serve/view.hpp"
#include "framework/standalone/config.hpp"
#include "koord/api/schema/docs.hpp"
#include "koord/api/schema/table.hpp"
#include "plugins/cpu_blame/settings.hpp"
#include "plugins/memory_bandwidth/settings.hpp"

namespace koord::koordlet {

namespace {

/// A line a field.
void add_fields(std::string& out, const api::Schema& schema, const std::string& path) {
  for (const api::Field& field : schema.fields()) {
    std::string name = path + std::string(field.name);
    const api::Type* type = field.type;
    while (type->element != nullptr) {
      if (type->kind == api::TypeKind::list) name += "[]";
      type = type->element;
    }
    out += fmt::format("| `{}` | {} |\n", name, api::meaning(field));
  }
}

std::string how_often(const CollectorEntry& row) {
  if (!row.interval.empty()) return fmt::format("`--{}`", row.interval);
  if (row.period == nanoseconds(0)) return "each tick";
  return fmt::format("{}s", std::chrono::duration_cast<std::chrono::seconds>(row.period).count());
}

std::string_view words(Carried carried) {
  switch (carried) {
    case Carried::never: return "no";
    case Carried::at_birth: return "when it is made";
    case Carried::and_later: return "when it is made or updated";
  }
  return "";
}

}  // namespace

std::string docs(StrategyTable strategies, CollectorTable collectors) {
  std::string out = "### --standalone-config\n\n| field | |\n|---|---|\n";
  add_fields(out, api::schema<StandaloneConfig>(), "");
  add_fields(out, api::schema<StandaloneGroup>(), "groups[].");
  out += fmt::format("\n### GET /apis/v1/node\n\n{}", api::fields_markdown(api::schema<NodeView>()));
  out += fmt::format("\n### GET /apis/v1/pods\n\n{}", api::fields_markdown(api::schema<PodListView>()));
  out += "\n### NodeSLO's extension cpuBlame\n\n| field | |\n|---|---|\n";
  add_fields(out, api::schema<cpu_blame::Settings>(), "extensions.cpuBlame.");
  out += "\n### NodeSLO's extension memoryBandwidth\n\n| field | |\n|---|---|\n";
  add_fields(out, api::schema<memory_bandwidth::Settings>(), "extensions.memoryBandwidth.");
  out += "\n### Strategies\n\n| strategy | feature gate | how often |\n|---|---|---|\n";
  for (const StrategyEntry* row : strategies)
    fmt::format_to(std::back_inserter(out), "| {} | {} | {} |\n", row->name, fmt::join(row->gates, ", "),
                   row->interval.empty() ? "each tick" : fmt::format("`--{}`", row->interval));
  out += "\n### Collectors\n\n| collector | feature gate | how often |\n|---|---|---|\n";
  for (const CollectorEntry* row : collectors)
    fmt::format_to(std::back_inserter(out), "| {} | {} | {} |\n", row->name, row->gate, how_often(*row));
  out +=
      "\n### What hooks can have set of a container\n\n| what | by a CRI proxy (hook server) | by NRI | by "
      "the "
      "reconciler, afterwards | remark |\n|---|---|---|---|---|\n";
  for (const CarriageRow& row : carriage_table())
    fmt::format_to(std::back_inserter(out), "| {} | {} | {} | {} | {} |\n", row.name, words(row.hook_server),
                   words(row.nri), row.reconciled ? "yes" : "no", row.remark.empty() ? "-" : row.remark);
  return out;
}

}  // namespace koord::koordlet
