// Dispatch: commands, roles, help.
#include "app.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <sstream>
#include <vector>

#include "called_as.hpp"
#include "help.hpp"
#include "koord/api/kinds/crd.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/base/suggest.hpp"
#include "koord/base/version.hpp"
#include "manifests.hpp"
#include "migrate_command.hpp"
#include "process.hpp"
#include "program_help.hpp"
#include "sandbox_command.hpp"

namespace koord::app {
namespace {

using runtime::Flag;
using runtime::FlagType;
using runtime::RoleDescriptor;

constexpr std::array kProcessFlags = {
    Flag{"role", FlagType::list, "", "The roles to run in this process, separated by commas."},
    Flag{"kubeconfig", FlagType::text, "",
         "How to reach the API server; empty: the file that KUBECONFIG names, else the pod's service "
         "account."},
    Flag{"name-servers", FlagType::list, "",
         "The name servers to ask, as ADDRESS[:PORT]; empty: those of /etc/resolv.conf."},
    Flag{
        "feature-gates", FlagType::pairs, "",
        "Feature gates of the chosen roles: NAME=true|false, separated by commas; AllAlpha and AllBeta too."},
    Flag{"v", FlagType::integer, "0", "How much to log; 2 is usual, 4 and more for looking into trouble.",
         'v'},
    Flag{"help", FlagType::boolean, "false", "Print this and exit.", 'h'},
    Flag{"version", FlagType::boolean, "false", "Print the version and exit."},
};

struct Command {
  std::string_view name;
  std::string_view arguments;  // as `koord --help` shows them
  std::string_view summary;
  int (*run)(std::span<const std::string> arguments, Roles roles, Streams streams);
};

int usage_error(Streams streams, std::string_view message) {
  streams.err << "koord: " << message << "\n";
  return kUsage;
}

int no_arguments(std::string_view command, std::span<const std::string> arguments, Streams streams) {
  if (arguments.empty()) return kOk;
  return usage_error(streams, fmt::format("{} takes no arguments, but got \"{}\"", command, arguments[0]));
}

int print_docs(std::span<const std::string> arguments, Roles roles, Streams streams);

bool wants_help(std::span<const std::string> arguments) {
  return std::ranges::any_of(arguments, [](const std::string& argument) {
    return argument == "--help" || argument == "-h" || argument == "-help";
  });
}

int print_crds(std::span<const std::string> arguments, Roles, Streams streams) {
  if (wants_help(arguments)) {
    streams.out << "koord crds: the custom resource definitions as YAML, for kubectl apply -f -\n\n"
                   "  koord crds | kubectl apply -f -\n\nKinds:\n";
    for (const api::Schema* schema : api::custom_resources()) {
      const api::Kind& kind = api::kind_of(*schema);
      streams.out << fmt::format("  {:<28}{}/{}\n", kind.plural, kind.group, kind.version);
    }
    return kOk;
  }
  if (const int code = no_arguments("crds", arguments, streams); code != kOk) return code;
  for (const api::Schema* schema : api::custom_resources())
    streams.out << "---\n" << api::crd_manifest_yaml(*schema);
  return kOk;
}

int print_manifests(std::span<const std::string> arguments, Roles roles, Streams streams) {
  if (wants_help(arguments)) {
    streams.out << fmt::format(
        "koord manifests: accounts, RBAC and webhook configurations as YAML, for kubectl apply -f -\n\n"
        "  koord manifests             all of it\n  koord manifests roles       accounts and RBAC\n"
        "  koord manifests webhooks    webhook configurations\n  koord manifests GATE        what one of "
        "these needs "
        "besides:\n                              {}\n",
        fmt::join(gates_with_rights(roles), "\n                              "));
    return kOk;
  }
  const std::string part = arguments.empty() ? "" : arguments[0];
  const std::vector<std::string_view> gates = gates_with_rights(roles);
  if (arguments.size() == 1 && std::ranges::find(gates, part) != gates.end()) {
    streams.out << gate_manifests(roles, part);
    return kOk;
  }
  if (arguments.size() > 1 || (!part.empty() && part != "roles" && part != "webhooks"))
    return usage_error(
        streams, fmt::format("manifests takes one argument at most: roles, webhooks, or what needs rights of "
                             "its own ({})",
                             fmt::join(gates, ", ")));
  if (part != "webhooks") streams.out << access_manifests(roles);
  if (part.empty()) streams.out << "---\n";
  if (part != "roles") streams.out << webhook_manifests(roles);
  return kOk;
}

int print_version(std::span<const std::string> arguments, Roles, Streams streams) {
  if (const int code = no_arguments("version", arguments, streams); code != kOk) return code;
  streams.out << "koord " << version() << "\n";
  return kOk;
}

int print_help(std::span<const std::string> arguments, Roles roles, Streams streams);

constexpr std::array kCommands = {
    Command{"sandbox", "[flags]", "a cluster in memory, for trying and testing", run_sandbox},
    Command{"crds", "", "print the custom resource definitions", print_crds},
    Command{"docs", "[man|bash|zsh]",
            "print the reference of flags, gates and configuration; the manual page; what a shell completes",
            print_docs},
    Command{"manifests", "[roles|webhooks|GATE]", "print accounts and RBAC, and the webhook configurations",
            print_manifests},
    Command{"migrate", "check [flags]", "what koord will do of what a cluster's Koordinator does",
            run_migrate},
    Command{"help", "", "print this", print_help},
    Command{"version", "", "print the version", print_version},
};

int print_help(std::span<const std::string>, Roles roles, Streams streams) {
  std::vector<CommandLineHelp> commands;
  commands.reserve(kCommands.size());
  for (const Command& command : kCommands)
    commands.push_back({command.name, command.arguments, command.summary});
  streams.out << overview(roles, commands);
  return kOk;
}

/// What a command's --help prints; nothing of those that take no flags.
std::string help_of(int (*run)(std::span<const std::string>, Streams)) {
  const std::string help[] = {"--help"};
  std::ostringstream out;
  return run(help, {out, out}) == kOk ? out.str() : "";
}

ProgramHelp program_help(Roles roles) {
  ProgramHelp program{version(), kProcessFlags, roles, {}};
  for (const Command& command : kCommands) {
    const std::string help[] = {"--help"};
    std::ostringstream out;
    if (command.run == run_sandbox || command.run == run_migrate) command.run(help, roles, {out, out});
    program.commands.push_back({command.name, command.summary, out.str()});
  }
  for (const RoleDescriptor* role : roles)
    for (const runtime::RoleCommand& command : role->commands)
      program.commands.push_back({command.name, command.summary, help_of(command.run)});
  return program;
}

int print_docs(std::span<const std::string> arguments, Roles roles, Streams streams) {
  if (wants_help(arguments)) {
    streams.out
        << "koord docs: the program about itself.\n\n"
           "  koord docs         the reference of flags, gates, metrics and configuration, as markdown\n"
           "  koord docs man     the manual page\n  koord docs bash    what bash completes\n"
           "  koord docs zsh     what zsh completes\n";
    return kOk;
  }
  const std::string form = arguments.empty() ? "markdown" : arguments[0];
  if (arguments.size() > 1) return usage_error(streams, "docs takes one argument at most: man, bash or zsh");
  if (form == "markdown")
    streams.out << reference(roles);
  else if (form == "man")
    streams.out << man_page(program_help(roles));
  else if (form == "bash")
    streams.out << bash_completion(program_help(roles));
  else if (form == "zsh")
    streams.out << zsh_completion(program_help(roles));
  else
    return usage_error(streams, fmt::format("docs prints man, bash or zsh, but got \"{}\"", form));
  return kOk;
}

int run_command(std::span<const std::string> arguments, Roles roles, Streams streams) {
  if (arguments[0] == kPluginHelp) {
    streams.out << plugin_help(program_help(roles));
    return kOk;
  }
  if (arguments[0] == kCompletePlugin) {
    streams.out << plugin_completion(program_help(roles), arguments.subspan(1));
    return kOk;
  }
  std::vector<std::string_view> known;
  // Commands of two words come first: one role's may stand below another's.
  const std::string two =
      arguments.size() > 1 ? fmt::format("{} {}", arguments[0], arguments[1]) : std::string();
  for (const RoleDescriptor* role : roles)
    for (const runtime::RoleCommand& command : role->commands)
      if (command.name == two) return command.run(arguments.subspan(2), streams);
  for (const Command& command : kCommands) {
    if (command.name == arguments[0]) return command.run(arguments.subspan(1), roles, streams);
    known.push_back(command.name);
  }
  for (const RoleDescriptor* role : roles)
    for (const runtime::RoleCommand& command : role->commands) {
      if (command.name == arguments[0]) return command.run(arguments.subspan(1), streams);
      known.push_back(command.name);
    }
  const auto near = nearest(arguments[0], known);
  return usage_error(streams,
                     near ? fmt::format("unknown command \"{}\": did you mean {}?", arguments[0], *near)
                          : fmt::format("unknown command \"{}\": koord --help lists them", arguments[0]));
}

}  // namespace

Result<std::vector<const RoleDescriptor*>> choose_roles(const std::vector<std::string>& names, Roles roles) {
  std::vector<const RoleDescriptor*> chosen;
  for (const std::string& name : names) {
    const auto found = std::find_if(roles.begin(), roles.end(),
                                    [&](const RoleDescriptor* role) { return role->name == name; });
    if (found == roles.end()) {
      std::vector<std::string_view> known;
      for (const RoleDescriptor* role : roles) known.push_back(role->name);
      std::string message = fmt::format("unknown role \"{}\": ", name);
      if (const auto near = nearest(name, known))
        message += fmt::format("did you mean {}?", *near);
      else if (known.empty())
        message += "this program has none";
      else
        message += fmt::format("there is {}", fmt::join(known, ", "));
      return Error(Code::invalid, std::move(message));
    }
    if (std::find(chosen.begin(), chosen.end(), *found) == chosen.end()) chosen.push_back(*found);
  }
  return chosen;
}

std::span<const Flag> process_flags() { return kProcessFlags; }
std::string version() { return std::string(build_info().version); }

int run(std::span<const std::string> arguments, Roles roles, Streams streams) {
  if (arguments.empty()) {
    print_help({}, roles, {streams.err, streams.err});
    return kUsage;
  }
  if (!arguments[0].starts_with('-')) return run_command(arguments, roles, streams);
  // The roles decide which flags there are, so they are looked for first; the parser sees them again.
  const auto chosen = choose_roles(named_roles(arguments), roles);
  if (!chosen) return usage_error(streams, chosen.error().message());

  std::vector<runtime::FlagOwner> owners;
  for (const RoleDescriptor* role : *chosen) owners.push_back({role->name, role->flags, role->single_dash});
  // Help is printed even where the rest of the line is wrong.
  if (wants_help(arguments)) {
    if (chosen->empty()) return print_help({}, roles, streams);
    streams.out << roles_help(*chosen);
    return kOk;
  }
  const auto line = runtime::parse_flags(arguments, {"", kProcessFlags}, owners);
  if (!line) return usage_error(streams, line.error().message());
  if (line->process.get_bool("version")) return print_version({}, roles, streams);
  if (chosen->empty())
    return usage_error(streams, "nothing to do: give --role or a command; koord --help lists them");
  for (const std::string& warning : line->warnings) streams.err << "koord: warning: " << warning << "\n";
  return run_roles(*chosen, *line, streams);
}

}  // namespace koord::app
