// All that the program can say of itself, for what prints it in other forms: the manual page and completions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/runtime/role.hpp"

namespace koord::app {

struct CommandHelp {
  std::string_view name;  // of two words if it is a command of its own below another: "explain node"
  std::string_view summary;
  std::string help;  // what `koord NAME --help` prints; empty: it has no flags
};

struct ProgramHelp {
  std::string version;
  std::span<const runtime::Flag> process_flags;
  std::span<const runtime::RoleDescriptor* const> roles;
  std::vector<CommandHelp> commands;
};

/// koord(1) in man's macros: every command, role, flag and gate that help shows.
std::string man_page(const ProgramHelp& program);
/// Functions for the shells that complete commands, roles, flags and gates of `koord` and its other names.
std::string bash_completion(const ProgramHelp& program);
std::string zsh_completion(const ProgramHelp& program);

/// What `kubectl koord` prints: the commands that look at a cluster.
std::string plugin_help(const ProgramHelp& program);
/// What may stand where the last of `words` is, behind `kubectl koord`, as kubectl reads it of a plugin's
/// completion: a line each, "WORD" or "WORD<TAB>what it is", then ":4" (no file names) or ":0".
std::string plugin_completion(const ProgramHelp& program, std::span<const std::string> words);

}  // namespace koord::app
