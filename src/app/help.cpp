// Help and reference, from the tables.
#include "help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "app.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/metrics.hpp"
#include "koord/kube/client_metrics.hpp"
#include "process_metrics.hpp"

namespace koord::app {

namespace {

/// The names of the gates that are only taken.
std::string without_help(std::span<const FeatureGate> gates) {
  std::vector<std::string_view> names;
  for (const FeatureGate& gate : gates)
    if (gate.help.empty()) names.push_back(gate.name);
  std::ranges::sort(names);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string gates_help(std::span<const FeatureGate> gates) {
  if (gates.empty()) return "";
  std::string out = "Feature gates (--feature-gates=NAME=true,...):\n";
  for (const FeatureGate& gate : gates) {
    if (gate.help.empty()) continue;
    const std::size_t width = std::max<std::size_t>(gate.name.size() + 2, 26);
    out += fmt::format("      {:<{}}{:<5}{}\n", gate.name, width, gate.enabled ? "on" : "off", gate.help);
  }
  if (const std::string others = without_help(gates); !others.empty())
    out += fmt::format("      Kubernetes' own, of which the defaults are honoured:\n      {}\n", others);
  return out + "\n";
}

}  // namespace

std::string overview(Roles roles, std::span<const CommandLineHelp> commands) {
  std::string out =
      "koord schedules and protects co-located workloads on Kubernetes.\n\n"
      "  koord --role=ROLE[,ROLE...] [flags]   run roles against a cluster\n"
      "  koord --role=ROLE --help              the flags of a role\n"
      "  koord --version\n";
  for (const CommandLineHelp& command : commands)
    out += fmt::format(
        "  koord {:<32}{}\n",
        fmt::format("{}{}{}", command.name, command.arguments.empty() ? "" : " ", command.arguments),
        command.summary);
  for (const runtime::RoleDescriptor* role : roles)
    for (const runtime::RoleCommand& command : role->commands)
      out += fmt::format("  koord {:<32}{}\n", fmt::format("{} [flags]", command.name), command.summary);
  out += "\nRoles:\n";
  for (const runtime::RoleDescriptor* role : roles) {
    const std::size_t width = std::max<std::size_t>(role->name.size() + 2, 16);
    out += fmt::format("  {:<{}}{}\n", role->name, width, role->summary);
  }
  out += "\nFlags of the process:\n" + runtime::flags_help(process_flags());
  return out;
}

std::string roles_help(Roles chosen) {
  std::string out;
  for (const runtime::RoleDescriptor* role : chosen) {
    out += fmt::format("koord --role={}: {}\n\n", role->name, role->summary);
    if (chosen.size() > 1)
      out += fmt::format(
          "With several roles a flag is written --{}.NAME; the bare name will do where only one of "
          "them has it.\n\n",
          role->name);
    out += fmt::format("{}\n{}", runtime::flags_help(role->flags), gates_help(role->gates));
  }
  out += "Flags of the process:\n" + runtime::flags_help(process_flags());
  return out;
}

namespace {

constexpr std::size_t kLineOfNames = 80;  // a name more may follow

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c == '\n' ? ' ' : c);
  return out;
}

std::string without_effect(std::span<const runtime::Flag> flags) {
  std::string out;
  for (const runtime::Flag& flag : flags)
    if (flag.hidden && !flag.deprecated.empty())
      out += fmt::format("| `--{}` | {} |\n", flag.name,
                         escaped(flag.help.empty() ? flag.deprecated : flag.help));
  if (out.empty()) return out;
  return "\nAccepted for compatibility, without effect; a warning says so where one is used:\n\n"
         "| flag | |\n|---|---|\n" +
         out;
}

/// In lines of some 80 characters.
std::string wrapped(std::string_view words) {
  std::string out;
  std::size_t begun = 0;
  for (const char c : words) {
    if (c == ' ' && out.size() - begun > kLineOfNames) {
      out += '\n';
      begun = out.size();
    } else {
      out += c;
    }
  }
  return out;
}

std::string gates_markdown(std::span<const FeatureGate> gates) {
  if (gates.empty()) return "";
  std::string out = "\n### Feature gates\n\n| gate | default | stage | meaning |\n|---|---|---|---|\n";
  for (const FeatureGate& gate : gates)
    if (!gate.help.empty())
      out += fmt::format("| {} | {} | {} | {} |\n", gate.name, gate.enabled,
                         gate.stage == Stage::ga ? "GA" : to_string(gate.stage), escaped(gate.help));
  if (const std::string others = without_help(gates); !others.empty())
    out += fmt::format(
        "\nKubernetes' own, taken for compatibility; what is set otherwise than by default has no effect, "
        "and a warning says so:\n{}.\n",
        wrapped(others));
  return out;
}

std::string metrics_markdown(std::span<const metrics::Table> tables) {
  if (tables.empty()) return "";
  std::vector<const metrics::Metric*> rows;
  for (const metrics::Table& table : tables) rows.insert(rows.end(), table.begin(), table.end());
  std::ranges::sort(rows, {}, &metrics::Metric::name);
  std::string out = "\n### Metrics\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n";
  for (const metrics::Metric* row : rows)
    out += fmt::format("| {} | {} | {} | {} |\n", row->name, to_string(row->type),
                       fmt::join(row->labels, ", "), escaped(row->help));
  return out;
}

}  // namespace

std::string reference(Roles roles) {
  std::string out = fmt::format(
      "# koord {}: reference\n\nPrinted by `koord docs` from the tables in the code.\n", version());
  out += "\n## The process\n\n" + runtime::flags_markdown(process_flags());
  out += "\nEach role shows these beside its own metrics:\n";
  const metrics::Table shared[] = {ProcessMetrics::kMetrics, kube::ClientMetrics::kMetrics,
                                   runtime::kServingMetrics};
  out += metrics_markdown(shared);
  for (const runtime::RoleDescriptor* role : roles) {
    out += fmt::format("\n## --role={}\n\n{}\n\n", role->name, role->summary);
    out += runtime::flags_markdown(role->flags);
    out += without_effect(role->flags);
    out += gates_markdown(role->gates);
    out += metrics_markdown(role->metrics);
    if (role->docs != nullptr) (out += "\n") += role->docs();
  }
  return out;
}

}  // namespace koord::app
