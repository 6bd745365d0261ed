// The program's names, and what a command line says of roles.
#include "called_as.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace koord::app {
namespace {

// Koordinator's images and charts call its programs so.
constexpr std::array kNames = {
    ProgramName{"koordlet", "koordlet"},
    ProgramName{"koord-manager", "manager"},
    ProgramName{"koord-scheduler", "scheduler"},
    ProgramName{"koord-descheduler", "descheduler"},
    ProgramName{"koord-runtime-proxy", "proxy"},
    ProgramName{"koord-device-daemon", "device-daemon"},
    ProgramName{kPlugin, ""},
    ProgramName{kPluginCompletion, ""},
};

/// Whoever has kubectl looks at a cluster, not at the host's own agent.
std::vector<std::string> as_plugin(std::vector<std::string> all) {
  if (all.empty() || all[0] == "--help" || all[0] == "-h" || all[0] == "help")
    return {std::string(kPluginHelp)};
  const auto says = [&all](std::string_view flag) {
    return std::ranges::any_of(all, [flag](const std::string& argument) {
      return argument == flag || argument.starts_with(fmt::format("{}=", flag));
    });
  };
  if (all[0] == "top" && !says("--addr") && !says("--cluster")) all.insert(all.begin() + 1, "--cluster");
  return all;
}

}  // namespace

std::span<const ProgramName> program_names() { return kNames; }

std::vector<std::string> named_roles(std::span<const std::string> arguments) {
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

std::vector<std::string> arguments_as_called(std::string_view program,
                                             std::span<const std::string> arguments) {
  std::vector<std::string> all(arguments.begin(), arguments.end());
  if (const auto slash = program.rfind('/'); slash != std::string_view::npos)
    program.remove_prefix(slash + 1);
  if (program == kPlugin) return as_plugin(std::move(all));
  if (program == kPluginCompletion) {
    all.insert(all.begin(), std::string(kCompletePlugin));
    return all;
  }
  const auto* const found = std::ranges::find(kNames, program, &ProgramName::name);
  if (found == kNames.end() || found->role.empty()) return all;
  if (!all.empty() && !all[0].starts_with('-')) return all;
  if (!named_roles(arguments).empty()) return all;
  all.insert(all.begin(), fmt::format("--role={}", found->role));
  return all;
}

}  // namespace koord::app
