// Dispatch: commands, roles, help.
#include "app.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <vector>

#include "help.hpp"
#include "koord/api/kinds/crd.hpp"
#include "koord/base/suggest.hpp"
#include "koord/base/version.hpp"
#include "manifests.hpp"
#include "process.hpp"
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

int print_docs(std::span<const std::string> arguments, Roles roles, Streams streams) {
  if (const int code = no_arguments("docs", arguments, streams); code != kOk) return code;
  streams.out << reference(roles);
  return kOk;
}

int print_crds(std::span<const std::string> arguments, Roles, Streams streams) {
  if (const int code = no_arguments("crds", arguments, streams); code != kOk) return code;
  for (const api::Schema* schema : api::custom_resources())
    streams.out << "---\n" << api::crd_manifest_yaml(*schema);
  return kOk;
}

int print_manifests(std::span<const std::string> arguments, Roles roles, Streams streams) {
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

int print_help(std::span<const std::string>, Roles roles, Streams streams) {
  streams.out << overview(roles);
  return kOk;
}

constexpr std::array kCommands = {
    Command{"crds", print_crds},           Command{"docs", print_docs},     Command{"help", print_help},
    Command{"manifests", print_manifests}, Command{"sandbox", run_sandbox}, Command{"version", print_version},
};

int run_command(std::span<const std::string> arguments, Roles roles, Streams streams) {
  std::vector<std::string_view> known;
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

// The roles decide which flags there are, so they are looked for first; the parser sees them again.
std::vector<std::string> wanted_roles(std::span<const std::string> arguments) {
  std::vector<std::string> names;
  auto add = [&](std::string_view list) {
    while (true) {
      const auto comma = list.find(',');
      names.emplace_back(list.substr(0, comma));
      if (comma == std::string_view::npos) return;
      list.remove_prefix(comma + 1);
    }
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view argument = arguments[i];
    if (argument == "--") break;
    if (argument.starts_with("--")) argument.remove_prefix(1);
    if (argument.starts_with("-role=")) add(argument.substr(6));
    if (argument == "-role" && i + 1 < arguments.size()) add(arguments[++i]);
  }
  return names;
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
    streams.err << overview(roles);
    return kUsage;
  }
  if (!arguments[0].starts_with('-')) return run_command(arguments, roles, streams);
  const auto chosen = choose_roles(wanted_roles(arguments), roles);
  if (!chosen) return usage_error(streams, chosen.error().message());

  std::vector<runtime::FlagOwner> owners;
  for (const RoleDescriptor* role : *chosen) owners.push_back({role->name, role->flags, role->single_dash});
  // Help is printed even where the rest of the line is wrong.
  const bool wants_help = std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument == "--help" || argument == "-h" || argument == "-help";
  });
  if (wants_help) {
    streams.out << (chosen->empty() ? overview(roles) : roles_help(*chosen));
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
