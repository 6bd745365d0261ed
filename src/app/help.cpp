// Help and reference, from the tables.
#include "help.hpp"

#include <algorithm>

#include "app.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/metrics.hpp"
#include "koord/kube/client_metrics.hpp"
#include "process_metrics.hpp"

namespace koord::app {

namespace {

std::string gates_help(std::span<const FeatureGate> gates) {
  if (gates.empty()) return "";
  std::string out = "Feature gates (--feature-gates=NAME=true,...):\n";
  for (const FeatureGate& gate : gates) {
    std::string name(gate.name);
    name.resize(std::max<std::size_t>(name.size() + 2, 26), ' ');
    out += "      " + name + (gate.enabled ? "on   " : "off  ") + std::string(gate.help) + "\n";
  }
  return out + "\n";
}

}  // namespace

std::string overview(Roles roles) {
  std::string out =
      "koord schedules and protects co-located workloads on Kubernetes.\n\n"
      "  koord --role=ROLE[,ROLE...] [flags]   run roles against a cluster\n"
      "  koord sandbox [flags]                 a cluster in memory, for trying and testing\n"
      "  koord top [flags]                     what the node agent measures and does, as a live table\n"
      "  koord crds                            print the custom resource definitions\n"
      "  koord docs                            print the reference of flags, gates and configuration\n"
      "  koord --role=ROLE --help              the flags of a role\n"
      "  koord --version\n\n"
      "Roles:\n";
  for (const runtime::RoleDescriptor* role : roles) {
    std::string name(role->name);
    name.resize(std::max<std::size_t>(name.size() + 2, 16), ' ');
    out += "  " + name + std::string(role->summary) + "\n";
  }
  out += "\nFlags of the process:\n" + runtime::flags_help(process_flags());
  return out;
}

std::string roles_help(Roles chosen) {
  std::string out;
  for (const runtime::RoleDescriptor* role : chosen) {
    out += "koord --role=" + std::string(role->name) + ": " + std::string(role->summary) + "\n\n";
    if (chosen.size() > 1)
      out += "With several roles a flag is written --" + std::string(role->name) +
             ".NAME; the bare name will do where only one of them has it.\n\n";
    out += runtime::flags_help(role->flags) + "\n" + gates_help(role->gates);
  }
  out += "Flags of the process:\n" + runtime::flags_help(process_flags());
  return out;
}

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c == '\n' ? ' ' : c);
  return out;
}

std::string without_effect(std::span<const runtime::Flag> flags) {
  std::string out;
  for (const runtime::Flag& flag : flags)
    if (flag.hidden && !flag.deprecated.empty())
      out += "| `--" + std::string(flag.name) + "` | " +
             escaped(flag.help.empty() ? flag.deprecated : flag.help) + " |\n";
  if (out.empty()) return out;
  return "\nAccepted for compatibility, without effect; a warning says so where one is used:\n\n"
         "| flag | |\n|---|---|\n" +
         out;
}

std::string gates_markdown(std::span<const FeatureGate> gates) {
  if (gates.empty()) return "";
  std::string out = "\n### Feature gates\n\n| gate | default | stage | meaning |\n|---|---|---|---|\n";
  for (const FeatureGate& gate : gates)
    out += "| " + std::string(gate.name) + " | " + (gate.enabled ? "true" : "false") + " | " +
           std::string(gate.stage == Stage::ga ? "GA" : to_string(gate.stage)) + " | " + escaped(gate.help) +
           " |\n";
  return out;
}

std::string metrics_markdown(const metrics::Registry& registry) {
  std::string out = "\n### Metrics\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n";
  for (const metrics::Description& metric : registry.describe()) {
    out += "| " + metric.name + " | " + std::string(metric.type) + " | ";
    for (std::size_t i = 0; i < metric.labels.size(); ++i) out += (i > 0 ? ", " : "") + metric.labels[i];
    out += " | " + escaped(metric.help) + " |\n";
  }
  return out;
}

}  // namespace

std::string reference(Roles roles) {
  std::string out =
      "# koord " + version() + ": reference\n\nPrinted by `koord docs` from the tables in the code.\n";
  out += "\n## The process\n\n" + runtime::flags_markdown(process_flags());
  out += "\nEach role shows these beside its own metrics:\n";
  metrics::Registry shared;
  ProcessMetrics::describe(shared);
  kube::ClientMetrics clients(shared);
  runtime::dropped_connections(shared);
  out += metrics_markdown(shared);
  for (const runtime::RoleDescriptor* role : roles) {
    out += "\n## --role=" + std::string(role->name) + "\n\n" + std::string(role->summary) + "\n\n";
    out += runtime::flags_markdown(role->flags) + without_effect(role->flags) + gates_markdown(role->gates);
    if (role->metrics != nullptr) {
      metrics::Registry own;
      role->metrics(own);
      out += metrics_markdown(own);
    }
    if (role->docs != nullptr) out += "\n" + role->docs();
  }
  return out;
}

}  // namespace koord::app
