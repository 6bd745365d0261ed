// What the command line says before any flag is parsed: the roles it names, and the one that the program's
// name stands for.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace koord::app {

/// A name by which the program can be called (a link to it), as Koordinator's own programs are called.
struct ProgramName {
  std::string_view name;
  std::string_view role;  // empty: none, the commands are meant (`kubectl koord`)
};

// As kubectl looks for its plugins, and for what completes them.
inline constexpr std::string_view kPlugin = "kubectl-koord", kPluginCompletion = "kubectl_complete-koord";
/// Commands that only the program's names stand for: the plugin's help, and what completes its lines.
inline constexpr std::string_view kPluginHelp = "__kubectl-help", kCompletePlugin = "__kubectl-complete";

/// koord's other names; what installs it makes a link of each.
std::span<const ProgramName> program_names();

/// The roles of each --role, in their order, as they are written. Untrusted: no name need exist.
std::vector<std::string> named_roles(std::span<const std::string> arguments);

/// The arguments as `koord` takes them, of a program that was called `program` (argv[0], with or without
/// folders): the name's role comes first. A line that names roles itself, or that begins with a command, is
/// taken as it is. kubectl's plugin looks at clusters (`top` is `top --cluster`), and without arguments
/// prints its help.
std::vector<std::string> arguments_as_called(std::string_view program,
                                             std::span<const std::string> arguments);

}  // namespace koord::app
